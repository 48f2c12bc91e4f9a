"""The bus on a real NATS that is killed, wiped, silent, robbed of its stream, or fed with nonsense."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client

from manta_common.bus.channel import Channel, State, call_subject
from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Batch, Entry
from manta_common.bus.settings import BusSettings
from manta_common.errors import Conflict, Retry, Unreachable
from manta_common.keys import Key
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.parts.nats_cluster import NatsCluster
from tests.parts.patience import patient
from tests.parts.relay import Relay

LIMIT_SECONDS = 60
OBJECTS = 200


class Toy(msgspec.Struct, frozen=True):
    """Something to send."""

    number: int


TOYS = Channel("toy", Toy)


class Writer:
    """Writes ever new numbers for some objects, as a careful writer does, and keeps in mind what was acknowledged."""

    def __init__(self, bus: NatsBus, partition: int) -> None:
        self._bus, self._partition = bus, partition
        self.acknowledged: dict[str, int] = {}
        self.stopping = asyncio.Event()
        self.failures = 0

    async def run(self) -> None:
        """Write until it is told to stop, each object on its own."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(OBJECTS):
                tasks.create_task(self._write(Key("default", f"toy-{number}")))

    async def _write(self, key: Key) -> None:
        subject, expect = TOYS.subject(self._partition, key), 0
        for number in itertools.count(1):
            if self.stopping.is_set():
                return
            body = TOYS.encode(State(key=key, uid="u", object=Toy(number)))
            try:
                expect = await self._bus.publish(subject, body, expect=expect)
            except Retry:
                self.failures += 1
                expect = await self._looked_up(subject)
            else:
                self.acknowledged[subject] = number

    async def _looked_up(self, subject: str) -> int:
        """The sequence to go on from, once it can be had."""

        async def look() -> int | None:
            try:
                last = await self._bus.last(subject)
            except Retry:
                return None
            return last.sequence if last else 0

        return await eventually(f"{subject} can be read", look, limit_seconds=LIMIT_SECONDS)


