"""A way out of the pods' network: an HTTPS proxy, so that `pip` in a runtime environment reaches its index."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

from manta_embedded.node.outside import Outside

REQUEST = re.compile(rb"CONNECT \[?([^\s\]]+?)\]?:(\d{1,5}) HTTP/1\.[01]\r\n")
HEAD_SECONDS = 10.0
CHUNK = 65536
Dial = Callable[[str, int], Awaitable[socket.socket]]


@contextlib.asynccontextmanager
async def way_out(address: str, dial: Dial) -> AsyncIterator[str]:
    """A proxy on a free port of an address until the end of the block; its URL. It knows CONNECT and nothing else."""
    server = await asyncio.start_server(_Door(dial).serve, address, 0)
    try:
        yield f"http://{address}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def dialer(outside: Outside) -> Dial:
    """Connections from the machine that was left; one is asked for at a time."""
    one_at_a_time = asyncio.Lock()

    async def dial(host: str, port: int) -> socket.socket:
        async with one_at_a_time:
            return await asyncio.to_thread(outside.dial, host, port)

    return dial


class _Door:
    """Lets through who asks for it."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection from a pod."""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            match = REQUEST.match(head)
            if match is None:
                writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nAllow: CONNECT\r\nContent-Length: 0\r\n\r\n")
                return
            await self._join(reader, writer, match[1].decode("idna"), int(match[2]))
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, UnicodeError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        finally:
            writer.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
        there = await self._dial(host, port)
        far_reader, far_writer = await asyncio.open_connection(sock=there)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pour(reader, far_writer))
                group.create_task(_pour(far_reader, writer))
        finally:
            far_writer.close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one end closes, which the other is told."""
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
