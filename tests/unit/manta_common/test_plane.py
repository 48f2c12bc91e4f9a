"""A plane works on its own partitions, and knows of all of them what its wide feed shows."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from manta_common.bus.protocol import Batch
from manta_common.errors import NotCaughtUp
from manta_common.feed import Source
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.plane import Item, Means, Plane, Shape, Wide
from manta_common.store import Held
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_common.worker import Pace
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from tests.unit.manta_common.boxes import BOXES, TOYS, WIDE, Shelf, Toys
from tests.unit.manta_common.telemetry.parse import samples
from tests.unit.manta_common.telemetry.spans import Kept, context
from tests.unit.manta_common.virtual import run

PARTITIONS = 16
BOX = Kind("box", "Box", "boxes", "example.test")


class ToysAndBoxes(Toys):
    """The same, with the boxes of a partition in its own feed too."""

    sources: Sequence[Source[Any]] = (TOYS, BOXES)


class GatedBus(SimulatedBus):
    """A bus on which the feed of all partitions, or of one, brings nothing until it is let."""

    def __init__(self, world: SimulatedNats, gated: str) -> None:
        super().__init__(world)
        self.gate, self._gated = asyncio.Event(), gated

    @asynccontextmanager
    async def replay(self, subjects: Sequence[str]) -> AsyncIterator[AsyncIterator[Batch]]:
        async with super().replay(subjects) as batches:
            yield self._waiting(batches) if self._gated in subjects else batches

    async def _waiting(self, batches: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
        async for batch in batches:
            await self.gate.wait()
            yield batch


class Scene:
    """Planes on one bus in memory."""

    def __init__(self) -> None:
        self.world, self.now = SimulatedNats(LoopClock()), datetime(2026, 1, 1, tzinfo=UTC)
        self.registry, self.kept = Registry("toys"), Kept()
        self.bus = SimulatedBus(self.world)
        self.shelf = Shelf(self.bus, self.kept.tracing)

    def plane(self, service: Toys, *, wide: Wide | None = WIDE, bus: SimulatedBus | None = None) -> Plane:
        means = Means(
            bus=bus or SimulatedBus(self.world),
            now=lambda: self.now,
            clock=LoopClock(),
            chance=random.Random(self.world.chance.random()),
            metrics=self.registry,
            tracing=self.kept.tracing,
        )
        service.plane = Plane(means, service, Shape(partitions=PARTITIONS), wide=wide, told=service.passed)
        return service.plane

    def number(self, name: str, **labels: str) -> float:
        """A number as `/metrics` shows it."""
        place = (name, tuple(sorted({"component": "toys", "worker": "toys", **labels}.items())))
        return samples(exposition([self.registry]))[place]


@contextlib.asynccontextmanager
async def running(*planes: Plane) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(plane.run()) for plane in planes]
    await asyncio.sleep(5)
    yield
    for plane in planes:
        plane.stop()
    await asyncio.gather(*tasks)


def test_an_object_of_another_partition_marks_the_keys_that_it_is_about() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        await scene.shelf.toy(1, "bear", "red-box")
        await scene.shelf.toy(2, "car", "other-box")
        async with running(scene.plane(service)):
            service.seen.clear()
            await scene.shelf.box(3, "red-box", "red")
            await asyncio.sleep(1)
            assert service.seen == [("bear", "red")]
            await scene.shelf.box(3, "red-box", None)
            await asyncio.sleep(1)
            assert service.seen == [("bear", "red"), ("bear", "")]

    run(play())


def test_each_replica_looks_after_the_keys_of_its_own_partitions_only() -> None:
    async def play() -> None:
        scene, services = Scene(), (Toys(), Toys())
        for partition in range(PARTITIONS):
            await scene.shelf.toy(partition, f"toy-{partition}", "box")
        async with running(*(scene.plane(service) for service in services)):
            for service in services:
                service.seen.clear()
            await scene.shelf.box(0, "box", "red")
            await asyncio.sleep(1)
            seen = [sorted(name for name, _ in service.seen) for service in services]
            owned = [sorted(f"toy-{one}" for one in service.plane.owner.held) for service in services]
            assert seen == owned
            assert all(seen)
            assert all(len(service.plane.everywhere.of(BOXES)) == 1 for service in services)

    run(play())


def test_who_keeps_something_is_told_which_partitions_go_to_another_replica() -> None:
    async def play() -> None:
        scene, lost = Scene(), list[set[int]]()
        first = scene.plane(Toys())
        async with running(first):
            first.when_lost(lambda belongs: lost.append(_partitions(belongs)))
            async with running(scene.plane(Toys())):
                gone = set(range(PARTITIONS)) - first.owner.held
                assert gone
                assert sorted(map(sorted, lost)) == [[partition] for partition in sorted(gone)]

    run(play())


def _partitions(belongs: Callable[[Item], bool]) -> set[int]:
    return {partition for partition in range(PARTITIONS) if belongs(Item(partition, Key("n", "any")))}


def test_nothing_is_decided_until_the_wide_view_is_whole() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        await scene.shelf.toy(1, "bear", "box")
        await scene.shelf.box(3, "box", "red")
        bus = GatedBus(scene.world, BOXES.channel.filter())
        plane = scene.plane(service, bus=bus)
        async with running(plane):
            assert plane.owner.held == set(range(PARTITIONS))
            assert plane.view_of(Item(1, Key("n", "bear"))) is None
            with pytest.raises(NotCaughtUp, match="not whole"):
                _ = plane.everywhere
            assert set(service.outcomes) == {"not_caught_up"}
            bus.gate.set()
            await asyncio.sleep(2)
            assert service.seen[-1] == ("bear", "red")

    run(play())


def test_a_write_has_come_back_only_when_the_partition_itself_shows_it() -> None:
    async def play() -> None:
        scene, service = Scene(), ToysAndBoxes()
        await scene.shelf.toy(1, "bear", "box")
        bus = GatedBus(scene.world, BOXES.channel.filter(1))
        plane, item = scene.plane(service, bus=bus), Item(1, Key("n", "bear"))
        async with running(plane):
            plane.fence.wrote(item, BOX, Key("n", "box"), uid="box", version="2")
            await scene.shelf.box(1, "box", "red")
            await asyncio.sleep(1)
            assert len(plane.everywhere.of(BOXES)) == 1
            assert plane.fence.held == 1
            bus.gate.set()
            await asyncio.sleep(1)
            assert plane.fence.held == 0

    run(play())


def test_a_write_of_a_kind_that_only_the_wide_feed_shows_comes_back_by_it() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        plane = scene.plane(service)
        async with running(plane):
            plane.fence.wrote(Item(1, Key("n", "bear")), BOX, Key("n", "box"), uid="box", version="1")
            await scene.shelf.box(3, "box", "red")
            await asyncio.sleep(1)
            assert plane.fence.held == 0

    run(play())


def test_a_plane_without_a_wide_feed_needs_none() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        plane = scene.plane(service, wide=None)
        async with running(plane):
            assert plane.view_of(Item(1, Key("n", "bear"))) is not None
            with pytest.raises(AssertionError, match="without a wide feed"):
                _ = plane.everywhere

    run(play())


def test_a_pass_belongs_to_the_trace_of_the_message_that_caused_it() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        async with running(scene.plane(service)):
            with scene.kept.tracing.span("watch"):
                await scene.shelf.toy(1, "bear", "box")
            await asyncio.sleep(1)
            with scene.kept.tracing.span("watch the box"):
                await scene.shelf.box(3, "box", "red")
            await asyncio.sleep(1)
        passes = [span for span in scene.kept.all if span.name == "pass"]
        causes = [context(scene.kept.spans[name]).span_id for name in ("watch", "watch the box")]
        assert [span.parent.span_id for span in passes if span.parent] == causes
        assert (passes[0].attributes or {})["manta.partition"] == 1

    run(play())


def test_a_plane_counts_what_it_does() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        await scene.shelf.toy(1, "bear", "box")
        async with running(scene.plane(service)):
            await scene.shelf.toy(1, "bear", "other")
            await asyncio.sleep(1)
            assert scene.number("manta_partitions_owned") == PARTITIONS
            assert scene.number("manta_members") == 1
            assert scene.number("manta_partitions_moved_total", move="claimed") == PARTITIONS
            assert scene.number("manta_feed_partitions", state="ready") == PARTITIONS
            assert scene.number("manta_feed_partitions", state="replaying") == 0
            assert scene.number("manta_feed_messages_total", kind="toy") == 2
            assert scene.number("manta_feed_messages_total", kind="box") == 0
            assert scene.number("manta_feed_replays_total") == PARTITIONS + 1
            assert scene.number("manta_feed_lag_seconds_count") == 1
            assert scene.number("manta_passes_total", outcome="done") == len(service.outcomes) > 1
            assert scene.number("manta_queue_depth") == 0
            assert service.plane.shown()["owned"] == list(range(PARTITIONS))
        assert scene.number("manta_partitions_owned") == 0
        assert scene.number("manta_partitions_moved_total", move="released") == PARTITIONS

    run(play())


def test_poison_is_counted_and_told_without_its_body(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        subject = TOYS.channel.subject(1, Key("n", "bear"))
        await scene.bus.publish(subject, b'{"hunter2"')
        async with running(scene.plane(service)):
            assert scene.number("manta_feed_poison_total", kind="toy") == 1
        [told] = [record for record in caplog.records if record.levelname == "ERROR"]
        assert told.getMessage() == "message cannot be read"
        assert vars(told)["subject"] == subject
        assert vars(told)["error"]
        assert "hunter2" not in str(vars(told))

    run(play())


class Stuck(Toys):
    """A service whose passes never end."""

    async def settle(self, item: Item) -> None:
        await asyncio.Event().wait()


def test_a_drain_that_takes_too_long_is_counted() -> None:
    async def play() -> None:
        scene, service = Scene(), Stuck()
        await scene.shelf.toy(1, "bear", "box")
        async with running(scene.plane(service)):
            assert scene.number("manta_partitions_drained_late_total") == 0
        assert scene.number("manta_partitions_drained_late_total") == 1

    run(play())


def test_what_is_dirty_is_shown() -> None:
    async def play() -> None:
        scene, service = Scene(), Stuck()
        plane = scene.plane(service)
        for number in range(100):
            await scene.shelf.toy(1, f"toy-{number}", "box")
        async with running(plane):
            shown = plane.shown()
            assert shown["dirty"] == 100 - Pace().concurrency
            assert shown["next"] == [f"n/toy-{number}" for number in range(Pace().concurrency, 100)]
            assert plane.worker.oldest_wait_seconds > 1

    run(play())


def test_what_is_known_is_shown() -> None:
    async def play() -> None:
        scene, service = Scene(), Toys()
        await scene.shelf.toy(1, "bear", "box")
        await scene.shelf.toy(2, "duck", "box")
        plane = scene.plane(service)
        assert plane.objects() == {}
        async with running(plane):
            shown = plane.objects()
            held = {str(one.key): f"{one.uid} {one.version}" for one in _known(plane)}
            assert shown == {"toy": held}
            assert set(held) == {"n/bear", "n/duck"}

    run(play())


def _known(plane: Plane) -> list[Held[Any]]:
    views = [plane.view_of(Item(partition, Key("n", "any"))) for partition in range(PARTITIONS)]
    return [held for view in views if view for _, held in view]


class Cars(Toys):
    """Another service of the same process."""

    name = "cars"


def test_two_planes_of_one_process_are_told_apart() -> None:
    async def play() -> None:
        scene, services = Scene(), (Toys(), Cars())
        await scene.shelf.toy(1, "bear", "box")
        async with running(*(scene.plane(service) for service in services)):
            for name in ("toys", "cars"):
                assert scene.number("manta_partitions_owned", worker=name) == PARTITIONS
                assert scene.number("manta_feed_messages_total", worker=name, kind="toy") == 1
                assert scene.number("manta_passes_total", worker=name, outcome="done") == 1

    run(play())


def test_what_was_made_after_its_partition_became_ours_is_trusted() -> None:
    async def play() -> None:
        scene = Scene()
        plane = scene.plane(Toys(), wide=None)
        async with running(plane):
            begun, item = datetime(2026, 1, 1, tzinfo=UTC), Item(1, Key("n", "bear"))
            for made_at in (None, begun, begun + timedelta(seconds=5)):
                plane.trust_if_new(item, made_at)
                assert not plane.fence.is_verified(item)
            plane.trust_if_new(item, begun + timedelta(seconds=6))
            assert plane.fence.is_verified(item)
        plane.trust_if_new(Item(PARTITIONS + 1, item.key), begun + timedelta(days=1))
        assert not plane.fence.is_verified(Item(PARTITIONS + 1, item.key))

    run(play())


def test_of_what_is_gone_nothing_is_kept_in_mind() -> None:
    async def play() -> None:
        scene, item = Scene(), Item(1, Key("n", "bear"))
        await scene.shelf.toy(1, "bear", "box")
        plane = scene.plane(Toys())
        async with running(plane):
            plane.fence.trust(item)
            await scene.shelf.toy(1, "bear", "other-box")
            await asyncio.sleep(1)
            assert plane.fence.is_verified(item)
            await scene.shelf.toy(1, "bear", None)
            await asyncio.sleep(1)
            assert not plane.fence.is_verified(item)

    run(play())


@pytest.mark.parametrize("partition", [1, "*"])
def test_after_a_view_was_read_anew_nothing_older_is_trusted(partition: Literal["*"] | int) -> None:
    async def play() -> None:
        scene = Scene()
        plane = scene.plane(Toys(), wide=None)
        async with running(plane):
            begun, item = datetime(2026, 1, 1, tzinfo=UTC), Item(1, Key("n", "bear"))
            plane.trust_if_new(item, begun + timedelta(seconds=6))
            scene.now = begun + timedelta(minutes=1)
            plane.doubt(partition)
            plane.trust_if_new(item, begun + timedelta(seconds=6))
            assert not plane.fence.is_verified(item)
            plane.trust_if_new(item, scene.now + timedelta(seconds=6))
            assert plane.fence.is_verified(item)

    run(play())
