"""Calls: asked, answered once, errors and all."""

import asyncio
import secrets
from collections.abc import Mapping

import pytest

from manta_common.bus.channel import call_subject
from manta_common.bus.protocol import Answer, Bus
from manta_common.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    MantaError,
    NotFound,
    Refused,
    Rejected,
    Retry,
    Throttled,
    Unreachable,
)
from tests.contract.bus.conftest import Connect
from tests.parts.eventually import eventually

LIMIT_SECONDS = 10


@pytest.fixture
def service() -> str:
    """The name of a service that no other test uses."""
    return f"test-{secrets.token_hex(4)}"


async def test_a_call_is_answered(connect: Connect, service: str) -> None:
    server, client = await connect(), await connect()
    await server.serve(service, {"shout": _shout})
    await _known(client, call_subject(service, "shout"))
    assert await client.request(call_subject(service, "shout"), b"hallo", limit_seconds=LIMIT_SECONDS) == b"HALLO"


async def test_every_verb_has_its_own_answer(bus: Bus, service: str) -> None:
    async def whisper(question: bytes, _: Mapping[str, str]) -> bytes:
        return question.lower()

    await bus.serve(service, {"shout": _shout, "whisper": whisper})
    answers = [
        await bus.request(call_subject(service, verb), b"Hallo", limit_seconds=LIMIT_SECONDS)
        for verb in ("shout", "whisper")
    ]
    assert answers == [b"HALLO", b"hallo"]


async def test_nobody_there_is_unreachable(bus: Bus, service: str) -> None:
    with pytest.raises(Unreachable):
        await bus.request(call_subject(service, "shout"), b"", limit_seconds=0.3)


async def test_no_answer_in_time_is_unreachable(bus: Bus, service: str) -> None:
    async def hang(_question: bytes, _headers: Mapping[str, str]) -> bytes:
        await asyncio.Event().wait()
        return b""

    await bus.serve(service, {"hang": hang})
    with pytest.raises(Unreachable):
        await bus.request(call_subject(service, "hang"), b"", limit_seconds=0.2)


async def test_headers_reach_the_answer(bus: Bus, service: str) -> None:
    async def trace(_: bytes, headers: Mapping[str, str]) -> bytes:
        return headers["traceparent"].encode()

    await bus.serve(service, {"trace": trace})
    answer = await bus.request(
        call_subject(service, "trace"), b"", limit_seconds=LIMIT_SECONDS, headers={"traceparent": "00-1"}
    )
    assert answer == b"00-1"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(kind("what happened"), id=kind.__name__)
        for kind in (AlreadyExists, Conflict, Expired, NotFound, Retry, Unreachable)
    ]
    + [
        pytest.param(Rejected("NoSuchThing", "it cannot be"), id="Rejected"),
        pytest.param(Refused(403, "Forbidden", "it may not be"), id="Refused"),
        pytest.param(Throttled("later", retry_after_seconds=0.1), id="Throttled"),
    ],
)
async def test_an_error_comes_back_as_the_same_error(bus: Bus, service: str, error: MantaError) -> None:
    async def fail(_question: bytes, _headers: Mapping[str, str]) -> bytes:
        raise error

    await bus.serve(service, {"fail": fail})
    with pytest.raises(type(error)) as raised:
        await bus.request(call_subject(service, "fail"), b"", limit_seconds=LIMIT_SECONDS)
    assert type(raised.value) is type(error)
    assert (str(raised.value), vars(raised.value)) == (str(error), vars(error))


async def test_an_error_that_nobody_thought_of_is_refused_and_the_service_goes_on(bus: Bus, service: str) -> None:
    async def fail(_question: bytes, _headers: Mapping[str, str]) -> bytes:
        raise ZeroDivisionError("secret")

    await bus.serve(service, {"fail": fail, "shout": _shout})
    with pytest.raises(Refused, match="ZeroDivisionError") as refused:
        await bus.request(call_subject(service, "fail"), b"", limit_seconds=LIMIT_SECONDS)
    assert refused.value.code == 500
    assert "secret" not in str(refused.value)
    assert await bus.request(call_subject(service, "shout"), b"on", limit_seconds=LIMIT_SECONDS) == b"ON"


async def test_a_call_that_hangs_does_not_hold_up_others(bus: Bus, service: str) -> None:
    go_on = asyncio.Event()

    async def wait(question: bytes, _: Mapping[str, str]) -> bytes:
        if question == b"slow":
            await go_on.wait()
        return question

    await bus.serve(service, {"wait": wait})
    subject = call_subject(service, "wait")
    slow = asyncio.create_task(bus.request(subject, b"slow", limit_seconds=LIMIT_SECONDS))
    assert await bus.request(subject, b"quick", limit_seconds=LIMIT_SECONDS) == b"quick"
    assert not slow.done()
    go_on.set()
    assert await slow == b"slow"


async def test_replicas_share_the_calls(connect: Connect, service: str) -> None:
    asked: list[int] = []

    def answering(number: int) -> Answer:
        async def answer(_question: bytes, _headers: Mapping[str, str]) -> bytes:
            asked.append(number)
            return b""

        return answer

    client = await connect()
    for number in range(2):
        await (await connect()).serve(service, {"count": answering(number)})
    await _known(client, call_subject(service, "count"))
    asked.clear()
    for _ in range(20):
        await client.request(call_subject(service, "count"), b"", limit_seconds=LIMIT_SECONDS)
    assert len(asked) == 20


async def test_a_large_answer_comes_whole(bus: Bus, service: str) -> None:
    async def log(_question: bytes, _headers: Mapping[str, str]) -> bytes:
        return bytes(3_000_000)

    await bus.serve(service, {"log": log})
    answer = await bus.request(call_subject(service, "log"), b"", limit_seconds=LIMIT_SECONDS)
    assert len(answer) == 3_000_000


async def _known(client: Bus, subject: str) -> None:
    """Wait until somebody answers: of several servers each hears of a service a moment later than the one it is at."""

    async def answered() -> bytes | None:
        try:
            return await client.request(subject, b"", limit_seconds=LIMIT_SECONDS)
        except Unreachable:
            return None

    await eventually(f"{subject} is answered", answered, limit_seconds=LIMIT_SECONDS)


async def _shout(question: bytes, _: Mapping[str, str]) -> bytes:
    return question.upper()
