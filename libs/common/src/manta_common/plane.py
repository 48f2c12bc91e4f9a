"""Everything between the bus and a reconciler's decisions: ownership, feeds, worker and fence, put together once."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

import msgspec

from manta_common.bus.protocol import Bus
from manta_common.clock import Clock
from manta_common.company import Company
from manta_common.ears import Ear, Items
from manta_common.errors import NotCaughtUp
from manta_common.feed import Feed, Source, View
from manta_common.fence import Fence, Seen
from manta_common.keys import Key
from manta_common.ownership.owner import Owner
from manta_common.ownership.settings import Ownership, Times
from manta_common.partitions import PARTITIONS
from manta_common.store import Held
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.passes import Passes
from manta_common.telemetry.plane import FeedMetrics, FenceMetrics, OwnershipMetrics
from manta_common.telemetry.tracing import Headers, Tracing
from manta_common.worker import Pace, PassEnded, Worker

SHOWN = 50  # keys of the queue
SLACK = timedelta(seconds=5)  # by which the clocks of two API servers may differ


class Item(msgspec.Struct, frozen=True, order=True):
    """What the worker works on: a key, in the partition whose feed shows it."""

    partition: int
    key: Key

    def __str__(self) -> str:
        return str(self.key)


Belongs = Callable[[Item], bool]


class Service(Protocol):
    """What a service gives to the plane."""

    name: str
    sources: Sequence[Source[Any]]

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """The keys of this service that an object of a kind is about."""

    async def settle(self, item: Item) -> None:
        """One pass for one key."""


class Wide(msgspec.Struct, frozen=True, kw_only=True):
    """A second feed: kinds that a service reads of all partitions and families, whoever owns them.

    `marks` is asked for each partition of ours, with its view: the keys there that an object of these kinds is about.
    """

    sources: Sequence[Source[Any]]
    marks: Callable[[str, Held[Any], View], Iterable[Key]]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How a plane is set up; the defaults are those of an installation."""

    partitions: int = PARTITIONS
    times: Times = Times()
    pace: Pace = Pace()


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a plane works with; in a test all of it can be simulated. Unless given, nobody reads the telemetry."""

    bus: Bus
    now: Callable[[], datetime]
    clock: Clock
    chance: random.Random
    metrics: Registry = msgspec.field(default_factory=Registry)
    tracing: Tracing = msgspec.field(default_factory=Tracing)


class Plane:
    """Runs one service's share of the partitions."""

    def __init__(
        self,
        means: Means,
        service: Service,
        shape: Shape | None = None,
        *,
        wide: Wide | None = None,
        told: Callable[[PassEnded[Item]], None] | None = None,
    ) -> None:
        self._bus, self._service, self._shape, self._told = means.bus, service, shape or Shape(), told
        self._now = means.now
        self._begun: dict[int, datetime] = {}  # since when a partition is ours, or its view another one
        self._feeds: dict[int, tuple[Feed, asyncio.Task[None]]] = {}
        self._open: set[int] = set()  # the partitions whose passes may begin
        self._group: asyncio.TaskGroup | None = None
        metrics, name = means.metrics, service.name
        self._moves = OwnershipMetrics(
            metrics, name, owned=lambda: len(self.owner.held), members=lambda: self.owner.members
        )
        self._read = FeedMetrics(metrics, name, _words(service.sources) | _words(wide.sources if wide else ()))
        waits = FenceMetrics(metrics, name, lambda: self.fence.held)
        self.company = Company(means.clock.monotonic)
        self.fence: Fence[Item] = Fence(means.clock.monotonic, waits, self._shown)
        self._passes: Passes[Item] = Passes(metrics, means.tracing, worker=name, partition=lambda item: item.partition)
        self.worker: Worker[Item] = Worker(
            self._passes.traced(service.settle),
            means.now,
            pace=self._shape.pace,
            tell=self._passed,
            chance=means.chance,
        )
        self._losers: list[Callable[[Belongs], None]] = []
        self._everywhere = self._wide_feed(wide) if wide else None
        self.owner = Owner(means.bus, self._ownership(), clock=means.clock, chance=means.chance)
        self.worker.accept(lambda item: item.partition in self._open)
        self.worker.hold(self.fence.held_seconds)
        self._passes.watch(self.worker)
        self._read.watch(replaying=lambda: len(self._feeds) - self._whole, ready=lambda: self._whole)

    async def run(self) -> None:
        """Work until `stop`; what is owned then is handed over first."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            running = [group.create_task(self.worker.run())]
            if self._everywhere:
                running.append(group.create_task(self._everywhere.run()))
            await self.owner.run()
            for task in running:
                task.cancel()

    def stop(self) -> None:
        """Hand everything over, and let `run` return."""
        self.owner.stop()

    def view_of(self, item: Item) -> View | None:
        """What is known of the item's partition, if it is ours and whole, and so is `everywhere` if there is one."""
        found = self._feeds.get(item.partition)
        is_whole = self._everywhere is None or self._everywhere.view is not None
        return found[0].view if found and is_whole and self.owner.may_act(item.partition) else None

    @property
    def everywhere(self) -> View:
        """What is known of the kinds of the wide feed in all partitions; NotCaughtUp until it is whole."""
        assert self._everywhere is not None, "this plane was made without a wide feed"
        view = self._everywhere.view
        if view is None:
            raise NotCaughtUp("the view of all partitions is not whole yet")
        return view

    @property
    def name(self) -> str:
        """The service's."""
        return self._service.name

    def require(self, item: Item) -> None:
        """NotCaughtUp unless the item is ours at this moment; asked before every write."""
        if not self.owner.may_act(item.partition):
            raise NotCaughtUp(f"partition {item.partition} is not ours at the moment")

    def shown(self) -> dict[str, object]:
        """What `/debug/state` says of a plane."""
        waiting = self.worker.waiting
        return {
            "owned": sorted(self.owner.held),
            "members": self.owner.members,
            "whole": self._whole,
            "dirty": len(waiting),
            "next": [str(item) for item in waiting[:SHOWN]],
            "oldest_wait_seconds": round(self.worker.oldest_wait_seconds, 3),
            "waiting_for_own_writes": self.fence.held,
        }

    def objects(self) -> dict[str, dict[str, str]]:
        """What `/debug/objects` says of a plane: uid and version of what is known, by kind; `*` marks the wide feed."""
        known: dict[str, dict[str, str]] = {}
        feeds = [("", feed) for feed, _ in self._feeds.values()]
        for mark, feed in [*feeds, *([("*", self._everywhere)] if self._everywhere else [])]:
            for word, held in feed.view or ():
                known.setdefault(f"{word}{mark}", {})[str(held.key)] = f"{held.uid} {held.version}"
        return known

    def when_lost(self, *told: Callable[[Belongs], None]) -> None:
        """Have functions called with which items somebody else looks after from now on, to keep nothing of them."""
        self._losers += told

    def doubt(self, partition: int | Literal["*"]) -> None:
        """A view was read anew: its keys are compared with the API server's before the next act."""
        self.fence.doubt(lambda item: partition in ("*", item.partition))
        for one in self._begun if partition == "*" else [partition]:
            self._begun[one] = self._now()

    def trust_if_new(self, item: Item, made_at: datetime | None) -> None:
        """An item that was made after its partition became ours: nobody before us can have acted for it."""
        begun = self._begun.get(item.partition)
        if begun and made_at and made_at > begun + SLACK:
            self.fence.trust(item)

    def mark(self, item: Item, cause: Headers) -> None:
        """There is something to do for an item because of a message with these headers."""
        self._passes.caused(item, cause)
        self.worker.mark(item)

    async def _acquired(self, partition: int) -> None:
        assert self._group is not None
        self._forget(partition)
        self._begun[partition] = self._now()
        self._open.add(partition)
        sources = self._service.sources
        feed = self._feed(partition, sources, Ear(self, self._items_of(partition), _words(sources)))
        self._feeds[partition] = (feed, self._group.create_task(feed.run()))

    async def _released(self, partition: int) -> None:
        """Finish the passes that run, start no more, and stop listening."""
        self._open.discard(partition)
        limit_seconds = 0.8 * self._shape.times.drain_seconds  # the rest is for the feed to end
        if not await self.worker.drain(lambda item: item.partition == partition, limit_seconds=limit_seconds):
            self._moves.drained_late()
        _, task = self._feeds.pop(partition)
        task.cancel()
        await asyncio.wait([task])
        self._forget(partition)

    def _forget(self, partition: int) -> None:
        for forget in (self.fence.forget, self.worker.forget, self._passes.forget, *self._losers):
            forget(lambda item: item.partition == partition)

    def _passed(self, ended: PassEnded[Item]) -> None:
        self._passes.tell(ended)
        if not self._shows_any(ended.key):
            self.fence.lose(ended.key)  # names are not used up: what is kept of each would grow for ever
        if self._told:
            self._told(ended)

    @property
    def _whole(self) -> int:
        """How many of our partitions have a view."""
        return sum(1 for feed, _ in self._feeds.values() if feed.view)

    def _shown(self, item: Item, word: str, key: Key) -> Seen | None:
        """What is known of an object where a write of the item would be seen."""
        feed = self._everywhere
        if word in _words(self._service.sources):
            feed, _ = self._feeds.get(item.partition, (None, None))
        return feed.shown(word, key) if feed else None

    def _shows_any(self, item: Item) -> bool:
        """Whether the partition's view shows an object of the item's name, of whatever kind, or there is no view."""
        feed, _ = self._feeds.get(item.partition, (None, None))
        words = _words(self._service.sources)
        return feed is None or any(not seen or not seen.gone for seen in (feed.shown(word, item.key) for word in words))

    def _items_of(self, partition: int) -> Items[Item]:
        return lambda word, held: (Item(partition, key) for key in self._service.marks(word, held))

    def _items_anywhere(self, wide: Wide) -> Items[Item]:
        def items(word: str, held: Held[Any]) -> Iterator[Item]:
            for partition, (feed, _) in self._feeds.items():
                keys = wide.marks(word, held, feed.view) if feed.view else ()
                yield from (Item(partition, key) for key in keys)

        return items

    def _wide_feed(self, wide: Wide) -> Feed:
        """A write is seen when the partition's own view shows it: this feed may be ahead of it."""
        ear = Ear(self, self._items_anywhere(wide), _words(wide.sources) - _words(self._service.sources))
        return self._feed("*", wide.sources, ear)

    def _feed(self, partition: int | Literal["*"], sources: Sequence[Source[Any]], ear: Ear[Item]) -> Feed:
        filters = [one for source in sources for one in source.filters(partition)]
        ear.partition = partition
        ear.feed = Feed(self._bus, filters, sources, ear, self._read)
        return ear.feed

    def _ownership(self) -> Ownership:
        return Ownership(
            service=self._service.name,
            acquired=self._acquired,
            released=self._released,
            partitions=self._shape.partitions,
            times=self._shape.times,
            moved=self._moves.moved,
        )


def _words(sources: Iterable[Source[Any]]) -> set[str]:
    return {source.word for source in sources}
