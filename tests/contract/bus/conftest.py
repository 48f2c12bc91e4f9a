"""The buses under test, and places in them that no other test uses."""

import contextlib
import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.protocol import Bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats

Connect = Callable[[], Awaitable[Bus]]


@pytest.fixture(params=["simulated", "nats", "nats_cluster"])
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Makes further connections to the bus under test."""
    simulated = SimulatedNats(SystemClock())
    async with contextlib.AsyncExitStack() as opened:

        async def another() -> Bus:
            if request.param == "simulated":
                return SimulatedBus(simulated)
            return await opened.enter_async_context(open_bus(_settings(request)))

        yield another


@pytest.fixture
async def bus(connect: Connect) -> Bus:
    """A connection to the bus under test."""
    return await connect()


@pytest.fixture
def partition() -> int:
    """A partition that no other test uses, for the stream may be shared."""
    return 1000 + secrets.randbelow(10**9)


@pytest.fixture
def subject(partition: int) -> Callable[[], str]:
    """Makes subjects of that partition, another one each time."""
    names = itertools.count()
    return lambda: f"manta.v1.state.{partition}.pod.default.pod-{next(names)}"


@pytest.fixture
def prefix() -> str:
    """What the keys of this test begin with, for the buckets may be shared."""
    return f"test-{secrets.token_hex(4)}."


def _settings(request: pytest.FixtureRequest) -> BusSettings:
    if request.param == "nats":
        return BusSettings(urls=(request.getfixturevalue("nats").url,))
    return BusSettings(urls=tuple(request.getfixturevalue("nats_cluster").urls), replicas=3)
