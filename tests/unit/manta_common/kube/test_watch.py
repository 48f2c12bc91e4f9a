"""Lines are whole however they arrive, and silence is noticed."""

import asyncio
import random
from collections.abc import Iterable

import aiohttp
import pytest

from manta_common.errors import Expired, MantaError, Unreachable
from manta_common.kube.watch import FLOOD_BYTES, CalmStream, LineSplitter, lines


class Pieces:
    """A stream of given pieces; an error among them is raised, and after the last one it ends or stays silent."""

    def __init__(self, pieces: Iterable[bytes | Exception], *, ends: bool = True) -> None:
        self._pieces, self._ends = list(pieces), ends

    async def readany(self) -> bytes:
        if not self._pieces and not self._ends:
            await asyncio.Event().wait()
        piece = self._pieces.pop(0) if self._pieces else b""
        if isinstance(piece, Exception):
            raise piece
        return piece


async def all_lines(stream: Pieces, idle_seconds: float = 5) -> list[bytes]:
    return [line async for line in lines(stream, what="pods", idle_seconds=idle_seconds)]


@pytest.mark.parametrize(
    ("chunks", "found"),
    [
        pytest.param([b"one\ntwo\n"], [b"one", b"two"], id="two lines in a piece"),
        pytest.param([b"on", b"e\ntw", b"o\n"], [b"one", b"two"], id="a line over two pieces"),
        pytest.param([b"o", b"n", b"e", b"\n"], [b"one"], id="its end in a piece of its own"),
        pytest.param([b"one\n", b"\n\n", b"two\n"], [b"one", b"two"], id="empty lines are left out"),
        pytest.param([b"one\nunfinis"], [b"one"], id="an unfinished line is not a line"),
        pytest.param(["grün\n".encode()[:3], "grün\n".encode()[3:]], ["grün".encode()], id="cut within a character"),
    ],
)
def test_lines_are_whole(chunks: list[bytes], found: list[bytes]) -> None:
    splitter = LineSplitter()
    assert [line for chunk in chunks for line in splitter.feed(chunk)] == found


@pytest.mark.parametrize("seed", range(10))
def test_any_cut_gives_the_same_lines(seed: int) -> None:
    chance = random.Random(seed)
    wanted = [bytes(chance.choices(range(32, 127), k=chance.randint(1, 200))) for _ in range(50)]
    text = b"".join(line + b"\n" for line in wanted)
    cuts = sorted(chance.sample(range(len(text)), 120))
    splitter = LineSplitter()
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert [line for chunk in chunks for line in splitter.feed(chunk)] == wanted


def test_a_line_of_eight_megabytes_in_small_pieces_is_one_line() -> None:
    splitter, piece = LineSplitter(), b"x" * 4096
    for _ in range(2048):
        assert splitter.feed(piece) == []
    assert [len(line) for line in splitter.feed(b"\nnext")] == [8 * 2**20]
    assert splitter.feed(b"\n") == [b"next"]


def test_a_line_without_an_end_is_given_up() -> None:
    splitter = LineSplitter(longest_bytes=100)
    with pytest.raises(Unreachable, match="more than 100 bytes"):
        splitter.feed(b"x" * 101)


async def test_a_watch_that_ends_just_ends() -> None:
    assert await all_lines(Pieces([b"one\n", b"two\n"])) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        pytest.param([b"one\n"], Unreachable, id="after a line: the connection is stuck"),
        pytest.param([], Expired, id="from the start: the version may be one of the future"),
    ],
)
async def test_silence_is_noticed(pieces: list[bytes], error: type[MantaError]) -> None:
    with pytest.raises(error, match=r"nothing was heard for 0.05 s"):
        await all_lines(Pieces(pieces, ends=False), idle_seconds=0.05)


@pytest.mark.parametrize("error", [aiohttp.ClientPayloadError("cut"), ConnectionResetError("reset")])
async def test_a_cut_watch_is_unreachable(error: Exception) -> None:
    with pytest.raises(Unreachable, match="watch pods"):
        await all_lines(Pieces([b"one\n", error]))


class Connection(asyncio.ReadTransport):
    """A connection that only notes whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.paused = asyncio.Event()
        self.closing = False

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.told.append("pause")
        self.paused.set()

    def resume_reading(self) -> None:
        self.told.append("resume")


async def test_after_a_small_piece_nothing_is_read_for_a_moment() -> None:
    connection = Connection()
    stream = CalmStream(Pieces([b"one\n", b"two\n", b"x" * FLOOD_BYTES, b"last\n"]), connection)
    assert await stream.readany() == b"one\n"
    assert connection.told == [], "the first one is read at once"
    assert await stream.readany() == b"two\n"
    assert connection.told == ["pause", "resume"]
    assert len(await stream.readany()) == FLOOD_BYTES
    assert connection.told == 2 * ["pause", "resume"]
    assert await stream.readany() == b"last\n"
    assert connection.told == 2 * ["pause", "resume"], "there was more to read"


async def test_a_rest_that_is_cut_off_leaves_the_connection_reading() -> None:
    connection = Connection()
    stream = CalmStream(Pieces([b"one\n"], ends=False), connection)
    await stream.readany()
    resting = asyncio.create_task(stream.readany())
    await connection.paused.wait()
    resting.cancel()
    await asyncio.wait([resting])
    assert connection.told == ["pause", "resume"]


async def test_a_connection_that_is_closed_is_left_alone() -> None:
    connection = Connection()
    connection.closing = True
    stream = CalmStream(Pieces([b"one\n", b"two\n"]), connection)
    assert [await stream.readany(), await stream.readany(), await stream.readany()] == [b"one\n", b"two\n", b""]
    assert connection.told == []
