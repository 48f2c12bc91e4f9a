"""Who deletes next when more is due than can be done at once: what was due first."""

import contextlib
import heapq
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from manta_common.plane import Item

GATHERING_SECONDS: Final = 0.5  # how long what is overdue waits for others to be seen that may have been due before
UNCALLED_SECONDS: Final = 10.0  # what waits for its turn asks again, should nobody be left to call it


class Turns:
    """Deletions that come in the order of their times go at once; all others are put in that order first.

    After a restart jobs come in any order, and all that fell due meanwhile is due at once. Such a job asks for its
    turn; for half a second nobody is called, so that the others can ask too. `is_ours` says whether a job is still this
    replica's: one that went to another one keeps no turn.
    """

    def __init__(
        self,
        at_once: int,
        mark: Callable[[Item], None],
        *,
        time: Callable[[], float],
        is_ours: Callable[[Item], bool],
    ) -> None:
        self._at_once, self._mark, self._time, self._is_ours = at_once, mark, time, is_ours
        self._asking: dict[Item, datetime] = {}
        self._order: list[tuple[datetime, Item]] = []
        self._called: set[Item] = set()
        self._busy = 0
        self._since = 0.0  # when the first of those that ask did

    @contextlib.contextmanager
    def passing(self, item: Item) -> Iterator["Turn"]:
        """One pass of a job; at its end its turn is over, and others are called."""
        turn = Turn(self, item, called=item in self._called)
        self._called.discard(item)
        self._busy += turn.called
        try:
            yield turn
        finally:
            self._busy -= turn.called
            self._call()

    def take(self, at: datetime) -> bool:
        """Whether there is room for a deletion that was due at a time, and nobody asks who comes first."""
        first = self._first()
        if not self._room() or (first is not None and first < at):
            return False
        self._busy += 1
        return True

    def wait(self, item: Item, at: datetime) -> float:
        """Have a job called when it is its turn; after how many seconds it should ask again all the same."""
        opens = not self._asking
        if opens:
            self._since = self._time()
        if self._asking.get(item) != at:
            self._asking[item] = at
            heapq.heappush(self._order, (at, item))
        return GATHERING_SECONDS if opens else UNCALLED_SECONDS

    def forget(self, item: Item) -> None:
        """The job has nothing to delete now."""
        self._asking.pop(item, None)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these jobs from now on; what comes of them is not heard here."""
        for item in [item for item in self._asking if belongs(item)]:
            self.forget(item)

    def _call(self) -> None:
        if self._asking and self._time() - self._since >= GATHERING_SECONDS:
            while self._first() is not None and self._room():
                _, item = heapq.heappop(self._order)
                del self._asking[item]
                if self._is_ours(item):
                    self._called.add(item)
                    self._mark(item)

    def _first(self) -> datetime | None:
        """When the first of those that ask was due; what was said before counts no more."""
        while self._order and self._asking.get(self._order[0][1]) != self._order[0][0]:
            heapq.heappop(self._order)
        return self._order[0][0] if self._order else None

    def _room(self) -> int:
        if self._busy + len(self._called) >= self._at_once:
            self._called = {item for item in self._called if self._is_ours(item)}
        return max(0, self._at_once - self._busy - len(self._called))


class Turn:
    """One pass of a job, which may delete if it was called, or if it comes in time and nobody is before it."""

    def __init__(self, turns: Turns, item: Item, *, called: bool) -> None:
        self._turns, self._item, self.called = turns, item, called

    def ask(self, at: datetime, *, in_order: bool) -> float:
        """Seconds until the pass should ask again whether it may delete what was due at a time; 0 if it may now."""
        self.called = self.called or (in_order and self._turns.take(at))
        if not self.called:
            return self._turns.wait(self._item, at)
        self._turns.forget(self._item)
        return 0
