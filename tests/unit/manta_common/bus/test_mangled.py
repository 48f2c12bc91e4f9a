"""Whatever bytes NATS brings, they are read, or are an error that Manta goes on from; what comes after is read."""

import asyncio
from contextlib import suppress
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from nats.aio.subscription import Subscription

from manta_common.bus.buckets import LIVES, NatsBucket
from manta_common.bus.channel import Channel, written
from manta_common.bus.client import Client, Delivery
from manta_common.bus.connection import Connection
from manta_common.bus.faults import ERROR, ERROR_REASON, ERROR_TYPE, MOST_CHARACTERS, answered_fault, error_headers
from manta_common.bus.jetstream import Found, Stream, _read, acknowledged
from manta_common.bus.life import Life
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Message
from manta_common.bus.reading import Consumer, Reading
from manta_common.clock import SystemClock
from manta_common.errors import Conflict, MantaError, NotFound, Refused, Rejected, Unreachable
from manta_common.telemetry.tracing import extract
from tests.parts.mangling import HUGE, SEEDS, encoded, examples, mangled, mangled_text, mangled_token, sample

LISTENED, CALLED = 7, 8
SUBJECT = "manta.v1.state.7.plain.toy.default.teddy"
HEADERS = b"NATS/1.0\r\nManta-Seen: 12.5\r\ntraceparent: 00-1-2-01\r\n\r\n"
ACK = "$JS.ACK.MANTA_STATE.name.1.20.1.1700000000000000000.5"


class Toy(msgspec.Struct, frozen=True):
    """An object of a kind of our own."""

    name: str = ""
    size: int = 0
    notes: dict[str, Any] = {}


TOYS = Channel("toy", Toy)


