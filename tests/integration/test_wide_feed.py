"""The feed of all partitions on a real NATS: whole or not there, the same for every replica, and without ghosts."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest

from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_common.errors import NotCaughtUp, Retry
from manta_common.ownership.settings import Times
from manta_common.plane import Means, Plane, Shape
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.unit.manta_common.boxes import BOXES, WIDE, Shelf, Toys

PARTITIONS = 16
LIMIT_SECONDS = 30
# Nobody loses a lease, on a slow machine neither: whoever had toys of another's share has seen them for good.
STEADY = Times(ttl_seconds=30, renew_seconds=0.5, fence_seconds=20, look_seconds=0.1)


class Replica(Toys):
    """One replica of the service, on a connection of its own."""

    def colours(self) -> dict[str, str] | None:
        """The boxes that it knows of, or None while it does not know all."""
        try:
            boxes = self.plane.everywhere.of(BOXES)
        except NotCaughtUp:
            return None
        return {held.key.name: held.object.colour for held in boxes}

    def saw_all(self, colour: str) -> bool:
        """Whether it saw the toys of its own partitions, and no others, in a box of this colour."""
        return {name for name, seen in self.seen if seen == colour} == {f"toy-{one}" for one in self.plane.owner.held}


@contextlib.asynccontextmanager
async def replica(url: str) -> AsyncIterator[Replica]:
    """A replica that works until the end of the block."""
    service = Replica()
    async with open_bus(BusSettings(urls=(url,))) as bus, asyncio.TaskGroup() as group:
        means = Means(bus=bus, now=lambda: datetime.now(UTC), clock=SystemClock(), chance=random.Random())
        service.plane = Plane(means, service, Shape(partitions=PARTITIONS, times=STEADY), wide=WIDE)
        group.create_task(service.plane.run())
        yield service
        service.plane.stop()


@pytest.fixture
async def bus(own_nats: Nats) -> AsyncIterator[NatsBus]:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        yield bus


async def test_each_replica_knows_all_boxes_and_looks_after_its_own_toys(own_nats: Nats, bus: NatsBus) -> None:
    shelf = Shelf(bus)
    await shelf.box(0, "box", "red")
    for partition in range(PARTITIONS):
        await shelf.toy(partition, f"toy-{partition}", "box")
    async with replica(own_nats.url) as one, replica(own_nats.url) as other:
        await until("the partitions are shared", lambda: _share(one, other))
        await until("both know the box", lambda: one.colours() == other.colours() == {"box": "red"})
        await shelf.box(0, "box", "blue")
        await until("every toy was looked at", lambda: one.saw_all("blue") and other.saw_all("blue"))


async def test_what_a_lost_stream_held_does_not_survive_as_a_ghost(own_nats: Nats, bus: NatsBus) -> None:
    shelf = Shelf(bus)
    await shelf.box(0, "lost", "red")
    await shelf.toy(1, "bear", "kept")
    async with replica(own_nats.url) as service:
        await until("the box is known", lambda: service.colours() == {"lost": "red"})
        own_nats.wipe()
        await eventually("it can be written to", lambda: _written(shelf), limit_seconds=LIMIT_SECONDS)
        await until("only the new box is known", lambda: service.colours() == {"kept": "blue"})
        await shelf.toy(1, "bear", "kept")
        await until("the toy is looked at", lambda: service.seen[-1:] == [("bear", "blue")])


async def until(what: str, check: Callable[[], bool]) -> None:
    """Wait for a condition."""

    async def look() -> bool | None:
        return check() or None

    await eventually(what, look, limit_seconds=LIMIT_SECONDS)


def _share(one: Replica, other: Replica) -> bool:
    held = [service.plane.owner.held for service in (one, other)]
    return all(held) and sum(map(len, held)) == PARTITIONS and len(held[0] | held[1]) == PARTITIONS


async def _written(shelf: Shelf) -> bool | None:
    try:
        await shelf.box(0, "kept", "blue")
    except Retry:
        return None
    return True
