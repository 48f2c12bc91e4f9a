"""What comes from the server reaches whom it is for, wherever the stream of bytes is cut."""

import asyncio
from typing import Any

import pytest

from manta_common.bus.client import FLOOD_BYTES, Client, Delivery

FOR_US, FOR_OTHERS, NOBODYS, CALM = 7, 8, 9, 10
HEADERS = b"NATS/1.0\r\nManta-Seen: 12\r\nWord:of two\r\n\r\n"
STATUS = b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\n\r\n"
BODIES = [b"", b"one", b"MSG a 7 3\r\n", b"\r\n\r\n", bytes(range(256)) * 3]


def message(sid: int, body: bytes, *, reply: str = "", headers: bytes = b"") -> bytes:
    """A message as the server sends it."""
    sizes = f"{len(headers)} {len(headers) + len(body)}" if headers else f"{len(body)}"
    place = f"a.subject {sid} {reply + ' ' if reply else ''}{sizes}"
    return f"{'HMSG' if headers else 'MSG'} {place}\r\n".encode() + headers + body + b"\r\n"


STREAM = b"".join(
    [
        message(FOR_US, BODIES[0], headers=STATUS),
        message(FOR_US, BODIES[1]),
        b"PING\r\n",
        message(FOR_US, BODIES[2], reply="an.inbox"),
        message(FOR_OTHERS, b"theirs", headers=HEADERS),
        message(NOBODYS, b"late"),
        b"+OK\r\n",
        message(FOR_US, BODIES[3], reply="an.inbox", headers=HEADERS),
        b"PONG\r\n",
        message(FOR_US, BODIES[4], headers=HEADERS),
    ]
)


class Reader(Client):
    """A client without a server: what it would do for one is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[Delivery] = []
        self.left: list[int] = []
        self.lines: list[str] = []
        self._receivers[FOR_US] = self._receivers[CALM] = self.got.append
        self._calm.add(CALM)
        self.rests = 0
        self._subs = _Subscriptions(self.left)

    async def _process_ping(self) -> None:
        self.lines.append("PING")

    async def _process_pong(self) -> None:
        self.lines.append("PONG")

    async def rest(self) -> None:
        self.rests += 1

    async def take(self, *chunks: bytes) -> None:
        """Read pieces of a stream."""
        for chunk in chunks:
            await self._ps.parse(chunk)


class _Subscriptions(dict[int, Any]):
    """Where the library looks for whom a message is; it finds nobody."""

    def __init__(self, asked: list[int]) -> None:
        super().__init__()
        self._asked = asked

    def get(self, sid: int, default: Any = None) -> Any:
        self._asked.append(sid)
        return default


def read(*chunks: bytes) -> Reader:
    async def main() -> Reader:
        reader = Reader()
        await reader.take(*chunks)
        return reader

    return asyncio.run(main())


def check(reader: Reader) -> None:
    assert [one.data for one in reader.got] == BODIES
    assert [one.reply for one in reader.got] == ["", "", "an.inbox", "an.inbox", ""]
    assert {one.subject for one in reader.got} == {"a.subject"}
    assert reader.got[0].headers == {
        "Status": "408",
        "Description": "Request Timeout",
        "Nats-Pending-Messages": "3",
    }
    assert reader.got[1].headers == {}
    assert reader.got[3].headers == reader.got[4].headers == {"Manta-Seen": "12", "Word": "of two"}
    assert reader.left == [FOR_OTHERS, NOBODYS]
    assert reader.lines == ["PING", "PONG"]


def test_a_stream_in_one_piece() -> None:
    check(read(STREAM))


def test_a_stream_cut_anywhere() -> None:
    for at in range(len(STREAM)):
        check(read(STREAM[:at], STREAM[at:]))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_a_stream_in_small_pieces(size: int) -> None:
    check(read(*(STREAM[at : at + size] for at in range(0, len(STREAM), size))))


@pytest.mark.parametrize(
    ("chunks", "rests"),
    [
        pytest.param([message(CALM, b"one")], 1, id="after a message"),
        pytest.param([message(CALM, b"one") + message(FOR_US, b"an answer")], 1, id="after a message and an answer"),
        pytest.param([message(CALM, b"one"), message(CALM, b"two")], 2, id="after each of two that came apart"),
        pytest.param([message(CALM, b"one") * 20], 1, id="once after many that came together"),
        pytest.param([message(FOR_US, b"an answer")], 0, id="not after an answer that somebody waits for"),
        pytest.param([message(CALM, b"x" * FLOOD_BYTES)], 0, id="not when there is much to read"),
        pytest.param([message(CALM, b"one")[:-1]], 0, id="not before a message is whole"),
        pytest.param([message(CALM, b"one") + b"PING\r\n"], 0, id="not when the server asks for something"),
    ],
)
def test_what_is_told_word_by_word_is_read_together(chunks: list[bytes], rests: int) -> None:
    assert read(*chunks).rests == rests
