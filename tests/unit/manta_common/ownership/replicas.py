"""Replicas of a service in virtual time, on a bus in memory."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator

from manta_common.ownership.owner import Owner
from manta_common.ownership.settings import Ownership, Times
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock

STEP_SECONDS = 0.05


class Replica:
    """One replica: what it was told, and when."""

    def __init__(
        self, nats: SimulatedNats, service: str, *, partitions: int, times: Times, drain_seconds: float
    ) -> None:
        self.bus, self._drain_seconds = SimulatedBus(nats), drain_seconds
        self.told: list[tuple[str, int, float]] = []
        self.moved: Counter[str] = Counter()
        ownership = Ownership(
            service=service,
            acquired=self._acquired,
            released=self._released,
            partitions=partitions,
            times=times,
            moved=lambda move: self.moved.update([move]),
        )
        self.owner = Owner(self.bus, ownership, clock=LoopClock(), chance=random.Random(nats.chance.random()))
        self.running = asyncio.create_task(self.owner.run())

    @property
    def acting(self) -> set[int]:
        """The partitions that it may act on at this moment."""
        return {partition for partition in self.owner.held if self.owner.may_act(partition)}

    def moves(self, what: str) -> list[int]:
        """The partitions that it was told of so far."""
        return [partition for word, partition, _ in self.told if word == what]

    async def kill(self) -> None:
        """End at once, without a word."""
        self.bus.cut()
        self.running.cancel()
        await asyncio.wait([self.running])

    async def stop(self) -> None:
        """End cleanly."""
        self.owner.stop()
        await self.running

    async def _acquired(self, partition: int) -> None:
        self.told.append(("acquired", partition, now()))

    async def _released(self, partition: int) -> None:
        self.told.append(("draining", partition, now()))
        await asyncio.sleep(self._drain_seconds)
        self.told.append(("released", partition, now()))


class Fleet:
    """The replicas of one service. Nobody may ever act on a partition that another may act on."""

    def __init__(
        self,
        nats: SimulatedNats,
        service: str = "svc",
        *,
        partitions: int = 32,
        drain_seconds: float = 0,
        times: Times | None = None,
    ) -> None:
        self.nats, self.service = nats, service
        self._partitions, self._drain_seconds, self._times = partitions, drain_seconds, times or Times()
        self.replicas: list[Replica] = []

    def start(self, count: int = 1) -> list[Replica]:
        """Start further replicas."""
        new = [
            Replica(
                self.nats,
                self.service,
                partitions=self._partitions,
                times=self._times,
                drain_seconds=self._drain_seconds,
            )
            for _ in range(count)
        ]
        self.replicas += new
        return new

    @property
    def acting(self) -> dict[int, Replica]:
        """Who may act on what; at most one on each."""
        found: dict[int, Replica] = {}
        for replica in self.replicas:
            for partition in replica.acting:
                assert partition not in found, f"two may act on partition {partition} at {now()}"
                found[partition] = replica
        return found

    async def watch(self, seconds: float) -> None:
        """Let time pass, looking all the while whether two may act on the same."""
        until = now() + seconds
        while now() < until:
            assert self.acting is not None
            await asyncio.sleep(STEP_SECONDS)

    async def settled(self, limit_seconds: float = 30) -> float:
        """Wait until every partition has someone who may act on it; after how many seconds."""
        began = now()
        while len(self.acting) < self._partitions:
            assert now() < began + limit_seconds, f"without an owner: {set(range(self._partitions)) - set(self.acting)}"
            await asyncio.sleep(STEP_SECONDS)
        return now() - began

    async def end(self) -> None:
        """End all replicas."""
        for replica in self.replicas:
            if not replica.running.done():
                await replica.kill()
            elif not replica.running.cancelled():
                replica.running.result()


@contextlib.asynccontextmanager
async def fleet(**options: object) -> AsyncIterator[Fleet]:
    """A fleet on a bus of its own."""
    made = Fleet(SimulatedNats(LoopClock()), **options)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        await made.end()


def now() -> float:
    """The virtual time."""
    return asyncio.get_running_loop().time()
