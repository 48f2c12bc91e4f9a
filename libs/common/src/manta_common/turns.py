"""Who may call next: so many calls at once for all keys together, as many as the server takes, handed out in turn."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
LEAST, MOST = 16, 64
SHARE = 8  # a key has no more than this part of the places at once, an eighth, where others are at work
COURTESY = 4  # places beside those for all, for keys that have nothing under way
TURN = 8  # calls that a key may make before it goes behind the others: what needs few is done with them in one turn
FORGETTING = 1.001  # in each round: a server that has become slower for good is known as such after some time
IDLE, BUSY = 0.25, 0.75  # the share of our calls that wait in the server, below and above which their number changes


Queues = dict[K, deque[asyncio.Future[None]]]


class Turns(Generic[K]):
    """Calls of many keys. Each key has a turn of a few calls, then comes the next, so that a thousand calls of one key
    hold up those of another as little as can be, and many small keys are done one after the other instead of all at
    the end. However many keys there are, they have no more places together. A few more are for keys that have nothing
    under way: what takes one call after the other would wait before each of them. And while others are at work one key
    has no more than its share: what it makes has to be scheduled and started by them, who need the server too, and in
    whose queues somebody else's pods stand behind it.

    The number of places follows the server: as long as calls take no longer than they did at best, there may be more
    at once; when most of a call is waiting for others of ours, more at once would help nobody, and fewer let everybody
    else in sooner.
    """

    def __init__(
        self, *, least: int = LEAST, most: int = MOST, are_others_at_work: Callable[[], bool] = lambda: False
    ) -> None:
        self._least, self._most, self._are_others_at_work = min(least, most), most, are_others_at_work
        self._waiting: Queues[K] = {}  # keys whose turn is to come, in the order of their turns
        self._going_on: Queues[K] = {}  # keys in the midst of their turn
        self._spent: Counter[K] = Counter()  # calls of the turn that a key is in
        self._taken = 0  # places
        self._under_way: Counter[K] = Counter()
        self._best: dict[str, float] = {}  # seconds, by what is called
        self._places = self._least
        self._heard, self._slowness = 0, 0.0  # since the number of places was last looked at

    @property
    def places(self) -> int:
        """How many calls may be under way at once."""
        return self._places

    @property
    def _share(self) -> int:
        """How many of them one key may have."""
        return max(1, self._places // SHARE) if self._are_others_at_work() else self._places

    async def take(self, key: K, what: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a call when it is the key's turn; `what` names calls that should take the same time."""
        await self._enter(key)
        time = asyncio.get_running_loop().time
        began = time()
        try:
            made = await call()
            self._learn(what, time() - began)
        finally:
            self._leave(key)
        return made

    async def _enter(self, key: K) -> None:
        is_new = key not in self._under_way and key not in self._waiting and key not in self._going_on
        is_anyone_waiting = bool(self._waiting or self._going_on)
        may_begin = is_new or (not is_anyone_waiting and self._under_way[key] < self._share)
        if self._taken < self._places + (COURTESY if is_new else 0) and may_begin:
            if not is_anyone_waiting:
                self._spent.clear()  # turns are for times in which somebody waits
            self._begin(key)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line_of(key).setdefault(key, deque()).append(turn)
        self._fill()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._give_up(key, turn)
            else:
                self._leave(key)
            raise

    def _line_of(self, key: K) -> Queues[K]:
        """Where a key waits for its next call."""
        if key in self._waiting:
            return self._waiting
        return self._going_on if self._spent[key] else self._waiting

    def _give_up(self, key: K, turn: asyncio.Future[None]) -> None:
        """Forget a call that nobody wants any more, unless its turn has come and gone meanwhile."""
        for line in (self._going_on, self._waiting):
            turns = line.get(key, deque())
            if turn in turns:
                turns.remove(turn)
            if not turns:
                line.pop(key, None)

    def _begin(self, key: K) -> None:
        self._taken += 1
        self._under_way[key] += 1
        self._spent[key] = (self._spent[key] + 1) % TURN

    def _leave(self, key: K) -> None:
        self._taken -= 1
        self._under_way[key] -= 1
        if not self._under_way[key]:
            del self._under_way[key]
        self._fill()

    def _fill(self) -> None:
        """Hand out the places that are free."""
        while self._taken < self._places and (found := self._next()):
            self._admit(*found)

    def _next(self) -> tuple[Queues[K], K] | None:
        """Who makes the next call: first those that are in their turn, then whoever comes next; not beyond a share."""
        for line in (self._going_on, self._waiting):
            for key in line:
                if self._under_way[key] < self._share:
                    return line, key
        return None

    def _admit(self, line: Queues[K], key: K) -> None:
        """Let a key make its next call."""
        turns = line.pop(key)
        turn = turns.popleft()
        if not turn.cancelled():
            self._begin(key)
            turn.set_result(None)
        if turns:
            self._line_of(key)[key] = turns  # behind the others there

    def _learn(self, what: str, seconds: float) -> None:
        """Judge by a round of calls, that is, as many as may be under way, whether there is room for more."""
        best = self._best[what] = min(seconds, self._best.get(what, seconds))
        self._heard += 1
        self._slowness += seconds / best if best > 0 else 1.0
        if self._heard < self._places:
            return
        waiting = 1 - self._heard / self._slowness
        if waiting > BUSY:
            self._places = max(self._least, 3 * self._places // 4)
        elif waiting < IDLE and (self._waiting or self._going_on):
            self._places = min(self._most, 2 * self._places)
        self._best = {known: least * FORGETTING for known, least in self._best.items()}
        self._heard, self._slowness = 0, 0.0
