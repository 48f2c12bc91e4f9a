"""What a controller has yet to look at: at once, in the order it came, or at some moment."""

import heapq
from datetime import datetime
from typing import Generic, TypeVar

T = TypeVar("T")


class Agenda(Generic[T]):
    """Each thing once; what is due later is looked at then, and not before."""

    def __init__(self) -> None:
        self._waiting: dict[T, None] = {}
        self._later: list[tuple[datetime, int, T]] = []
        self._planned: dict[T, int] = {}  # the number of the plan that holds
        self._number = 0

    def add(self, item: T) -> None:
        """Look at something soon."""
        self._waiting.setdefault(item)

    def add_at(self, item: T, moment: datetime) -> None:
        """Look at something at a moment, and not at the one that was planned for it before."""
        self._number += 1
        self._planned[item] = self._number
        heapq.heappush(self._later, (moment, self._number, item))

    def take(self, now: datetime) -> T | None:
        """The next thing to look at, or None."""
        while (first := self._first()) is not None and first <= now:
            item = heapq.heappop(self._later)[2]
            del self._planned[item]
            self.add(item)
        for item in self._waiting:
            del self._waiting[item]
            return item
        return None

    def due(self, now: datetime) -> datetime | None:
        """When there is something to look at: now, at a later moment, or never."""
        return now if self._waiting else self._first()

    def _first(self) -> datetime | None:
        """The first moment that is planned; plans that were replaced are dropped."""
        while self._later and self._planned.get(self._later[0][2]) != self._later[0][1]:
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None