class Ears(Client):
    """A client without a server, with one receiver and one subscription of the library's."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[Delivery] = []
        self._receivers[LISTENED] = self.got.append
        self.called = Subscription(self, CALLED)
        self._subs[CALLED] = self.called

        async def ignore(_: Exception) -> None:
            """Whoever runs a client is told of errors."""

        self._error_cb = ignore


def line(sid: int, subject: bytes, reply: bytes, headers: bytes, body: bytes) -> bytes:
    """A message as the server sends it."""
    sizes = b"%d %d" % (len(headers), len(headers) + len(body)) if headers else b"%d" % len(body)
    parts = [b"HMSG" if headers else b"MSG", subject, b"%d" % sid, *([reply] if reply else []), sizes]
    return b" ".join(parts) + b"\r\n" + headers + body + b"\r\n"


def mangled_subject(seed: int) -> bytes:
    """A subject with one of its parts gone wrong."""
    parts = [part.encode() for part in SUBJECT.split(".")]
    parts[seed % len(parts)] = mangled_token(parts[seed % len(parts)].decode(), seed)
    return b".".join(parts)


@examples(300)
@given(seed=SEEDS, place=SEEDS)
def test_a_message_of_any_bytes_arrives_and_so_does_the_next(seed: int, place: int) -> None:
    async def play() -> None:
        ears, subject = Ears(), mangled_subject(place)
        reply = mangled_token("_INBOX", seed) if seed % 3 else b""
        stream = line(LISTENED, subject, reply, mangled(HEADERS, seed), b"one")
        stream += line(LISTENED, SUBJECT.encode(), b"", HEADERS, b"two")
        cut = seed % len(stream)
        await ears._ps.parse(stream[:cut])
        await ears._ps.parse(stream[cut:])
        assert [one.data for one in ears.got] == [b"one", b"two"]
        assert all(isinstance(one.headers, dict) for one in ears.got)
        assert ears.got[0].subject == subject.decode(errors="replace")

    asyncio.run(play())


@examples(300)
@given(seed=SEEDS)
def test_a_call_with_headers_of_any_bytes_does_not_end_the_reading(seed: int) -> None:
    async def play() -> None:
        ears, subject = Ears(), b"manta.v1.call.dashboard.get"
        reply = mangled_token("_INBOX", seed).translate(None, b"\x0b\x0c") or b"x"  # the library reads these as spaces
        await ears._ps.parse(line(CALLED, subject, reply, mangled(HEADERS, seed) or b"\r\n", b"one"))
        await ears._ps.parse(line(CALLED, subject, b"_INBOX.x", HEADERS, b"two"))
        waiting = ears.called._pending_queue
        assert [waiting.get_nowait().data for _ in range(waiting.qsize())][-1] == b"two"

    asyncio.run(play())


@pytest.mark.parametrize(
    "name",
    [b"\xff\xfe", b"a\x0bb", b"a\x1fb", "a\u00a0b".encode(), b"a\x00b", "٣".encode()],
    ids=["no text", "a tab of another kind", "a separator", "a space that does not break", "nothing", "a digit"],
)
def test_a_subject_that_the_server_takes_and_no_object_has_is_poison(name: bytes) -> None:
    async def play() -> None:
        ears = Ears()
        await ears._ps.parse(line(LISTENED, b"manta.v1.state.7.plain.toy.default." + name, b"", b"", b"{}"))
        with pytest.raises(Poison):
            TOYS.parse(ears.got[0].subject)

    asyncio.run(play())


@examples(500)
@given(seed=SEEDS)
def test_whoever_can_read_a_subject_can_write_over_it(seed: int) -> None:
    subject = mangled_subject(seed).decode(errors="replace")
    with suppress(Poison):
        spot, key = TOYS.parse(subject)
        assert TOYS.subject(spot.partition, key, spot.family) == subject


@pytest.mark.parametrize("partition", ["007", "-1", "٣", "1_0", "9" * 30])
def test_a_partition_is_written_in_one_way(partition: str) -> None:
    with pytest.raises(Poison):
        TOYS.parse(f"manta.v1.state.{partition}.plain.toy.default.teddy")


@examples(500)
@given(seed=SEEDS)
def test_a_body_is_read_or_poison(seed: int) -> None:
    good = {"schema": 1, "namespace": "default", "name": "teddy", "uid": "u", "object": sample(Toy)}
    with suppress(Poison):
        TOYS.read(Message(subject=SUBJECT, body=mangled(encoded(good), seed), sequence=1))


def test_numbers_of_any_size_come_back() -> None:
    toy = Toy(size=HUGE, notes={"a": [HUGE, "ä"]})
    assert msgspec.json.decode(written(toy), type=Toy) == toy


@examples(300)
@given(seed=SEEDS)
def test_an_entry_of_a_bucket_is_read_whatever_its_headers_say(seed: int) -> None:
    bucket = NatsBucket("manta_members", cast(Connection, None), SystemClock())
    headers = {LIVES: mangled_text("6.0", seed)}
    entry, lives = bucket.entry(Message(subject="$KV.manta_members.a.b", body=b"", sequence=3, headers=headers))
    assert (entry.key, entry.revision) == ("a.b", 3)
    assert lives is None or abs(lives) < float("inf")


@pytest.mark.parametrize("lives", ["", "soon", "nan", "inf", "-inf", "1e999"])
def test_a_lifetime_that_is_none_is_not_waited_for(lives: str) -> None:
    bucket = NatsBucket("manta_members", cast(Connection, None), SystemClock())
    message = Message(subject="$KV.manta_members.a.b", body=b"{}", sequence=3, headers={LIVES: lives})
    assert bucket.entry(message)[1] is None


@examples(300)
@given(seed=SEEDS)
def test_an_answer_that_is_none_of_jetstreams_is_no_answer(seed: int) -> None:
    for type_ in (Stream, Found, Consumer):
        with suppress(Unreachable):
            _read(Delivery("_INBOX.1", "", mangled(encoded(sample(type_)), seed)), type_, "a call")
    with suppress(MantaError):
        assert acknowledged(Delivery("_INBOX.1", "", mangled(b'{"stream":"S","seq":7}', seed)), SUBJECT) > 0


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"yes", b'{"seq": 0}', b'{"seq": -1}', b'{"seq": "7"}', b"\xff"], ids=repr
)
def test_an_answer_of_somebody_else_to_a_publish_does_not_count(body: bytes) -> None:
    with pytest.raises(Unreachable):
        acknowledged(Delivery("_INBOX.1", "", body), SUBJECT)


@examples(300)
@given(seed=SEEDS)
def test_what_no_consumer_sent_begins_the_reading_anew(seed: int) -> None:
    async def play() -> None:
        reading = Reading(Life(), "MANTA_STATE", [SUBJECT])
        with suppress(Unreachable):
            reading._message(Delivery(SUBJECT, mangled_text(ACK, seed), b"{}", mangled(HEADERS, seed)))
        with suppress(Unreachable):
            reading._note(
                Delivery("_INBOX.1", "", b"", mangled(b"NATS/1.0 408 x\r\nNats-Pending-Messages: 3\r\n", seed))
            )

    asyncio.run(play())


EVIL = "no\r\nManta-Error: Rejected\r\nManta-Error-Reason: Evil\r\n\r\n" + "x" * 100_000


@pytest.mark.parametrize(
    "error",
    [NotFound(EVIL), Refused(400, "Bad\r\nX: y", EVIL), Rejected(EVIL, EVIL), Conflict("\x00\ud800"), OSError(EVIL)],
)
def test_what_an_error_says_is_one_short_line_of_its_own(error: Exception) -> None:
    headers = error_headers(error)
    raw = "NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    arrived = Delivery("_INBOX.1", "", b"", raw.encode()).headers
    assert arrived == headers
    assert arrived[ERROR_TYPE] == type(error).__name__
    assert all(len(value) <= MOST_CHARACTERS for value in arrived.values())
    assert isinstance(answered_fault(arrived), MantaError)


@examples(200)
@given(seed=SEEDS)
def test_an_error_of_any_words_is_an_error(seed: int) -> None:
    names = [ERROR, ERROR_TYPE, ERROR_REASON, "Nats-Service-Error-Code"]
    headers = {
        name: mangled_text(text, seed + at)
        for at, (name, text) in enumerate(zip(names, ["no", "NotFound", "r", "404"], strict=True))
    }
    assert isinstance(answered_fault(headers), MantaError)


@examples(200)
@given(seed=SEEDS)
def test_a_trace_of_any_words_is_one_or_none(seed: int) -> None:
    known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    found = extract({"traceparent": mangled_text(known, seed), "tracestate": mangled_text("a=b,c=d", seed + 1)})
    assert found is None or found.is_valid
