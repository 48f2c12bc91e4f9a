"""SPDY/3.1 as far as a port-forward of kubectl needs it: streams with headers, and their data.

https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

import struct
import zlib
from collections.abc import Awaitable, Callable, Iterator

import msgspec

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 1
CONTROL = 0x80030000  # a control frame of version 3
LARGEST = 1 << 20
# The words that both sides know, so that headers take little room.
WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age all"
    "ow authorization cache-control connection content-base content-encoding content-language content-length conten"
    "t-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-sinc"
    "e if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate pro"
    "xy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via war"
    "ning www-authenticate method get status|200 OK|version HTTP/1.1 url public set-cookie keep-alive origin"
)
REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritativ"
    "e Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 I"
    "nternal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec"
    " 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xm"
    "l,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


class Opened(msgspec.Struct, frozen=True):
    """A stream that the client opened."""

    stream: int
    headers: dict[str, str]


class Chunk(msgspec.Struct, frozen=True):
    """Data of a stream; `last` when the client sends no more."""

    stream: int
    data: bytes
    last: bool


class Reset(msgspec.Struct, frozen=True):
    """A stream that the client gave up."""

    stream: int


Frame = Opened | Chunk | Reset


class Session:
    """One side of a connection: bytes in, frames out, and answers by `send`."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._waiting = b""
        self._inflate = zlib.decompressobj(zdict=_dictionary())
        self._deflate = zlib.compressobj(zdict=_dictionary())

    async def take(self, chunk: bytes) -> list[Frame]:
        """What these bytes complete; ValueError when they are no SPDY."""
        self._waiting += chunk
        found: list[Frame] = []
        while len(self._waiting) >= 8:
            first, second = struct.unpack(">II", self._waiting[:8])
            length = second & 0xFFFFFF
            if length > LARGEST:
                raise ValueError(f"a frame of {length} bytes")
            if len(self._waiting) < 8 + length:
                break
            body, self._waiting = self._waiting[8 : 8 + length], self._waiting[8 + length :]
            found.extend(await self._frame(first, second >> 24, body))
        return found

    async def data(self, stream: int, chunk: bytes, *, last: bool = False) -> None:
        """Send data of a stream."""
        await self._send(struct.pack(">II", stream, (FIN if last else 0) << 24 | len(chunk)) + chunk)

    async def _frame(self, first: int, flags: int, body: bytes) -> list[Frame]:
        if not first >> 31:
            return [Chunk(first, body, bool(flags & FIN))]
        match first & 0xFFFF:
            case 1:
                stream = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF
                headers = dict(_headers(self._inflate.decompress(body[10:])))
                await self._control(SYN_REPLY, struct.pack(">I", stream) + self._packed())
                return [Opened(stream, headers)]
            case 3:
                return [Reset(struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF)]
            case 6:
                await self._control(PING, body)
        return []

    async def _control(self, kind: int, body: bytes) -> None:
        await self._send(struct.pack(">II", CONTROL | kind, len(body)) + body)

    def _packed(self) -> bytes:
        """No headers at all."""
        return self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def _headers(block: bytes) -> Iterator[tuple[str, str]]:
    count, at = struct.unpack(">I", block[:4])[0], 4
    for _ in range(count):
        parts = []
        for _ in range(2):
            length = struct.unpack(">I", block[at : at + 4])[0]
            parts.append(block[at + 4 : at + 4 + length].decode())
            at += 4 + length
        yield parts[0].lower(), parts[1]


def _dictionary() -> bytes:
    known = [word for part in WORDS.split("|") for word in ([part] if part == "200 OK" else part.split())]
    return b"".join(struct.pack(">I", len(word)) + word.encode() for word in known) + REST.encode()
