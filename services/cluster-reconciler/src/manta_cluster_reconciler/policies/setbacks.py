"""How long a slot waits before its failed pod is replaced: longer each time, so that a broken image costs little."""

from datetime import datetime, timedelta
from typing import Final

from manta_cluster_reconciler.observed import Setback

FIRST: Final = timedelta(seconds=10)
LONGEST: Final = timedelta(minutes=5)
CALM: Final = timedelta(minutes=10)  # a pod that lasted this long counts as sound


def due_at(setback: Setback | None, now: datetime) -> datetime:
    """When a failed pod may be replaced; at once the first time, then 10, 20, 40 s and so on after the last time."""
    if setback is None or now - setback.at > CALM:
        return now
    return setback.at + min(LONGEST, FIRST * int(2 ** min(setback.count - 1, 10)))


def grown(setback: Setback | None, now: datetime) -> Setback:
    """The setback after one more pod failed; pods of one worker that fail together fail once."""
    if setback is None or now - setback.at > CALM:
        return Setback(1, now)
    return setback if now - setback.at < FIRST else Setback(setback.count + 1, now)