class Reader:
    """Follows a partition as a feed does: a fresh reading is built aside and swapped in when it is caught up."""

    def __init__(self, bus: NatsBus, partition: int) -> None:
        self._bus, self._partition = bus, partition
        self.view: dict[str, int] = {}
        self.readings = 0
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Read for ever."""
        aside: dict[str, int] = {}
        async with self._bus.replay([f"manta.v1.state.{self._partition}.>"]) as batches:
            async for batch in batches:
                if batch.fresh:
                    aside, self.readings = {}, self.readings + 1
                for message in batch.messages:
                    toy = TOYS.read(message)[1].object
                    assert toy
                    aside[message.subject] = toy.number
                if batch.caught_up:
                    self.view = aside
                    self.ready.set()


async def test_a_nats_that_is_killed_loses_nothing_and_everyone_goes_on(own_nats: Nats) -> None:
    async with (
        open_bus(BusSettings(urls=(own_nats.url,))) as written,
        open_bus(BusSettings(urls=(own_nats.url,))) as bus,
    ):
        writer, reader = Writer(written, 1), Reader(bus, 1)
        tasks = [asyncio.create_task(one.run()) for one in (writer, reader)]
        for _ in range(2):
            await _progress(writer)
            await asyncio.to_thread(own_nats.kill)
            await _lost(bus)
            readings = reader.readings
            await asyncio.to_thread(own_nats.restart)
            await _progress(writer)
            await _read_again(reader, readings)
        await _settled(writer, reader, tasks)
    assert writer.failures > 0


async def test_a_writer_that_never_pauses_does_not_keep_the_connection_from_being_made_again(own_nats: Nats) -> None:
    written, stopping = 0, asyncio.Event()

    async def write(bus: NatsBus, number: int) -> None:
        nonlocal written
        while not stopping.is_set():
            with contextlib.suppress(Retry):
                await bus.publish(f"manta.v1.state.1.plain.toy.default.{number}", b"")
                written += 1

    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus, asyncio.TaskGroup() as tasks:
        for number in range(100):
            tasks.create_task(write(bus, number))
        for _ in range(3):
            await asyncio.to_thread(own_nats.restart)
            before = written

            async def more(before: int = before) -> bool | None:
                return written > before + 1000 or None

            await eventually("it writes on", more, limit_seconds=LIMIT_SECONDS)
        stopping.set()


async def test_a_leader_killed_while_it_is_written_to_loses_nothing(nats_cluster: NatsCluster) -> None:
    settings = BusSettings(urls=tuple(nats_cluster.urls), replicas=3)
    partition = time.monotonic_ns() % 10**9
    async with open_bus(settings) as written, open_bus(settings) as bus:
        writer, reader = Writer(written, partition), Reader(bus, partition)
        tasks = [asyncio.create_task(one.run()) for one in (writer, reader)]
        await _progress(writer)
        leader = await asyncio.to_thread(nats_cluster.leader, "MANTA_STATE")
        await asyncio.to_thread(nats_cluster.kill, leader)
        try:
            await _progress(writer)
        finally:
            await asyncio.to_thread(nats_cluster.restart, leader)
        await _settled(writer, reader, tasks)


async def test_wiped_data_is_noticed_and_the_stream_is_there_again(own_nats: Nats) -> None:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        subject = TOYS.subject(1, Key("default", "a"))
        async with bus.replay([TOYS.filter()]) as batches:
            for _ in range(5):
                await bus.publish(subject, b"{}")
            before = await bus.state()
            await asyncio.to_thread(own_nats.wipe)

            async def changed() -> bool | None:
                try:
                    after = await bus.state()
                except Retry:
                    return None
                return (after.created_at != before.created_at and after.last < before.last) or None

            assert await eventually("the stream is a new one", changed, limit_seconds=LIMIT_SECONDS)
            found = await _until(batches, lambda batch: batch.fresh and batch.caught_up and not batch.messages)
            assert found.caught_up
            assert await bus.publish(subject, b"{}", expect=0) == 1


async def test_a_stream_that_was_removed_is_made_again(own_nats: Nats) -> None:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        await bus.publish("manta.v1.state.1.plain.toy.default.a", b"one")
        await _ask(own_nats.url, "$JS.API.STREAM.DELETE.MANTA_STATE")

        async def published() -> int | None:
            try:
                return await bus.publish("manta.v1.state.1.plain.toy.default.a", b"two")
            except Unreachable:
                return None

        assert await eventually("it can be written to again", published, limit_seconds=LIMIT_SECONDS) == 1


async def test_a_consumer_that_was_removed_is_replaced_by_a_fresh_reading(own_nats: Nats) -> None:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        await bus.publish("manta.v1.state.1.plain.toy.default.a", b"one")
        async with bus.replay(["manta.v1.state.1.>"]) as batches:
            assert (await _until(batches, lambda batch: batch.caught_up)).fresh
            listed = await _ask(own_nats.url, "$JS.API.CONSUMER.NAMES.MANTA_STATE")
            for name in listed["consumers"]:
                await _ask(own_nats.url, f"$JS.API.CONSUMER.DELETE.MANTA_STATE.{name}")
            again = await _until(batches, lambda batch: batch.fresh)
    assert [message.body for message in again.messages] == [b"one"]


async def test_a_silent_connection_is_noticed_and_replaced(own_nats: Nats) -> None:
    async with Relay.to(*own_nats.address) as relay:
        settings = BusSettings(urls=(f"nats://127.0.0.1:{relay.port}",), publish_limit_seconds=2)
        async with open_bus(settings) as bus, bus.replay(["manta.v1.state.1.>"]) as batches:
            await _until(batches, lambda batch: batch.caught_up)
            relay.fall_silent()
            began = time.monotonic()
            with pytest.raises(Unreachable):
                await bus.publish("manta.v1.state.1.plain.toy.default.a", b"lost")
            await _lost(bus)
            noticed_seconds = time.monotonic() - began
            relay.speak_again()
            await _published(bus, "manta.v1.state.1.plain.toy.default.a", b"again")
            found = await _until(batches, lambda batch: any(one.body == b"again" for one in batch.messages))
    assert noticed_seconds < patient(10)
    assert found.messages


async def test_a_slow_reader_gets_everything_and_the_server_holds_it_meanwhile(own_nats: Nats) -> None:
    count, body, settings = 12_000, bytes(2000), BusSettings(urls=(own_nats.url,))
    async with open_bus(settings) as bus, open_bus(settings) as other, bus.replay(["manta.v1.state.1.>"]) as batches:
        assert (await _next(batches)).caught_up
        await _write_many(other, count, body)
        [consumer] = (await _ask(own_nats.url, "$JS.API.CONSUMER.LIST.MANTA_STATE"))["consumers"]
        sequences: list[int] = []
        while len(sequences) < count:
            batch = await _next(batches)
            assert not batch.fresh
            sequences += [message.sequence for message in batch.messages]
    assert sequences == list(range(1, count + 1))
    assert consumer["num_pending"] > count * 3 / 4


async def test_a_poison_message_is_skipped(own_nats: Nats) -> None:
    keys = [Key("default", name) for name in ("good", "bytes", "newer", "liar", "fine")]
    newer = msgspec.json.encode({"schema": 99, "name": "newer", "namespace": "default", "uid": "u", "object": {}})
    bodies = {"bytes": b"z\x00\x01", "newer": newer, "liar": TOYS.encode(State(key=keys[0], uid="u", object=Toy(1)))}
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        for key in keys:
            good = TOYS.encode(State(key=key, uid="u", object=Toy(7)))
            await bus.publish(TOYS.subject(1, key), bodies.get(key.name, good))
        async with bus.replay([TOYS.filter(1)]) as batches:
            batch = await _until(batches, lambda batch: batch.caught_up)
    read, skipped = [], 0
    for message in batch.messages:
        try:
            read.append(TOYS.read(message)[1].key.name)
        except Poison:
            skipped += 1
    assert (read, skipped) == (["good", "fine"], 3)


async def test_a_watch_goes_on_after_a_restart_within_seconds(own_nats: Nats) -> None:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        bucket = bus.bucket("manta_members")
        await bucket.put("svc.stays", b"", expect=0)
        await bucket.put("svc.expires", b"", expect=0, ttl_seconds=1)
        async with bucket.watch() as entries:
            await _entry(entries, lambda entry: entry is None)
            await asyncio.to_thread(own_nats.restart)
            began = time.monotonic()
            await _put(bus, "svc.new")
            await _entry(entries, lambda entry: entry is not None and entry.key == "svc.new")
            seconds = time.monotonic() - began
    assert seconds < patient(5)


async def test_a_watch_tells_what_went_while_nats_was_away(own_nats: Nats) -> None:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        bucket = bus.bucket("manta_members")
        await bucket.put("svc.lost", b"", expect=0)
        async with bucket.watch() as entries:
            await _entry(entries, lambda entry: entry is None)
            await asyncio.to_thread(own_nats.wipe)
            lost = await _entry(entries, lambda entry: entry is not None and entry.value is None)
    assert lost is not None
    assert lost.key == "svc.lost"


async def test_a_service_answers_again_after_a_restart(own_nats: Nats) -> None:
    async def shout(question: bytes, _: Mapping[str, str]) -> bytes:
        return question.upper()

    settings = BusSettings(urls=(own_nats.url,))
    async with open_bus(settings) as served, open_bus(settings) as bus:
        await served.serve("dashboard", {"shout": shout})
        await asyncio.to_thread(own_nats.restart)

        async def answered() -> bytes | None:
            try:
                return await bus.request(call_subject("dashboard", "shout"), b"on", limit_seconds=2)
            except Unreachable:
                return None

        assert await eventually("the service answers", answered, limit_seconds=LIMIT_SECONDS) == b"ON"


async def _progress(writer: Writer) -> None:
    """Until every object was written at least once more."""
    before = dict(writer.acknowledged)

    async def written() -> bool | None:
        now = writer.acknowledged
        return (len(now) == OBJECTS and all(now[one] > before.get(one, 0) for one in now)) or None

    await eventually("every object was written again", written, limit_seconds=LIMIT_SECONDS)


async def _read_again(reader: Reader, before: int) -> None:
    """Until the reader has begun a further reading."""

    async def begun() -> bool | None:
        return reader.readings > before or None

    await eventually("a fresh reading began", begun, limit_seconds=LIMIT_SECONDS)


async def _settled(writer: Writer, reader: Reader, tasks: list[asyncio.Task[None]]) -> None:
    """Stop writing: nothing that was acknowledged may be missing in the reader's view."""
    writer.stopping.set()
    await asyncio.wait_for(tasks[0], patient(LIMIT_SECONDS))

    async def same() -> bool | None:
        assert not tasks[1].done(), tasks[1].exception()
        return all(reader.view.get(one, 0) >= number for one, number in writer.acknowledged.items()) or None

    await eventually("the reader has what was acknowledged", same, limit_seconds=LIMIT_SECONDS)
    tasks[1].cancel()
    await asyncio.wait(tasks[1:])


