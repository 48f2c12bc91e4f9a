"""How often Python looks for garbage in a service: its own way takes up to a quarter of a busy one's time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# New objects before the youngest are looked through, 700 by default: passes make and drop thousands in no time, hardly
# any in circles. With 10,000 a job-reconciler in a soak grew by 6 MiB a minute.
YOUNG: Final = 2_000
# Looks before what was left over is looked through too, 10 by default, and so on: a whole look costs little where what
# was there at the start is left out, and what a pass held for long does not stay for long.
OLDER: Final = 5


@contextmanager
def seldom_collected() -> Iterator[None]:
    """A block in which what is there already is never looked through, and what is new more seldom."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
