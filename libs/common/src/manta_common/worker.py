"""Runs passes: dirty keys in turn, one pass per key at a time, failures later and later, nothing lost."""

import asyncio
import heapq
import itertools
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from contextvars import Context, copy_context
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

from manta_common.delays import delay_seconds
from manta_common.errors import Conflict, MantaError, NotCaughtUp, Rejected, Throttled

K = TypeVar("K", bound=Hashable)
Outcome = Literal["done", "conflict", "not_caught_up", "retry", "throttled", "rejected", "late", "crashed"]
ROUNDED_SECONDS = 2e-6  # what two datetimes have lost; before its time a recheck would find nothing to do
LATE_SECONDS = 0.0005  # uvloop rounds times to milliseconds; an alarm that rang too early would ring again and again
log = logging.getLogger(__name__)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How many passes at once, how long one may take, and how long a failing key waits."""

    concurrency: int = 64
    deadline_seconds: float = 120
    shortest_delay_seconds: float = 0.005
    longest_delay_seconds: float = 300
    longest_quiet_delay_seconds: float = 1


class PassEnded(msgspec.Struct, Generic[K], frozen=True):
    """What telemetry is told of one pass."""

    key: K
    outcome: Outcome
    waited_seconds: float
    took_seconds: float


class Worker(Generic[K]):
    """Everybody marks keys dirty; the worker runs `work(key)` until nothing is dirty.

    A mark itself starts the pass when there is room for it, and the end of a pass the next one: nobody has to be woken.
    """

    def __init__(
        self,
        work: Callable[[K], Awaitable[None]],
        now: Callable[[], datetime],
        *,
        pace: Pace | None = None,
        tell: Callable[[PassEnded[K]], None] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._work, self._now, self._pace = work, now, pace or Pace()
        self._tell, self._chance = tell, chance or random.Random()
        self._dirty: dict[K, float] = {}  # since when; in order
        self._queue: deque[K] = deque()  # those of them that wait for room, or for `run`
        self._running: dict[K, asyncio.Task[None]] = {}
        self._failures: dict[K, int] = {}
        self._quiet: dict[K, int] = {}  # failures that are part of the plan; they do not make others wait longer
        self._due: dict[K, float] = {}
        self._timers: list[tuple[float, int, K]] = []
        self._order = itertools.count()
        self._alarm: asyncio.Handle | None = None  # for the first of the timers
        self._alarm_at = 0.0  # uvloop's handle of a time that is over does not tell
        self._group: asyncio.TaskGroup | None = None
        self._main: asyncio.Task[Any] | None = None  # whose end is that of all passes
        self._context: Context  # that of `run`: a pass has nothing of whoever marked its key
        self._accepted: Callable[[K], bool] = lambda _: True
        self._held_seconds: Callable[[K], float | None] = lambda _: None

    def mark(self, key: K) -> None:
        """There is something to do for this key, now."""
        if key not in self._dirty:
            self._dirty[key] = self._time()
            if key not in self._running:
                self._queue.append(key)
                self._start_passes()

    def recheck(self, key: K, at: datetime) -> None:
        """There will be something to do for this key at a time of the API server's clock, at the latest."""
        self._later(key, (at - self._now()).total_seconds() + ROUNDED_SECONDS)

    async def run(self) -> None:
        """Work until cancelled; passes that run then are cancelled too."""
        async with asyncio.TaskGroup() as group:
            self._group, self._main, self._context = group, asyncio.current_task(), copy_context()
            self._running.clear()  # what an earlier run has left: it was cancelled
            self._queue = deque(self._dirty)
            try:
                self._ring()
                self._start_passes()
                await asyncio.get_running_loop().create_future()  # that never comes
            finally:
                self._group = None
                self._silence()

    def accept(self, accepted: Callable[[K], bool]) -> None:
        """From now on run passes only for keys of which this is true when it is their turn; others are forgotten."""
        self._accepted = accepted

    def hold(self, seconds: Callable[[K], float | None]) -> None:
        """From now on ask before each pass how long its key is to be left alone, unless it is marked again; or None."""
        self._held_seconds = seconds

    async def drain(self, belongs: Callable[[K], bool], *, limit_seconds: float) -> bool:
        """Wait for the passes of these keys that run; whether all ended in time."""
        running = [task for key, task in self._running.items() if belongs(key)]
        _, late = await asyncio.wait(running, timeout=limit_seconds) if running else (None, ())
        return not late

    def forget(self, belongs: Callable[[K], bool]) -> None:
        """Forget all of these keys, that they failed and that they are due too."""
        for known in (self._dirty, self._failures, self._quiet, self._due):
            for key in [key for key in known if belongs(key)]:
                del known[key]
        self._queue = deque(key for key in self._queue if not belongs(key))

    @property
    def depth(self) -> int:
        """How many keys wait for their pass."""
        return len(self._dirty)

    @property
    def waiting(self) -> list[K]:
        """The keys that wait for their pass, in the order in which they were marked."""
        return list(self._dirty)

    @property
    def oldest_wait_seconds(self) -> float:
        """How long the key has waited that waits longest."""
        return max((self._time() - since for since in self._dirty.values()), default=0.0)

    @property
    def idle(self) -> bool:
        """Nothing is dirty and nothing runs; only later rechecks may be left."""
        return not self._dirty and not self._running

    def _start_passes(self) -> None:
        """Start the first keys of the queue, as far as there is room."""
        while self._queue and len(self._running) < self._pace.concurrency and self._is_open():
            key = self._queue.popleft()
            seconds = self._held_seconds(key)
            if seconds is None:
                assert self._group is not None
                self._running[key] = self._group.create_task(self._pass(key), context=self._context.copy())
            else:
                del self._dirty[key]
                self._later(key, seconds)

    def _is_open(self) -> bool:
        """Whether `run` takes passes in: not before it has begun, nor once it is told to end."""
        return self._group is not None and self._main is not None and not self._main.cancelling()

    async def _pass(self, key: K) -> None:
        """One pass, unless its key was forgotten or given away before its turn came; marks until then are one."""
        try:
            if key in self._dirty and self._accepted(key):
                await self._measured(key)
            else:
                self._drop(key)
        finally:
            del self._running[key]
            if key in self._dirty:  # marked again meanwhile: after the others that wait
                self._queue.append(key)
            self._start_passes()

    def _drop(self, key: K) -> None:
        for known in (self._dirty, self._failures, self._quiet, self._due):
            known.pop(key, None)

    async def _measured(self, key: K) -> None:
        self._due.pop(key, None)
        since, started = self._dirty.pop(key), self._time()
        outcome = await self._attempt(key)
        if self._tell:
            self._tell(PassEnded(key, outcome, started - since, self._time() - started))

    async def _attempt(self, key: K) -> Outcome:
        """One pass, whatever it raises."""
        try:
            async with asyncio.timeout(self._pace.deadline_seconds):
                await self._work(key)
        except MantaError as error:
            return self._answer(key, error)
        except TimeoutError as error:
            return self._failed(key, "late", error)
        except Exception:  # the one place: a bug in one key's pass must not stop the others
            self._retry(key, self._failures, longest=self._pace.longest_delay_seconds)
            log.exception("pass crashed", extra={"key": str(key)})
            return "crashed"
        self._failures.pop(key, None)
        self._quiet.pop(key, None)
        return "done"

    def _answer(self, key: K, error: MantaError) -> Outcome:
        """What follows from an error that Manta knows."""
        match error:
            case Conflict() | NotCaughtUp():
                self._retry(key, self._quiet, longest=self._pace.longest_quiet_delay_seconds)
                log.debug("pass must see more first", extra={"key": str(key), "error": str(error)})
                return "conflict" if isinstance(error, Conflict) else "not_caught_up"
            case Throttled():
                self._later(key, error.retry_after_seconds)
                log.warning("api asks to wait", extra={"key": str(key), "seconds": error.retry_after_seconds})
                return "throttled"
            case Rejected():
                log.info("object cannot be served", extra={"key": str(key), "reason": error.reason})
                return "rejected"
            case _:
                return self._failed(key, "retry", error)

    def _failed(self, key: K, outcome: Outcome, error: Exception) -> Outcome:
        delay = self._retry(key, self._failures, longest=self._pace.longest_delay_seconds)
        extra = {"key": str(key), "outcome": outcome, "error": str(error), "again_in_seconds": round(delay, 3)}
        log.warning("pass will be tried again", extra=extra)
        return outcome

    def _retry(self, key: K, counts: dict[K, int], *, longest: float) -> float:
        failures = counts.get(key, 0)
        counts[key] = failures + 1
        shortest = self._pace.shortest_delay_seconds
        delay = delay_seconds(failures, shortest=shortest, longest=longest, chance=self._chance.random())
        self._later(key, delay)
        return delay

    def _later(self, key: K, seconds: float) -> None:
        due = self._time() + max(0.0, seconds)
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._timers, (due, next(self._order), key))
            self._set_alarm()

    def _set_alarm(self) -> None:
        """Have the alarm ring when the first timer is due."""
        if self._group is None or not self._timers:
            return
        due = self._timers[0][0]
        if self._alarm is None or due < self._alarm_at:
            self._silence()
            self._alarm_at = due
            self._alarm = asyncio.get_running_loop().call_at(due + LATE_SECONDS, self._ring, context=self._context)

    def _silence(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        self._alarm = None

    def _ring(self) -> None:
        """Mark what has become due; a timer that an earlier one or a pass overtook is dropped."""
        self._alarm = None
        while self._timers and (self._timers[0][0] <= self._time() or self._stale(self._timers[0])):
            timer = heapq.heappop(self._timers)
            if not self._stale(timer):
                del self._due[timer[2]]
                self.mark(timer[2])
        self._set_alarm()

    def _stale(self, timer: tuple[float, int, K]) -> bool:
        return self._due.get(timer[2]) != timer[0]

    @staticmethod
    def _time() -> float:
        return asyncio.get_running_loop().time()
