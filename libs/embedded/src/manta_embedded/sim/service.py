"""A service in a world: it can crash, be stopped, stand still and be cut off, and start again with nothing."""

import asyncio
import contextvars
import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from manta_common.clock import Clock
from manta_common.errors import Retry
from manta_common.kinds import NAMESPACE
from manta_common.kube.protocol import Kube
from manta_common.plane import Means
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.history import History
from manta_embedded.sim.kube import Line, SimulatedKube
from manta_embedded.sim.loop import LANE, Lane, VirtualLoop
from manta_embedded.sim.troubles import WRITES, Script, Storm, Trouble
from manta_embedded.sim.ways import Latency, SimulatedWays
from manta_embedded.store.store import Store

START_SECONDS = 1.0  # from a crash to the next start
AGAIN_SECONDS = 2.0  # until an API server that did not answer is asked again


class Runs(Protocol):
    """What a service is: it works until it is told to stop."""

    async def run(self) -> None:
        """Work."""

    def stop(self) -> None:
        """Let `run` return."""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """What a service is built from, for one life: its own connections, and nothing of the life before."""

    name: str
    kube: SimulatedKube
    means: Means


Build = Callable[[Seat], Runs]


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What all services of a world share; `fail` ends the run."""

    seed: int
    loop: VirtualLoop
    clock: Clock
    store: Store
    nats: SimulatedNats
    history: History
    latency: Latency
    fail: Callable[[BaseException], None]


class SimulatedService:
    """One replica of a service. What it is told goes wrong from then on, in this life and the next."""

    def __init__(self, ground: Ground, name: str, build: Build) -> None:
        self._ground, self.name, self._build = ground, name, build
        self.chance = random.Random(f"{ground.seed}/{name}")
        self.ways = SimulatedWays(self.chance, ground.latency)
        self.scripts: list[Script] = []
        self.storm: Storm | None = None
        self.repeats: list[str] = []
        self.wall_offset_seconds = 0.0
        self.lives = 0
        self._life: _Life | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs, or stands still."""
        return self._life is not None

    @property
    def bus(self) -> SimulatedBus:
        """Its connection to NATS in this life."""
        return self._living.seat_bus

    @property
    def running(self) -> Runs:
        """What was built for this life, to be looked into."""
        return self._living.built

    def start(self) -> None:
        """Begin a life."""
        if self.alive:
            return
        self.lives += 1
        self._ground.history.tell(self.name, "starts", f"life {self.lives}")
        life = self._life = _Life(self, self._ground, self._build)
        life.task.add_done_callback(lambda task: self._ended(life, task))

    def crash(self, because: str = "script", *, again_after_seconds: float | None = START_SECONDS) -> None:
        """Die at once, without a word; and start again after a while, unless that is None."""
        if self._life is None:
            return
        self._ground.history.tell(self.name, "crashes", "", because)
        self.end()
        if again_after_seconds is not None:
            self._ground.loop.call_later(again_after_seconds, self.start, context=contextvars.Context())

    def end(self) -> None:
        """Be dead, for good and without a line in the history."""
        life, self._life = self._life, None
        if life is not None:
            life.kill()

    async def stop(self) -> None:
        """End in good order."""
        life = self._living
        self._ground.history.tell(self.name, "is told to stop")
        life.built.stop()
        await life.over.wait()

    def crash_at(self, write: int, *, applied: bool = True, kind: str = "") -> None:
        """Die at the n-th write from now on, after it was carried out or before."""
        self.trouble(Trouble(crash=True, applied=applied), nth=write, kind=kind)

    def trouble(
        self, trouble: Trouble, *, nth: int = 1, times: int = 1, verbs: frozenset[str] = WRITES, kind: str = ""
    ) -> None:
        """Let something go wrong at the n-th such call from now on."""
        self.scripts.append(Script(trouble=trouble, nth=nth, times=times, verbs=verbs, kind=kind))

    def pause(self, seconds: float) -> None:
        """Stand still, as a stopped process does, while time goes on."""
        life = self._living
        self._ground.history.tell(self.name, "stands still", f"for {seconds:g} s")
        self._ground.loop.hold(life.lane)
        self._later(seconds, self._go_on, life)

    def cut(self, seconds: float) -> None:
        """Lose the connection to NATS for a while."""
        bus = self.bus
        self._ground.history.tell(self.name, "loses NATS", f"for {seconds:g} s")
        bus.cut()
        self._later(seconds, bus.mend)

    def lag(self, seconds: float, lag_seconds: float) -> None:
        """See the stream late for a while: many changes come as the last one."""
        self._ground.history.tell(self.name, "lags", f"by {lag_seconds:g} s for {seconds:g} s")
        self.ways.feed_lag_seconds = lag_seconds
        self._later(seconds, self.ways.recover)

    def deceive(self, seconds: float) -> None:
        """Believe to own what it owns for a while, whoever else does by then."""
        bus = self.bus
        self._ground.history.tell(self.name, "is deceived", f"for {seconds:g} s", "others may own what it owns")
        bus.deceive()
        self._later(seconds, bus.undeceive)

    def slow_down(self, seconds: float, extra_seconds: float) -> None:
        """Let every way take longer for a while, and replays come in small portions."""
        self._ground.history.tell(self.name, "is slow", f"by {extra_seconds:g} s for {seconds:g} s")
        self.ways.extra_seconds, self.ways.most_at_once = extra_seconds, 2
        self._later(seconds, self.ways.recover)

    def calm(self) -> None:
        """Have nothing go wrong any more; start again if it is dead."""
        self.storm = None
        self.scripts.clear()
        self.ways.recover()
        if self._life is None:
            self.start()
            return
        self._ground.loop.release(self._life.lane)
        self.bus.undeceive()
        self.bus.mend()

    def step_clock(self, seconds: float) -> None:
        """Have the clock on the wall set, forwards or backwards."""
        self._ground.history.tell(self.name, "clock is set", f"by {seconds:g} s")
        self.wall_offset_seconds += seconds

    def repeated(self, what: str) -> None:
        """It did something again although it had been told that it was done."""
        self._ground.history.tell(self.name, "REPEATS ITSELF", what)
        self.repeats.append(what)

    @property
    def _living(self) -> "_Life":
        if self._life is None:
            raise RuntimeError(f"{self.name} is not running; start it first")
        return self._life

    def _go_on(self, life: "_Life") -> None:
        if life is self._life:
            self._ground.history.tell(self.name, "goes on")
        self._ground.loop.release(life.lane)

    def _later(self, seconds: float, act: Callable[..., object], *arguments: object) -> None:
        self._ground.loop.call_later(seconds, act, *arguments, context=contextvars.Context())

    def _ended(self, life: "_Life", task: asyncio.Task[None]) -> None:
        """A life that ends by itself was told to stop; anything else is a fault of the service."""
        life.over.set()
        if life is not self._life:
            if not task.cancelled():
                task.exception()
            return
        self._life = None
        life.close()
        error = None if task.cancelled() else task.exception()
        self._ground.history.tell(self.name, "ends", "", repr(error) if error else "")
        if error is not None:
            self._ground.fail(error)


