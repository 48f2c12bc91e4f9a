"""What the API asks of those who run pods: their logs, a command in a container, a connection to a port."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Protocol

import msgspec

from manta_embedded.store import errors
from manta_embedded.store.objects import Obj


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines of which container; limits of None are none."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run beside a container's own process, and which of its streams are wanted."""

    container: str
    argv: tuple[str, ...]
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


class Terminal(Protocol):
    """The other end of a command: whoever asked for it. Writing to one that has left is no error."""

    async def read(self) -> bytes:
        """The next bytes of standard input; empty at its end, at once when none was wanted."""

    async def stdout(self, chunk: bytes) -> None:
        """Standard output of the command."""

    async def stderr(self, chunk: bytes) -> None:
        """Standard error of the command."""

    async def size(self) -> tuple[int, int]:
        """Width and height, each time they change; waits for ever when they do not."""


class Node(Protocol):
    """Runs pods. It is given pods as stored, of which the API has checked that they and the container exist.

    A refusal is a `StatusError` (manta_embedded.store.errors), raised before the first byte. A call is cancelled when
    the client leaves.
    """

    def logs(self, pod: Obj, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """The log in chunks of any size, ends of lines included; with `follow` until the container ends."""

    async def run(self, pod: Obj, command: Command, terminal: Terminal) -> int:
        """Run a command in a container and return its exit code; 128 + signal for one that was killed."""

    async def connect(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of a pod; OSError when nobody listens there."""


class NoNode:
    """Nothing runs pods: logs, commands and ports are refused as by a cluster whose node does not answer."""

    async def logs(self, pod: Obj, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """None."""
        if pod:
            raise _refusal(pod)
        yield b""

    async def run(self, pod: Obj, command: Command, terminal: Terminal) -> int:
        """Nothing runs."""
        raise _refusal(pod)

    async def connect(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Nobody listens."""
        raise _refusal(pod)


def _refusal(pod: Obj) -> errors.StatusError:
    name = pod["metadata"]["name"]
    return errors.StatusError(500, "InternalError", f"Internal error occurred: no node runs pod {name}")
