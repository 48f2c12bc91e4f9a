"""Ports of pods over a websocket, as `kubectl port-forward` speaks: SPDY streams within it, two for a connection."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from aiohttp import WSMsgType, web

from manta_embedded.api.machine import Node
from manta_embedded.api.spdy import Chunk, Opened, Reset, Session
from manta_embedded.store import errors
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
BLOCK = 64 * 1024


async def forward(request: web.BaseRequest, pod: Obj, node: Node) -> web.StreamResponse:
    """Pass bytes on between the streams of a client and the ports of a pod, until the client leaves."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise errors.bad_request("Upgrade request required: this is spoken over websockets")
    socket = web.WebSocketResponse(protocols=(PROTOCOL,), heartbeat=30, max_msg_size=0)
    await socket.prepare(request)
    ports = _Ports(Session(socket.send_bytes), pod, node)
    try:
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                await ports.take(message.data)
    except (ConnectionError, ValueError):  # it has left, or does not speak SPDY
        await socket.close()
    finally:
        await ports.close()
    return socket


class _Ports:
    """The connections of one client. The streams of one connection have a request id in common."""

    def __init__(self, session: Session, pod: Obj, node: Node) -> None:
        self._session, self._pod, self._node = session, pod, node
        self._errors: dict[str, int] = {}
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._early: dict[int, list[Chunk]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, chunk: bytes) -> None:
        """Act on what came."""
        for frame in await self._session.take(chunk):
            match frame:
                case Opened(stream, headers) if headers.get("streamtype") == "error":
                    self._errors[headers.get("requestid", "")] = stream
                case Opened(stream, headers):
                    self._early[stream] = []
                    self._begin(self._connect(stream, int(headers.get("port", "0")), headers.get("requestid", "")))
                case Chunk(stream) if stream in self._early:
                    self._early[stream].append(frame)
                case Chunk(stream) if stream in self._writers:
                    await _pass(self._writers[stream], frame)
                case Reset(stream) if stream in self._writers:
                    self._writers.pop(stream).close()

    async def close(self) -> None:
        """End every connection."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for writer in self._writers.values():
            writer.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, stream: int, port: int, request: str) -> None:
        failing = self._errors.get(request, 0)
        try:
            reader, writer = await self._node.connect(self._pod, port)
        except (OSError, StatusError) as error:
            self._early.pop(stream)
            await self._session.data(failing, f"port {port} cannot be reached: {error}".encode(), last=True)
            await self._session.data(stream, b"", last=True)
            return
        with contextlib.suppress(ConnectionError):
            for chunk in self._early.pop(stream):
                await _pass(writer, chunk)
            self._writers[stream] = writer
            while chunk_out := await reader.read(BLOCK):
                await self._session.data(stream, chunk_out)
            await self._session.data(failing, b"", last=True)
            await self._session.data(stream, b"", last=True)


async def _pass(writer: asyncio.StreamWriter, chunk: Chunk) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(chunk.data)
        if chunk.last and writer.can_write_eof():
            writer.write_eof()
        await writer.drain()