class _Life:
    """From a start to an end or a crash."""

    def __init__(self, service: SimulatedService, ground: Ground, build: Build) -> None:
        self._loop, self.lane, self.over = ground.loop, Lane(), asyncio.Event()
        self._line = Line(service, ground.store, ground.history, lambda: _wall(service, ground))
        self.seat_bus = SimulatedBus(ground.nats, service.ways)
        kube = SimulatedKube(ground.store, service, self._line)
        chance = random.Random(f"{ground.seed}/{service.name}/{service.lives}")
        means = Means(bus=self.seat_bus, now=kube.now, clock=ground.clock, chance=chance)
        context = contextvars.Context()
        context.run(LANE.set, self.lane)
        self.built = context.run(build, Seat(name=service.name, kube=kube, means=means))
        self.task: asyncio.Task[None] = ground.loop.create_task(self._run(kube), name=service.name, context=context)

    async def _run(self, kube: Kube) -> None:
        """As every service does: the API server's first answer sets the clock before anything is decided."""
        while True:
            try:
                await kube.list_versions(NAMESPACE)
                break
            except Retry:
                await asyncio.sleep(AGAIN_SECONDS)
        await self.built.run()

    def kill(self) -> None:
        """Cut every connection, and end whatever runs."""
        self._loop.release(self.lane)
        self.close()
        self.task.cancel()

    def close(self) -> None:
        """Cut every connection."""
        self._line.cut()
        self.seat_bus.close()


def _wall(service: SimulatedService, ground: Ground) -> float:
    return ground.store.now().timestamp() + service.wall_offset_seconds
