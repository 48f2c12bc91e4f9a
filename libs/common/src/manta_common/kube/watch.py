"""The lines of a watch, as they arrive in pieces, and the silence of one that is stuck."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final, Protocol

from manta_common.calm import rest
from manta_common.errors import Expired, Unreachable
from manta_common.kube import faults

LONGEST_BYTES = 64 * 2**20  # objects reach 1.5 MB in etcd, several times that as JSON; beyond this it is no watch
# The server tells of each change in a piece of its own. Those that follow each other within this time are read
# together: all that is done with them, up to the bus, costs less for several at once than for one after the other.
PAUSE_SECONDS: Final = 0.02
FLOOD_BYTES: Final = 64 * 1024  # then there is more to read, and no pause


class Stream(Protocol):
    """Bytes that come in over time."""

    async def readany(self) -> bytes:
        """What is there, at least one byte; nothing at the end."""


class CalmStream:
    """A stream that is not read for a moment after each piece; what comes after a silence is read at once."""

    def __init__(self, stream: Stream, connection: asyncio.ReadTransport | None) -> None:
        self._stream, self._connection = stream, connection
        self._rests = False

    async def readany(self) -> bytes:
        """What is there, at least one byte; nothing at the end."""
        if self._rests and self._connection:
            await rest(self._connection, PAUSE_SECONDS)
        piece = await self._stream.readany()
        self._rests = len(piece) < FLOOD_BYTES
        return piece


class LineSplitter:
    """Cuts a stream into lines, whatever its pieces are; a line's pieces are joined once, however many they are."""

    def __init__(self, longest_bytes: int = LONGEST_BYTES) -> None:
        self._longest_bytes = longest_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends and without empty ones."""
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join([*self._pieces, complete[0]])
            self._pieces, self._size = [], 0
        self._size += len(rest)
        if self._size > self._longest_bytes:
            raise Unreachable(f"a line of more than {self._longest_bytes} bytes is none of a watch")
        if rest:
            self._pieces.append(rest)
        return [line for line in complete if line]


async def lines(stream: Stream, *, what: str, idle_seconds: float) -> AsyncGenerator[bytes, None]:
    """The lines of a watch until it ends; an unfinished last one is left out, the next watch brings it again."""
    splitter, heard = LineSplitter(), False
    while chunk := await _next(stream, what=what, idle_seconds=idle_seconds, heard=heard):
        heard = True
        for line in splitter.feed(chunk):
            yield line


async def _next(stream: Stream, *, what: str, idle_seconds: float, heard: bool) -> bytes:
    """The next piece. Silence after something was heard is a stuck connection: watch on.

    Silence from the start may also mean that the version is one of the future: after etcd was restored from a backup
    the API server accepts such a watch and never says a word (seen on 1.36). So: list again.
    """
    with faults.translated(f"watch {what}"):
        try:
            async with asyncio.timeout(idle_seconds):
                return await stream.readany()
        except TimeoutError as error:
            silence = f"watch {what}: nothing was heard for {idle_seconds:g} s"
            raise (Unreachable(silence) if heard else Expired(silence)) from error
