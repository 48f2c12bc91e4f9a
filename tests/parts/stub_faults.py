"""What the stub dashboard can be told to do wrong."""

import asyncio
import dataclasses
from collections.abc import Mapping

from aiohttp import web


@dataclasses.dataclass(frozen=True)
class Delay:
    """Answers correctly, but late."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class Hang:
    """Takes the request and never answers."""


@dataclasses.dataclass(frozen=True)
class Drip:
    """Answers correctly, but byte by byte."""

    seconds_per_byte: float = 1


@dataclasses.dataclass(frozen=True)
class Fail:
    """Answers with an error and does nothing."""

    status: int = 500
    text: str = "the stub was told to fail"


@dataclasses.dataclass(frozen=True)
class Say:
    """Answers with anything at all."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclasses.dataclass(frozen=True)
class Cut:
    """Answers correctly, but closes the connection after some bytes."""

    after_bytes: int = 10


@dataclasses.dataclass(frozen=True)
class Flood:
    """Answers with spaces and never ends."""


Fault = Delay | Hang | Drip | Fail | Say | Cut | Flood


async def answered(request: web.Request, fault: Say | Cut | Flood, whole: web.StreamResponse) -> web.StreamResponse:
    """Answer in one of the wrong ways; the whole answer is what would have been right."""
    match fault:
        case Say(body, status, headers):
            return web.Response(body=body, status=status, headers=headers)
        case Cut(after_bytes):
            return await _cut(request, whole, after_bytes)
        case Flood():
            return await _flooded(request)


async def _cut(request: web.Request, whole: web.StreamResponse, after_bytes: int) -> web.StreamResponse:
    body = _bytes(whole)
    response = web.StreamResponse(status=whole.status, headers={"Content-Type": whole.content_type})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[:after_bytes])
    if request.transport:
        request.transport.close()
    return response


async def _flooded(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" " * 65536)


def _bytes(whole: web.StreamResponse) -> bytes:
    return whole.body if isinstance(whole, web.Response) and isinstance(whole.body, bytes) else b""


async def dripped(request: web.Request, whole: web.StreamResponse, seconds_per_byte: float) -> web.StreamResponse:
    """Send an answer byte by byte."""
    body = _bytes(whole)
    response = web.StreamResponse(status=whole.status, headers={"Content-Type": whole.content_type})
    response.content_length = len(body)
    await response.prepare(request)
    for byte in body:
        await response.write(bytes([byte]))
        await asyncio.sleep(seconds_per_byte)
    return response
