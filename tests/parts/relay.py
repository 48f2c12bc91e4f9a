"""A relay in front of a server that can fall silent, and speak TLS for a server that does not."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

CHUNK = 64 * 1024


class Relay:
    """Passes bytes both ways, unless it was told to be silent."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._passing = asyncio.Event()
        self._passing.set()
        self._relaying: set[asyncio.Task[None]] = set()
        self.port = 0

    @classmethod
    @asynccontextmanager
    async def to(cls, host: str, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator["Relay"]:
        """A relay to a server, on a port of its own; with a context clients must speak TLS, the server never does."""
        relay = cls(host, port)
        server = await asyncio.start_server(relay._accept, "127.0.0.1", 0, ssl=tls)
        relay.port = server.sockets[0].getsockname()[1]
        try:
            yield relay
        finally:
            server.close()
            for task in relay._relaying:
                task.cancel()
            await asyncio.gather(*relay._relaying, return_exceptions=True)

    def fall_silent(self) -> None:
        """Pass nothing on any more, and do not say so."""
        self._passing.clear()

    def speak_again(self) -> None:
        """Pass everything on again, what was held back too."""
        self._passing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._relaying.add(task)
        task.add_done_callback(self._relaying.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there_reader, there_writer = await asyncio.open_connection(*self._target)
            try:
                await asyncio.wait(
                    [
                        asyncio.ensure_future(self._pass(reader, there_writer)),
                        asyncio.ensure_future(self._pass(there_reader, writer)),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                there_writer.close()
                writer.close()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(CHUNK):
                await self._passing.wait()
                target.write(chunk)
                await target.drain()
