"""Garbage is looked for more seldom while a service runs, and found all the same."""

import gc
import weakref

from manta_common.garbage import OLDER, YOUNG, seldom_collected


class Circle:
    """Can only be found by looking for it."""

    def __init__(self) -> None:
        self.me = self


def test_what_was_there_before_is_not_looked_through_and_all_is_as_before_at_the_end() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with seldom_collected():
        assert gc.get_threshold() == (YOUNG, OLDER, OLDER)
        assert gc.get_freeze_count() > frozen
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_garbage_is_found_all_the_same() -> None:
    with seldom_collected():
        one = weakref.ref(Circle())
        kept = [[number] for number in range(2 * YOUNG)]
        assert one() is None
    assert kept
