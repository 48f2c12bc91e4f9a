"""An event loop in virtual time: what is ready runs in an order that a seed chooses, and waiting costs nothing.

No thread, no socket and no clock of the machine is in it, so the same seed gives the same run. The only things of
asyncio's that depend on addresses in memory are sets of tasks; here a task's hash is the number of its making.
"""

import asyncio
import heapq
import itertools
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context, ContextVar, copy_context
from typing import Any, NoReturn, TypeVar

import msgspec

from manta_embedded.sim.errors import Deadlock, OutOfSteps, OutOfTime

T = TypeVar("T")
STALE_TIMERS = 1000
BUSY_STEPS, BUSY_SECONDS = 1000, 1e-6  # so many callbacks at one moment take so long: who waits by spinning gets on
log = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run has gone on for too long: seconds of virtual time, and callbacks."""

    seconds: float = 24 * 3600
    steps: int = 5_000_000


class Lane:
    """All that one service runs; a held lane stands still, as a stopped process does, while time goes on."""

    def __init__(self) -> None:
        self.held = False
        self.backlog: list[_Step] = []


LANE: ContextVar[Lane | None] = ContextVar("lane", default=None)


class _Step(asyncio.TimerHandle):
    """A callback that is ready, or will be. Of asyncio's own class only the type is used: the rest is for debugging."""

    __slots__ = ("arguments", "callback", "context", "due_at")

    def __init__(
        self, due_at: float, callback: Callable[..., object], arguments: tuple[Any, ...], context: Context | None
    ) -> None:
        self.due_at, self.callback, self.arguments = due_at, callback, arguments
        self.context = copy_context() if context is None else context

    def cancel(self) -> None:
        self.callback, self.arguments = _nothing, ()

    def cancelled(self) -> bool:
        return self.callback is _nothing

    def is_kept(self) -> bool:
        """Whether its lane stands still; it is kept there until the lane goes on."""
        lane = self.context.get(LANE)
        if lane is None or not lane.held:
            return False
        lane.backlog.append(self)
        return True

    def when(self) -> float:
        return self.due_at

    def __repr__(self) -> str:
        return f"<{self.callback} at {self.due_at:.3f} s>"


class _Task(asyncio.Task[T]):
    """A task whose hash is the same in every run."""

    def __init__(self, number: int, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, **more: Any) -> None:
        self._number = number  # first, for the hash is asked for while the task is made
        super().__init__(work, loop=loop, **more)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.BaseEventLoop):
    """Jumps to the next timer when nothing is ready; Deadlock when there is none either."""

    def __init__(self, chance: random.Random | None = None, limits: Limits | None = None) -> None:
        super().__init__()
        self.set_debug(False)  # asyncio's debugging is about real time
        self._chance, self._limits = chance or random.Random(0), limits or Limits()
        self._steps: list[_Step] = []
        self._timers: list[tuple[float, int, _Step]] = []
        self._numbers, self._now, self._most_timers = itertools.count(), 0.0, STALE_TIMERS
        self._held: dict[Lane, None] = {}
        self.steps, self._busy_at = 0, BUSY_STEPS

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now

    def hold(self, lane: Lane) -> None:
        """Let a lane stand still."""
        lane.held = True
        self._held[lane] = None

    def release(self, lane: Lane) -> None:
        """Let a held lane go on with all that became ready meanwhile."""
        lane.held = False
        self._held.pop(lane, None)
        self._steps += lane.backlog
        lane.backlog.clear()

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> _Step:  # type: ignore[override]
        """Have a callback run at this time, in any order with the others."""
        step = _Step(self._now, callback, args, context)
        self._steps.append(step)
        return step

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> _Step:
        """The same: there is one thread only."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> _Step:
        """Have a callback run after so many seconds."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> _Step:
        """Have a callback run at a time."""
        if len(self._timers) > self._most_timers:
            self._drop_cancelled()
        step = _Step(when, callback, args, context)
        heapq.heappush(self._timers, (when, next(self._numbers), step))
        return step

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """A task of this loop."""
        number = next(self._numbers)
        return _Task(number, coro, self, name=name or f"task-{number}", context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> NoReturn:  # type: ignore[override]
        """Refused: threads would make runs differ."""
        raise RuntimeError(f"there are no threads in virtual time; {func} asks for one")

    def call_exception_handler(self, context: Mapping[str, Any]) -> None:
        """An error that nobody asked for is logged; one in a plain callback ends the run by itself."""
        about = context.get("message")
        log.error("error that nobody awaited", extra={"about": about}, exc_info=context.get("exception"))

    def end(self) -> None:
        """Cancel what is left, wait for it, and close; the limits of the run don't count any more."""
        self._limits = Limits(seconds=float("inf"), steps=self.steps + Limits().steps)
        for lane in tuple(self._held):
            self.release(lane)
        try:
            left = sorted(asyncio.all_tasks(self), key=hash)
            for task in left:
                task.cancel()
            if left:
                self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.run_until_complete(self.shutdown_asyncgens())
        finally:
            self.close()

    def _run_once(self) -> None:
        """Asyncio's loop calls this until it is told to stop: what is ready, in an order that the seed chooses."""
        ready, chance = self._steps, self._chance.random
        while not self._stopping:  # type: ignore[attr-defined] # asyncio's own
            if self.steps >= self._limits.steps:
                raise OutOfSteps(f"more than {self._limits.steps} steps, and time has only come to {self._now:.3f} s")
            if not ready:
                self._jump()
            step = ready.pop()
            if ready:
                chosen = int(chance() * (len(ready) + 1))
                if chosen < len(ready):
                    ready[chosen], step = step, ready[chosen]
            if self._held and step.is_kept():
                continue
            self.steps += 1
            if self.steps >= self._busy_at:
                self._now, self._busy_at = self._now + BUSY_SECONDS, self.steps + BUSY_STEPS
            step.context.run(step.callback, *step.arguments)

    def _jump(self) -> None:
        """Move time on to the next timer; every timer of that time becomes ready."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise Deadlock(f"nothing is ready and no timer is set at {self._now:.3f} s; {self._waiting()}")
        if self._timers[0][0] > self._now:
            self._now, self._busy_at = self._timers[0][0], self.steps + BUSY_STEPS
        if self._now > self._limits.seconds:
            raise OutOfTime(f"virtual time ran out after {self._limits.seconds:g} s; {self._waiting()}")
        while self._timers and self._timers[0][0] <= self._now:
            self._steps.append(heapq.heappop(self._timers)[2])

    def _drop_cancelled(self) -> None:
        """Throw the timers away that were cancelled, for they are many."""
        self._timers = [timer for timer in self._timers if not timer[2].cancelled()]
        heapq.heapify(self._timers)
        self._most_timers = 2 * len(self._timers) + STALE_TIMERS

    def _waiting(self) -> str:
        """Where every task waits, for the message of an error."""
        tasks = sorted(asyncio.all_tasks(self), key=hash)
        places = [f"{task.get_name()} in {_place(task)}" for task in tasks]
        return f"waiting: {'; '.join(places) or 'nobody'}"


def run(work: Coroutine[Any, Any, T], *, chance: random.Random | None = None, limits: Limits | None = None) -> T:
    """Run a coroutine in virtual time, and end whatever it has left running."""
    loop = VirtualLoop(chance, limits)
    try:
        return loop.run_until_complete(work)
    finally:
        loop.end()


def _place(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    return f"{frames[0].f_code.co_qualname}, line {frames[0].f_lineno}" if frames else "its end"


def _nothing() -> None:
    """In place of a callback that was cancelled."""
