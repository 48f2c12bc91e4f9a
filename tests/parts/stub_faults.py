"""What the stub dashboard can be told to do wrong."""

import asyncio
import dataclasses

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


Fault = Delay | Hang | Drip | Fail


async def dripped(request: web.Request, whole: web.StreamResponse, seconds_per_byte: float) -> web.StreamResponse:
    """Send an answer byte by byte."""
    body = whole.body if isinstance(whole, web.Response) and isinstance(whole.body, bytes) else b""
    response = web.StreamResponse(status=whole.status, headers={"Content-Type": whole.content_type})
    response.content_length = len(body)
    await response.prepare(request)
    for byte in body:
        await response.write(bytes([byte]))
        await asyncio.sleep(seconds_per_byte)
    return response
