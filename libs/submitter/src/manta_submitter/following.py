"""Follows a job's log: as much of a WebSocket (RFC 6455) as reading one needs."""

import base64
import contextlib
import http
import http.client
import os
import socket
import struct
from typing import BinaryIO, Final

from manta_submitter.submission import Failed, Target

CONTINUED, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9
PONG: Final = 10
NORMAL: Final = 1000
FINAL, MASKED = 0x80, 0x80
# A job may say nothing for hours; a machine that is gone is noticed within two minutes all the same.
KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


def follow(target: Target, job_id: str, out: BinaryIO) -> None:
    """Copy the log until Ray closes it as it should; Failed when it ends in another way."""
    with contextlib.closing(target.connection()) as connection:
        connection.connect()
        _open(connection, target, job_id)
        line: socket.socket = connection.sock
        line.settimeout(None)
        _keep_alive(line)
        _copy(_Frames(line), out)


def _open(connection: http.client.HTTPConnection, target: Target, job_id: str) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
    connection.putrequest("GET", target.path(f"{job_id}/logs/tail"))
    for name, value in {**upgrade, **target.headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    _read_answer(connection.sock)


def _read_answer(line: socket.socket) -> None:
    """Read the answer byte by byte: what follows it are frames already, which a buffer would swallow."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = line.recv(1)
        if not byte:
            raise Failed(f"the log cannot be followed: the dashboard hung up after {head[:200]!r}")
        head += byte
    status = head.split(b"\r\n", 1)[0].decode(errors="replace")
    if f" {int(http.HTTPStatus.SWITCHING_PROTOCOLS)} " not in f"{status} ":
        raise Failed(f"the log cannot be followed: the dashboard said {status}")


def _keep_alive(line: socket.socket) -> None:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        option = getattr(socket, name, None)  # not every system has all of them
        if option is not None:
            line.setsockopt(socket.IPPROTO_TCP, option, value)


def _copy(frames: "_Frames", out: BinaryIO) -> None:
    while True:
        kind, content = frames.next()
        if kind in (CONTINUED, TEXT, BINARY):
            out.write(content)
            out.flush()
        elif kind == PING:
            frames.send(PONG, content)
        elif kind == CLOSE:
            return _end(frames, content)


def _end(frames: "_Frames", content: bytes) -> None:
    frames.send(CLOSE, content[:2])
    code = int.from_bytes(content[:2], "big") if len(content) >= 2 else None
    if code != NORMAL:
        reason = content[2:].decode(errors="replace")
        raise Failed(f"the log ended early: status = {code or 'none'}, reason = {reason!r}")


class _Frames:
    """What the other side sends, frame by frame."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def next(self) -> tuple[int, bytes]:
        """The kind and the content of the next frame."""
        first, second = self._exactly(2)
        length = second & ~MASKED
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
        return first & 0x0F, self._exactly(length)

    def send(self, kind: int, content: bytes) -> None:
        """Send a short frame; what a client sends is masked."""
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(content))
        self._line.sendall(bytes([FINAL | kind, MASKED | len(content)]) + mask + masked)

    def _exactly(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            more = self._line.recv(min(count - len(found), 1 << 16))
            if not more:
                raise Failed("the log ended early: the dashboard hung up")
            found += more
        return bytes(found)
