"""Whether others write what we read: what is heard beyond our own writes is theirs."""

from collections.abc import Callable
from typing import Final

SILENCE_SECONDS: Final = 0.5  # after which nobody is at work any more
LEAST: Final = 4  # changes beyond our own writes: an answer may come after the change that it is about
LAGGING, MOST = -64, 16  # writes of which nothing was heard yet, and how much of others is kept in mind


class Company:
    """Who else is at work on what we made: a scheduler, nodes, controllers. They need the API server too."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beyond, self._heard_at = 0, float("-inf")

    def heard(self) -> None:
        """An object has changed."""
        self._beyond = min(MOST, self._settled() + 1)
        self._heard_at = self._monotonic()

    def wrote(self) -> None:
        """We have changed an object; that will be heard too."""
        self._beyond = max(LAGGING, self._settled() - 1)

    def is_there(self) -> bool:
        """Whether somebody else has been at work just now."""
        return self._settled() > LEAST

    def _settled(self) -> int:
        """What is left of what was heard: nothing after some silence."""
        silent = self._monotonic() > self._heard_at + SILENCE_SECONDS
        return min(0, self._beyond) if silent else self._beyond
