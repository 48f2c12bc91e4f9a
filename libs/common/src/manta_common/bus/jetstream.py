"""JetStream's own calls, as far as Manta needs them."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from manta_common.bus.client import Delivery
from manta_common.bus.faults import ApiError, NobodyThere, api_fault
from manta_common.bus.life import Life
from manta_common.bus.protocol import Message
from manta_common.errors import Misconfigured, NotFound, Unreachable

API_LIMIT_SECONDS = 5.0
EXPECTED_SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
TIME_TO_LIVE = "Nats-TTL"
OF_NATS = "Nats-"

T = TypeVar("T", bound="Reply")


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer of JetStream may hold."""

    error: ApiError | None = None


class Ack(Reply, frozen=True, kw_only=True):
    """The answer to a publish."""

    seq: int = 0


class Count(msgspec.Struct, frozen=True):
    """How much a stream holds."""

    messages: int = 0
    first_seq: int = 0
    last_seq: int = 0


class Stream(Reply, frozen=True, kw_only=True):
    """A stream as it is."""

    config: dict[str, Any] = {}
    created: datetime | None = None
    state: Count = Count()


class Stored(msgspec.Struct, frozen=True):
    """One message as it is stored."""

    subject: str
    seq: int
    data: str = ""
    hdrs: str = ""


class Found(Reply, frozen=True, kw_only=True):
    """The answer to a look at one message."""

    message: Stored | None = None


async def call(
    life: Life, path: str, payload: object, *, type_: type[T], limit_seconds: float = API_LIMIT_SECONDS
) -> T:
    """One call of the JetStream API; its refusals are raised."""
    subject = f"$JS.API.{path}"
    body = b"" if payload is None else msgspec.json.encode(payload)
    try:
        message = await life.mailbox.ask(subject, body, limit_seconds=limit_seconds)
    except Unreachable as error:
        raise explained(life, subject, error) from error
    reply = _read(message, type_, path)
    if reply.error:
        raise api_fault(reply.error, path)
    return reply


def explained(life: Life, subject: str, error: Unreachable) -> Unreachable | Misconfigured:
    """A silence is a matter of rights when the server said so; and JetStream may be off altogether."""
    # The library has no public way to the server's greeting, which tells whether it has JetStream.
    if isinstance(error, NobodyThere) and not life.client._server_info.get("jetstream"):
        return Misconfigured(
            "this NATS server has no JetStream: start it with `-js`, or add `jetstream {}` to its configuration"
        )
    return life.denied(subject) or error


async def last_message(life: Life, stream: str, subject: str, *, limit_seconds: float) -> Message | None:
    """The last message on a subject as the stream's leader has it, so never an old one, or None."""
    # The leader answers this, while "direct" gets are answered by any replica.
    try:
        found = await call(
            life, f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject}, type_=Found, limit_seconds=limit_seconds
        )
    except NotFound:
        return None
    stored = found.message
    if stored is None:
        return None
    try:
        raw_headers, body = base64.b64decode(stored.hdrs), base64.b64decode(stored.data)
    except ValueError as error:
        raise Unreachable(f"{stream}: an answer that is none of JetStream's: {error}") from error
    headers = own_headers(parsed_headers(raw_headers))
    return Message(subject=stored.subject, body=body, sequence=stored.seq, headers=headers)


async def next_sequence(life: Life, stream: str, subject: str, *, after: int) -> int | None:
    """The sequence of the next message on a subject (wildcards allowed) as the stream's leader has it, or None."""
    wanted = {"seq": after + 1, "next_by_subj": subject}
    try:
        found = await call(life, f"STREAM.MSG.GET.{stream}", wanted, type_=Found)
    except NotFound:
        return None
    return found.message.seq if found.message else None


def acknowledged(message: Delivery, what: str) -> int:
    """The sequence that a publish was given; its refusal is raised."""
    ack = _read(message, Ack, what)
    if ack.error:
        raise api_fault(ack.error, what)
    if ack.seq <= 0:
        raise Unreachable(f"{what}: somebody else than JetStream answered")
    return ack.seq


def _read(message: Delivery, type_: type[T], what: str) -> T:
    """An answer of JetStream. Whoever listens on the same subject may answer too, and anything."""
    try:
        return msgspec.json.decode(message.data, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreachable(f"{what}: an answer that is none of JetStream's: {error}") from error


def parsed_headers(raw: bytes) -> dict[str, str]:
    """Headers as they are stored: a line with the version, then one `Name: value` a line."""
    lines = raw.decode(errors="replace").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def own_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """The headers that the publisher gave, without those that were meant for NATS."""
    if not headers:
        return {}
    return {name: value for name, value in headers.items() if not name.startswith(OF_NATS)}
