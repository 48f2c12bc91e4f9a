"""The stream of the toy system, looked at and written to from outside."""

import asyncio
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec
from nats.aio.client import Client

from manta_common.bus.channel import STATE_PREFIX, Channel, word_of
from manta_common.bus.nats_bus import open_bus
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Message
from manta_common.bus.settings import BusSettings
from manta_common.keys import Key
from manta_common.partitions import PARTITIONS, partition_of
from tests.integration.toy_reconciler import PARTS, TOYS
from tests.parts.patience import patient

CHANNELS: dict[str, Channel[Any]] = {source.word: source.channel for source in (TOYS, PARTS)}
LIMIT_SECONDS = 30


class Said(msgspec.Struct, frozen=True):
    """What one message says of an object; `object` is None when it says that it is gone."""

    word: str
    name: str
    partition: int
    version: int
    object: Any


class Stream:
    """What stands in the stream about one namespace."""

    def __init__(self, urls: Sequence[str], namespace: str) -> None:
        self.settings, self._namespace = BusSettings(urls=tuple(urls)), namespace

    def subject(self, word: str, name: str, toy: str) -> str:
        """Where the last word on a toy or a part stands; a part stands where its toy does."""
        partition = partition_of(Key(self._namespace, toy), PARTITIONS)
        return CHANNELS[word].subject(partition, Key(self._namespace, name))

    def said(self) -> list[Said]:
        """The last word on everything, tombstones too, without what cannot be read."""
        return asyncio.run(self._said())

    def standing(self) -> dict[tuple[str, str], list[int]]:
        """Every object that is there by what the stream says, and the partitions in which it stands: one each."""
        found: dict[tuple[str, str], list[int]] = {}
        for one in self.said():
            if one.object is not None:
                found.setdefault((one.word, one.name), []).append(one.partition)
        return found

    def publish(self, subject: str, body: bytes) -> None:
        """Write something into the stream that no watcher would."""
        asyncio.run(self._publish(subject, body))

    def purge(self) -> None:
        """Empty the stream as an administrator does: it stays the same stream."""
        asyncio.run(self._purge())

    def read(self, message: Message) -> Said | None:
        """What a message says; None when it cannot be read or is of another namespace."""
        try:
            word = word_of(message.subject)
            spot, state = CHANNELS[word].read(message)
            version = int(state.version)
        except (Poison, KeyError, ValueError):
            return None
        if state.key.namespace != self._namespace:
            return None
        return Said(word, state.key.name, spot.partition, version, state.object)

    async def _said(self) -> list[Said]:
        found: list[Said] = []
        async with (
            asyncio.timeout(patient(LIMIT_SECONDS)),
            open_bus(self.settings) as bus,
            bus.replay([f"{STATE_PREFIX}.>"]) as batches,
        ):
            async for batch in batches:
                found += [said for message in batch.messages if (said := self.read(message))]
                if batch.caught_up:
                    break
        return found

    async def _publish(self, subject: str, body: bytes) -> None:
        async with open_bus(self.settings) as bus:
            await bus.publish(subject, body)

    async def _purge(self) -> None:
        client = Client()
        await client.connect(list(self.settings.urls))
        answer = await client.request("$JS.API.STREAM.PURGE.MANTA_STATE", timeout=patient(5))
        await client.close()
        assert msgspec.json.decode(answer.data, type=dict)["success"]


class Recording:
    """Everything that is said in a stream while the block lasts, in order, in `said`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._ready, self._loop, self._stopping = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self.said: list[Said] = []

    def __enter__(self) -> "Recording":
        self._thread.start()
        assert self._ready.wait(patient(LIMIT_SECONDS))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(patient(LIMIT_SECONDS))

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._record())

    async def _record(self) -> None:
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._follow())
            await self._stopping.wait()
            following.cancel()

    async def _follow(self) -> None:
        async with open_bus(self._stream.settings) as bus, bus.replay([f"{STATE_PREFIX}.>"]) as batches:
            async for batch in batches:
                self.said += [said for message in batch.messages if (said := self._stream.read(message))]
                if batch.caught_up:
                    self._ready.set()


def in_order(said: Sequence[Said]) -> bool:
    """Whether nothing older was ever said over something newer."""
    newest: dict[tuple[str, str, int], int] = {}
    for one in said:
        place = (one.word, one.name, one.partition)
        if one.version < newest.get(place, 0):
            return False
        newest[place] = one.version
    return True
