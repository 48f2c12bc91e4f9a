"""What the bus serves is a NATS micro service: the tools of NATS find it and read what it says."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.micro.service import ServiceInfo, ServicePing, ServiceStats

from manta_common.bus.channel import call_subject
from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.errors import NotFound
from tests.parts.nats import Nats
from tests.parts.patience import patient

LIMIT_SECONDS = 10


async def _shout(question: bytes, _: Mapping[str, str]) -> bytes:
    return question.upper()


async def _fail(_question: bytes, _headers: Mapping[str, str]) -> bytes:
    raise NotFound("no such job")


@pytest.fixture
def service() -> str:
    """The name of a service that no other test uses."""
    return f"test-{secrets.token_hex(4)}"


@pytest.fixture
async def client(nats: Nats, service: str) -> AsyncIterator[Client]:
    """A plain client beside two replicas of a service."""
    settings, plain = BusSettings(urls=(nats.url,)), Client()
    async with open_bus(settings) as one, open_bus(settings) as other:
        for bus in (one, other):
            await bus.serve(service, {"shout": _shout, "fail": _fail})
        await plain.connect(nats.url)
        yield plain
        await plain.close()


async def test_every_replica_answers_a_ping(client: Client, service: str) -> None:
    pings = [ServicePing.from_dict(answer) for answer in await _answers(client, f"$SRV.PING.{service}", 2)]
    assert {ping.name for ping in pings} == {service}
    assert len({ping.id for ping in pings}) == 2


async def test_a_ping_to_everyone_is_answered_too(client: Client, service: str) -> None:
    answers = await _answers(client, "$SRV.PING", 2)
    assert service in {ServicePing.from_dict(answer).name for answer in answers}


async def test_one_replica_can_be_asked_by_its_id(client: Client, service: str) -> None:
    [first, _] = [ServicePing.from_dict(answer) for answer in await _answers(client, f"$SRV.PING.{service}", 2)]
    answer = await client.request(f"$SRV.INFO.{service}.{first.id}", timeout=patient(LIMIT_SECONDS))
    info = ServiceInfo.from_dict(json.loads(answer.data))
    assert info.id == first.id
    assert {endpoint.subject for endpoint in info.endpoints} == {
        call_subject(service, "shout"),
        call_subject(service, "fail"),
    }
    assert {endpoint.queue_group for endpoint in info.endpoints} == {"q"}


async def test_an_error_is_an_answer_in_the_words_of_the_micro_protocol(client: Client, service: str) -> None:
    answer = await client.request(call_subject(service, "fail"), timeout=patient(LIMIT_SECONDS))
    assert answer.headers is not None
    assert answer.headers["Nats-Service-Error"] == "no such job"
    assert answer.headers["Nats-Service-Error-Code"] == "404"


async def test_calls_and_errors_are_counted(client: Client, service: str) -> None:
    for verb in ("shout", "fail", "shout"):
        await client.request(call_subject(service, verb), b"a", timeout=patient(LIMIT_SECONDS))
    stats = [ServiceStats.from_dict(_padded(one)) for one in await _answers(client, f"$SRV.STATS.{service}", 2)]
    counted = {
        verb: (
            sum(endpoint.num_requests for one in stats for endpoint in one.endpoints if endpoint.name == verb),
            sum(endpoint.num_errors for one in stats for endpoint in one.endpoints if endpoint.name == verb),
        )
        for verb in ("shout", "fail")
    }
    assert counted == {"shout": (2, 0), "fail": (1, 1)}


async def _answers(client: Client, subject: str, count: int) -> list[dict[str, Any]]:
    """As many answers to one question as there are replicas."""
    found: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox, cb=found.put)
    await client.publish(subject, reply=inbox)
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        answers = [json.loads((await found.get()).data) for _ in range(count)]
    await subscription.unsubscribe()
    return answers


def _padded(stats: dict[str, Any]) -> dict[str, Any]:
    """The library insists on a field that the protocol calls optional."""
    return {**stats, "endpoints": [{"data": None, **endpoint} for endpoint in stats["endpoints"]]}
