"""Everything between the bus and a reconciler's decisions: ownership, feeds, worker and fence, put together once."""

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from manta_common.bus.channel import STATE_PREFIX
from manta_common.bus.protocol import Bus
from manta_common.clock import Clock
from manta_common.errors import NotCaughtUp
from manta_common.feed import Feed, Source, View
from manta_common.fence import Fence, Seen
from manta_common.keys import Key
from manta_common.ownership.owner import Owner
from manta_common.ownership.settings import Ownership, Times
from manta_common.partitions import PARTITIONS
from manta_common.store import Held
from manta_common.worker import Pace, PassEnded, Worker


class Item(msgspec.Struct, frozen=True, order=True):
    """What the worker works on: a key, in the partition whose feed shows it."""

    partition: int
    key: Key

    def __str__(self) -> str:
        return str(self.key)


class Service(Protocol):
    """What a service gives to the plane."""

    name: str
    sources: Sequence[Source[Any]]

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """The keys of this service that an object of a kind is about."""

    async def settle(self, item: Item) -> None:
        """One pass for one key."""

    def passed(self, ended: PassEnded[Item]) -> None:
        """A pass has ended; for telemetry."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How a plane is set up; the defaults are those of an installation."""

    partitions: int = PARTITIONS
    times: Times = Times()
    pace: Pace = Pace()


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a plane works with; in a test all of it can be simulated."""

    bus: Bus
    now: Callable[[], datetime]
    clock: Clock
    chance: random.Random


class Counts:
    """What telemetry asks of a plane beyond its worker and fence."""

    def __init__(self) -> None:
        self.acquired = self.released = self.poisoned = self.late_drains = 0


class Plane:
    """Runs one service's share of the partitions."""

    def __init__(self, means: Means, service: Service, shape: Shape | None = None) -> None:
        self._bus, self._service, self._shape = means.bus, service, shape or Shape()
        self.counts = Counts()
        self.fence: Fence[Item] = Fence(means.clock.monotonic)
        self.worker: Worker[Item] = Worker(
            service.settle, means.now, pace=self._shape.pace, tell=service.passed, chance=means.chance
        )
        self._feeds: dict[int, tuple[Feed, asyncio.Task[None]]] = {}
        self._group: asyncio.TaskGroup | None = None
        ownership = Ownership(
            service=service.name,
            acquired=self._acquired,
            released=self._released,
            partitions=self._shape.partitions,
            times=self._shape.times,
        )
        self.owner = Owner(means.bus, ownership, clock=means.clock, chance=means.chance)

    async def run(self) -> None:
        """Work until `stop`; what is owned then is handed over first."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            working = group.create_task(self.worker.run())
            await self.owner.run()
            working.cancel()

    def stop(self) -> None:
        """Hand everything over, and let `run` return."""
        self.owner.stop()

    def view_of(self, item: Item) -> View | None:
        """What is known of the item's partition, if it is ours and whole."""
        found = self._feeds.get(item.partition)
        return found[0].view if found and self.owner.may_act(item.partition) else None

    def require(self, item: Item) -> None:
        """NotCaughtUp unless the item is ours at this moment; asked before every write."""
        if not self.owner.may_act(item.partition):
            raise NotCaughtUp(f"partition {item.partition} is not ours at the moment")

    async def _acquired(self, partition: int) -> None:
        assert self._group is not None
        self.counts.acquired += 1
        self.fence.forget(lambda item: item.partition == partition)
        self.worker.admit(lambda item: item.partition == partition)
        filters = [f"{STATE_PREFIX}.{partition}.{source.word}.>" for source in self._service.sources]
        feed = Feed(self._bus, filters, self._service.sources, _Ear(self, partition))
        self._feeds[partition] = (feed, self._group.create_task(feed.run()))

    async def _released(self, partition: int) -> None:
        """Finish the passes that run, start no more, and stop listening."""
        self.counts.released += 1
        limit_seconds = 0.8 * self._shape.times.drain_seconds  # the rest is for the feed to end
        if not await self.worker.drain(lambda item: item.partition == partition, limit_seconds=limit_seconds):
            self.counts.late_drains += 1
        _, task = self._feeds.pop(partition)
        task.cancel()
        await asyncio.wait([task])
        self.fence.forget(lambda item: item.partition == partition)

    def changed(self, partition: int, word: str, *states: Held[Any] | None) -> None:
        """Mark every key that the states of an object are about."""
        for held in states:
            for key in self._service.marks(word, held) if held else ():
                self.worker.mark(Item(partition, key))

    def saw(self, seen: Seen) -> None:
        """Let go on what waited for this."""
        for item in self.fence.saw(seen):
            self.worker.mark(item)


class _Ear:
    """Listens to the feed of one partition."""

    def __init__(self, plane: Plane, partition: int) -> None:
        self._plane, self._partition = plane, partition

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        """Mark what it is about."""
        self._plane.changed(self._partition, word, before, after)

    def saw(self, seen: Seen) -> None:
        """Let go on what waited for it."""
        self._plane.saw(seen)

    def poisoned(self, subject: str, error: str) -> None:
        """Count it; the feed went on without it."""
        self._plane.counts.poisoned += 1
