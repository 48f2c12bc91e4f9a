"""Commands over websockets, as kubectl speaks: the first byte of a message names its channel.

https://github.com/kubernetes/enhancements/blob/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from manta_embedded.api.machine import Command, LogQuery, Node
from manta_embedded.store import errors
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = range(6)
CLOSED = 255  # v5: a client closes a channel by this one and the channel's number
COMMANDS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
BLOCK = 64 * 1024


class SocketTerminal:
    """Whoever is at the other end of a websocket."""

    def __init__(self, socket: web.WebSocketResponse, *, stdin: bool) -> None:
        self._socket = socket
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._sizes: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
        self._ended = not stdin

    async def read(self) -> bytes:
        """The next bytes of standard input; empty at its end."""
        if self._ended and self._input.empty():
            return b""
        found = await self._input.get()
        self._ended = self._ended or not found
        return found

    async def stdout(self, chunk: bytes) -> None:
        """Standard output."""
        await self._send(STDOUT, chunk)

    async def stderr(self, chunk: bytes) -> None:
        """Standard error."""
        await self._send(STDERR, chunk)

    async def size(self) -> tuple[int, int]:
        """Width and height, each time they change."""
        return await self._sizes.get()

    async def finish(self, status: Obj) -> None:
        """Tell how it ended."""
        await self._send(ERROR, msgspec.json.encode(status))

    async def listen(self) -> None:
        """Take in what comes until the other end leaves."""
        async for message in self._socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            channel, rest = message.data[0], message.data[1:]
            if channel == STDIN:
                self._input.put_nowait(rest)
            elif channel == CLOSED and rest[:1] == bytes([STDIN]):
                self._input.put_nowait(b"")
            elif channel == RESIZE:
                size = msgspec.json.decode(rest, type=dict[str, int])
                self._sizes.put_nowait((size.get("Width", 0), size.get("Height", 0)))
        self._input.put_nowait(b"")

    async def _send(self, channel: int, chunk: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(chunk), BLOCK):
                await self._socket.send_bytes(bytes([channel]) + chunk[at : at + BLOCK])


Work = Callable[[SocketTerminal], Coroutine[Any, Any, int]]


async def run(request: web.BaseRequest, pod: Obj, command: Command, node: Node) -> web.StreamResponse:
    """Run a command and pass its streams on; its end is told on a channel of its own."""
    return await _served(request, lambda terminal: node.run(pod, command, terminal), stdin=command.stdin)


async def attach(request: web.BaseRequest, pod: Obj, container: str, node: Node) -> web.StreamResponse:
    """Pass on what a container says from now on, until it ends."""

    async def listen(terminal: SocketTerminal) -> int:
        async for chunk in node.logs(pod, LogQuery(container=container, follow=True, tail_lines=0)):
            await terminal.stdout(chunk)
        return 0

    return await _served(request, listen, stdin=False)


async def _served(request: web.BaseRequest, work: Work, *, stdin: bool) -> web.StreamResponse:
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise errors.bad_request("Upgrade request required: this is spoken over websockets")
    socket = web.WebSocketResponse(protocols=COMMANDS, heartbeat=30, max_msg_size=0)
    await socket.prepare(request)
    terminal = SocketTerminal(socket, stdin=stdin)
    running = asyncio.create_task(work(terminal))
    listening = asyncio.create_task(terminal.listen())
    try:
        await asyncio.wait([running, listening], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await terminal.finish(_outcome(running))
    finally:
        for task in (running, listening):
            task.cancel()
        await asyncio.wait([running, listening])
        await socket.close()
    return socket


def _outcome(running: asyncio.Task[int]) -> Obj:
    error = running.exception()
    if isinstance(error, StatusError):
        return error.status()
    if error is not None:
        return StatusError(500, "InternalError", f"Internal error occurred: {error}").status()
    code = running.result()
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
