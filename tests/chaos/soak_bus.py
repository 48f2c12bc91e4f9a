"""What a soak leaves on the bus: members, claims, the state of every object, and who reads it."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from nats.aio.client import Client

from manta_common.bus.channel import STATE_PREFIX, Channel, word_of
from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.protocol import MEMBERS, SHARDS, Message
from manta_common.bus.settings import BusSettings
from manta_common.bus.stream import STATE_STREAM, stream_of
from manta_common.partitions import PARTITIONS
from tests.chaos.soak_feed import REPORTS, Known, compared
from tests.chaos.soak_services import FOLLOWED, WATCHER, WIDE_SOURCES
from tests.parts.patience import patient

LIMIT_SECONDS: Final = 30.0
CALL_SECONDS: Final = 5.0
LOOKED_AT: Final = 500  # tombstones; a look at each takes a call
TIME_TO_LIVE: Final = b"Nats-TTL:"
STREAMS: Final = (STATE_STREAM, stream_of(MEMBERS), stream_of(SHARDS))


class Bus(msgspec.Struct, frozen=True, kw_only=True):
    """What is there."""

    members: Sequence[str]  # service and name
    claims: Mapping[str, str]  # owners by service and partition
    standing: Mapping[str, Known]  # what the stream says that there is, by kind
    twice: Sequence[str]  # what stands in two partitions
    tombstones: int
    immortal: Sequence[str]  # tombstones that do not expire
    readers: Mapping[str, int]  # consumers of each stream


def look(url: str) -> Bus:
    """What is there now."""
    return asyncio.run(_look(url))


def bus_complaints(bus: Bus, listed: Mapping[str, Known], *, replicas: int) -> list[str]:
    """What should not be there, and what is missing, when so many replicas of each service live."""
    return [
        *_of_members(bus, replicas),
        *_of_claims(bus),
        *(
            said
            for word in (*listed, *REPORTS)
            for said in compared("the stream", bus.standing.get(word, {}), word, listed)
        ),
        *(f"the stream: {one} stands there twice" for one in bus.twice),
        *(f"the stream: the tombstone {subject} stays for ever" for subject in bus.immortal),
        *_of_readers(bus, replicas),
    ]


def _of_members(bus: Bus, replicas: int) -> Iterator[str]:
    services = [member.partition(".")[0] for member in bus.members]
    for service in sorted({*services, *FOLLOWED, WATCHER}):
        most = replicas if service in FOLLOWED or service == WATCHER else 0
        if services.count(service) != most:
            yield f"{services.count(service)} members of {service}, not {most}"


def _of_claims(bus: Bus) -> Iterator[str]:
    wanted = {f"{plane}.{partition}" for plane in FOLLOWED for partition in range(PARTITIONS)} | {f"{WATCHER}.0"}
    for key in sorted(wanted ^ bus.claims.keys()):
        yield f"the claim {key} is {'missing' if key in wanted else 'there'}"
    for key, owner in sorted(bus.claims.items()):
        if f"{key.partition('.')[0]}.{owner}" not in bus.members:
            yield f"{key} belongs to {owner or 'nobody'}, who is no member"


def _of_readers(bus: Bus, replicas: int) -> Iterator[str]:
    """One consumer for each partition of each plane, one for each view of all partitions, and the watcher's own."""
    owners = replicas * (len(FOLLOWED) + 1)
    wanted = {STATE_STREAM: PARTITIONS * len(FOLLOWED) + replicas * len(WIDE_SOURCES) + 1}
    wanted |= {stream_of(MEMBERS): owners, stream_of(SHARDS): owners}
    for stream, count in wanted.items():
        if bus.readers[stream] != count:
            yield f"{stream} has {bus.readers[stream]} consumers, not {count}"


async def _look(url: str) -> Bus:
    async with asyncio.timeout(patient(LIMIT_SECONDS)), _client(url) as client:
        readers = {stream: await _readers(client, stream) for stream in STREAMS}
        async with open_bus(BusSettings(urls=(url,))) as bus:
            messages = await _messages(bus)
            members, claims = await _entries(bus, MEMBERS), await _entries(bus, SHARDS)
        standing, twice, tombstones = _told(messages)
        immortal = [one for one in tombstones[-LOOKED_AT:] if not await _expires(client, one)]
    return Bus(
        members=sorted(members),
        claims={key: value.decode() for key, value in claims.items()},
        standing=standing,
        twice=twice,
        tombstones=len(tombstones),
        immortal=immortal,
        readers=readers,
    )


def _told(messages: Sequence[Message]) -> tuple[dict[str, dict[str, str]], list[str], list[str]]:
    """What stands in the stream, what stands there twice, and the subjects of tombstones."""
    standing: dict[str, dict[str, str]] = {}
    twice, tombstones = [], []
    for message in messages:
        word = word_of(message.subject)
        _, state = Channel(word, dict[str, Any]).read(message)
        known = standing.setdefault(word, {})
        if state.object is None:
            tombstones.append(message.subject)
        elif str(state.key) in known:
            twice.append(message.subject)
        else:
            known[str(state.key)] = f"{state.uid} {state.version}"
    return standing, twice, tombstones


async def _messages(bus: NatsBus) -> list[Message]:
    found: dict[str, Message] = {}
    async with bus.replay([f"{STATE_PREFIX}.>"]) as batches:
        async for batch in batches:
            found |= {message.subject: message for message in batch.messages}
            if batch.caught_up:
                break
    return list(found.values())


async def _entries(bus: NatsBus, bucket: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    async with bus.bucket(bucket).watch() as entries:
        async for entry in entries:
            if entry is None:
                break
            if entry.value is not None:
                found[entry.key] = entry.value
    return found


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[Client]:
    client = Client()
    await client.connect(url)
    try:
        yield client
    finally:
        await client.close()


async def _readers(client: Client, stream: str) -> int:
    answer = await client.request(f"$JS.API.STREAM.INFO.{stream}", timeout=patient(CALL_SECONDS))
    count: int = msgspec.json.decode(answer.data)["state"]["consumer_count"]
    return count


async def _expires(client: Client, subject: str) -> bool:
    """Whether the last word on a subject has an end; one that has come to it by now had one."""
    body = msgspec.json.encode({"last_by_subj": subject})
    answer = await client.request(f"$JS.API.STREAM.MSG.GET.{STATE_STREAM}", body, timeout=patient(CALL_SECONDS))
    message = msgspec.json.decode(answer.data).get("message")
    return message is None or TIME_TO_LIVE in base64.b64decode(message.get("hdrs", ""))