async def _lost(bus: NatsBus) -> None:
    async def lost() -> bool | None:
        return not bus.connected or None

    await eventually("the loss is noticed", lost, limit_seconds=LIMIT_SECONDS)


async def _published(bus: NatsBus, subject: str, body: bytes) -> None:
    async def published() -> int | None:
        try:
            return await bus.publish(subject, body)
        except Unreachable:
            return None

    await eventually(f"{subject} is published", published, limit_seconds=LIMIT_SECONDS)


async def _put(bus: NatsBus, key: str) -> None:
    async def put() -> bool | None:
        try:
            await bus.bucket("manta_members").put(key, b"", expect=0)
        except Conflict:
            return True
        except Unreachable:
            return None
        return True

    await eventually(f"{key} is put", put, limit_seconds=LIMIT_SECONDS)


async def _write_many(bus: NatsBus, count: int, body: bytes) -> None:
    for start in range(0, count, 1000):
        places = [f"manta.v1.state.1.plain.toy.default.{start + number}" for number in range(1000)]
        await asyncio.gather(*(bus.publish(place, body) for place in places))


async def _until(batches: AsyncIterator[Batch], found: Callable[[Batch], bool]) -> Batch:
    while True:
        batch = await _next(batches)
        if found(batch):
            return batch


async def _next(batches: AsyncIterator[Batch]) -> Batch:
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        return await anext(batches)


async def _entry(entries: AsyncIterator[Entry | None], found: Callable[[Entry | None], bool]) -> Entry | None:
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        while True:
            entry = await anext(entries)
            if found(entry):
                return entry


async def _ask(url: str, subject: str) -> dict[str, Any]:
    """One call of JetStream's own, by other means than the bus."""
    client = Client()
    await client.connect(url)
    answer = await client.request(subject, timeout=patient(5))
    await client.close()
    return msgspec.json.decode(answer.data, type=dict)
