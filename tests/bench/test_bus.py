"""How fast the bus is, side by side with plain calls of the client library on the same server.

The figures are messages for each second of our own processor time, that is on one core: what the server needs, and
what else the machine does, is not counted. The time on the wall is printed beside them.
"""

import asyncio
import pathlib
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, NamedTuple

import nats
import pytest
import uvloop
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from tests.parts import nats as nats_part
from tests.parts.ports import free_ports
from tests.parts.server import Native, data_folder, fresh_folder

MESSAGES = 20_000
SYNCED_MESSAGES = 2_000
BODY = bytes(600)  # a trimmed pod
AT_ONCE = 512
ROUNDS = 5
PUBLISH_GOAL, REPLAY_GOAL = 20_000, 40_000
SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
UP_LIMIT_SECONDS = 30

Round = Callable[[], Awaitable[int]]


class Rate(NamedTuple):
    """Messages a second: of processor time, and on the wall."""

    on_one_core: float
    on_the_wall: float


@pytest.fixture(params=[False, True], ids=["written to disk later", "every message synced to disk"])
def server(request: pytest.FixtureRequest, parts_folder: pathlib.Path) -> Iterator[tuple[str, bool]]:
    """A NATS on the disk, and whether it waits for the disk before it acknowledges."""
    folder, port = fresh_folder(parts_folder, "nats"), free_ports(1)[0]
    config = nats_part.settings(f"127.0.0.1:{port}", str(data_folder(folder)))
    synced = config.replace("jetstream {", "jetstream {\n  sync_interval: always")
    program: Native = nats_part.native(folder, port, synced if request.param else config)
    program.start()
    program.wait_until(
        "it can be used", lambda: nats_part.has_jetstream(("127.0.0.1", port)), limit_seconds=UP_LIMIT_SECONDS
    )
    yield f"nats://127.0.0.1:{port}", request.param
    program.stop()


def test_publishing(server: tuple[str, bool]) -> None:
    url, synced = server
    count = SYNCED_MESSAGES if synced else MESSAGES
    ours = _run(_publish_by_bus(url, count))
    plain = _run(_publish_by_library(url, count))
    _tell(f"state publishes, {'every message synced to disk' if synced else 'written to disk later'}", ours, plain)
    assert ours.on_one_core > plain.on_one_core
    assert synced or ours.on_one_core >= PUBLISH_GOAL  # with a sync for each message the disk is the measure


def test_replaying(server: tuple[str, bool]) -> None:
    url, synced = server
    _run(_fill(url))
    ours = _run(_replay_by_bus(url))
    plain = _run(_replay_by_library(url))
    _tell(f"messages replayed, {'every message synced to disk' if synced else 'written to disk later'}", ours, plain)
    assert ours.on_one_core > plain.on_one_core
    assert ours.on_one_core >= REPLAY_GOAL


async def _publish_by_bus(url: str, count: int) -> Rate:
    async with open_bus(BusSettings(urls=(url,))) as bus:
        sequences = [0] * count

        async def write(number: int) -> None:
            sequences[number] = await bus.publish(_subject(0, number), BODY, expect=sequences[number])

        return await _measured(lambda: _many(write, count))


async def _publish_by_library(url: str, count: int) -> Rate:
    """`publish_async`, its fastest way, with as many under way."""
    client = await nats.connect(url)
    jetstream, sequences = client.jetstream(), [0] * count

    async def write(number: int) -> None:
        headers = {SEQUENCE: str(sequences[number])}
        acknowledged = await jetstream.publish_async(_subject(1, number), BODY, headers=headers)
        sequences[number] = (await acknowledged).seq

    rate = await _measured(lambda: _many(write, count))
    await client.close()
    return rate


async def _fill(url: str) -> None:
    async with open_bus(BusSettings(urls=(url,))) as bus:

        async def write(number: int) -> None:
            await bus.publish(_subject(2, number), BODY, expect=0)

        await _many(write, MESSAGES)


async def _replay_by_bus(url: str) -> Rate:
    async with open_bus(BusSettings(urls=(url,))) as bus:
        return await _measured(lambda: _replayed(bus))


async def _replayed(bus: NatsBus) -> int:
    found = 0
    async with bus.replay(["manta.v1.state.2.>"]) as batches:
        async for batch in batches:
            found += len(batch.messages)
            if batch.caught_up:
                break
    return found


async def _replay_by_library(url: str) -> Rate:
    """A pull consumer and `fetch`, its fastest way that bounds what is under way."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)

    async def replay() -> int:
        subscription = await jetstream.pull_subscribe("manta.v1.state.2.>", stream="MANTA_STATE", config=config)
        found = 0
        while found < MESSAGES:
            found += len(await subscription.fetch(500, timeout=10))
        await subscription.unsubscribe()
        return found

    rate = await _measured(replay)
    await client.close()
    return rate


async def _many(write: Callable[[int], Awaitable[None]], count: int) -> int:
    async def some(first: int) -> None:
        for number in range(first, count, AT_ONCE):
            await write(number)

    await asyncio.gather(*(some(first) for first in range(AT_ONCE)))
    return count


async def _measured(one_round: Round) -> Rate:
    """The median of several rounds."""
    rates = [await _one(one_round) for _ in range(ROUNDS)]
    return Rate(*(statistics.median(column) for column in zip(*rates, strict=True)))


async def _one(one_round: Round) -> Rate:
    wall, processor = time.perf_counter(), time.process_time()
    count = await one_round()
    return Rate(count / (time.process_time() - processor), count / (time.perf_counter() - wall))


def _subject(partition: int, number: int) -> str:
    return f"manta.v1.state.{partition}.plain.pod.default.pod-{number}"


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _tell(what: str, ours: Rate, plain: Rate) -> None:
    sys.stdout.write(
        f"\n{what}: {ours.on_one_core:,.0f}/s on one core ({ours.on_the_wall:,.0f}/s on the wall);"
        f" nats-py {plain.on_one_core:,.0f}/s ({plain.on_the_wall:,.0f}/s);"
        f" {ours.on_one_core / plain.on_one_core:.1f} times as fast\n"
    )
