"""Hundreds of messages of any bytes on a real NATS: a gateway that is there goes on, and one that comes begins."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.dashboard import calls
from manta_common.keys import Key
from manta_common.ownership.settings import Times
from tests.parts.gateway_world import World
from tests.parts.mangling import FACTOR, encoded, mangled, mangled_token, sample
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_jobs import JobScript

MESSAGES, TOGETHER = 300, 10
LIMIT_SECONDS = 60
TIMES = Times(ttl_seconds=2, renew_seconds=0.5, fence_seconds=1.5)  # who is no member is not waited for so long
HELLO = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}\r\n'
QUESTION = encoded({**sample(calls.AboutJob), "cluster": {"namespace": "default", "name": "ray"}})
OBJECT = encoded({"schema": 1, "namespace": "default", "name": "ray", "uid": "u", "version": "1", "object": {}})
PLACES = {
    "manta.v1.state.1.plain.raycluster.default.ray": OBJECT,
    "manta.v1.state.1.plain.rayjob.default.a": OBJECT,
    "manta.v1.state.1.plain.jobinfo.default.a": OBJECT,
    "manta.v1.state.1.plain.serveinfo.default.ray": OBJECT,
    "$KV.manta_members.dashboard-gateway.0123456789abcdef": b'{"leaving":false}',
    "$KV.manta_shards.dashboard-gateway.3": b"0123456789abcdef",
    "manta.v1.call.dashboard.get": QUESTION,
    "manta.v1.call.dashboard.list": QUESTION,
    "$SRV.PING": b"",
}
HEADERS = b"NATS/1.0\r\nManta-Seen: 12.5\r\nManta-TTL: 6.0\r\ntraceparent: 00-1-2-01\r\nNats-Msg-Id: 1\r\n\r\n"
# What no client library lets one say, and the server takes.
WORST = [b"\xff\xfe", b"a\x0bb", b"a\x1fb", "a\u00a0b".encode(), b"a\x00b", b"b@d", b"07"]


@pytest.fixture
async def bus(own_nats: Nats) -> AsyncIterator[NatsBus]:
    """A connection to a NATS that is full of noise afterwards."""
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        yield bus


async def test_gateways_go_on_whatever_is_on_the_bus(
    bus: NatsBus, own_nats: Nats, stub_dashboard: StubDashboard
) -> None:
    world, url = World(bus), stub_dashboard.dashboard_url
    [before, after, late] = stub_dashboard.add(3, JobScript(seconds=36_000))
    await world.cluster("ray", url)
    async with open_bus(BusSettings(urls=(own_nats.url,))) as one, world.gateway(one, times=TIMES):
        await world.job("before", "ray", before)
        await world.said("before", status="RUNNING")
        await shout(own_nats, noise(random.Random(0)))
        await world.cluster("ray", url)  # as the watcher does, which says again what is so
        await follows(world, "after", after)
    async with open_bus(BusSettings(urls=(own_nats.url,))) as other, world.gateway(other, times=TIMES):
        await follows(world, "late", late)


async def follows(world: World, name: str, job_id: str) -> None:
    """Wait until a new job is followed, and a call is answered."""
    await world.job(name, "ray", job_id)
    assert (await world.said(name, status="RUNNING")).job_id == job_id
    question = calls.AboutJob(cluster=Key("default", "ray"), job_id=job_id, limit_seconds=calls.LONGEST_SECONDS)
    assert (await world.dashboards.get(question)).status == "RUNNING"


def noise(chance: random.Random) -> list[bytes]:
    """Messages as a client sends them, each with something wrong."""
    worst = [b".".join([*place.encode().split(b".")[:-1], name]) for place in PLACES for name in WORST]
    said = [published(subject, b"_INBOX.x", HEADERS, b"{}") for subject in worst]
    for _ in range(MESSAGES * FACTOR):
        place = chance.choice([*PLACES])
        subject, body, headers = place.encode(), PLACES[place], HEADERS
        if chance.random() < 0.3:
            parts = place.split(".")
            subject = b".".join([*map(str.encode, parts[:-1]), mangled_token(parts[-1], chance.getrandbits(48))])
        if chance.random() < 0.5:
            headers = mangled(HEADERS, chance.getrandbits(48))[:3000]
        if chance.random() < 0.8:
            body = mangled(body, chance.getrandbits(48))
        reply = chance.choice([b"_INBOX.x", b"", mangled_token("_INBOX", chance.getrandbits(48))])
        said.append(published(subject, reply, headers, body))
    return said


def published(subject: bytes, reply: bytes, headers: bytes, body: bytes) -> bytes:
    """A message in the words of NATS."""
    sizes = b"%d %d" % (len(headers), len(headers) + len(body))
    return b" ".join([b"HPUB", subject, *([reply] if reply else []), sizes]) + b"\r\n" + headers + body + b"\r\n"


async def shout(nats: Nats, said: list[bytes]) -> None:
    """Send it all; where the server hangs up, go on behind that."""
    place = urlsplit(nats.url)
    for at in range(0, len(said), TOGETHER):
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        async with asyncio.timeout(patient(LIMIT_SECONDS)):
            writer.write(HELLO + b"".join(said[at : at + TOGETHER]) + b"PING\r\n")
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await reader.readuntil(b"PONG\r\n")
        writer.close()
