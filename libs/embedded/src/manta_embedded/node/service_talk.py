"""One connection between a client of a Service and a pod: bytes both ways, and a polite end when the Service moves on.

A client that keeps its connection would stay with a pod to which the Service no longer leads, and lose a request when
that pod ends. As proxies in front of Kubernetes do, the next HTTP answer then says `Connection: close`: no answer is
cut off, and the client's next request comes by a new connection. Whatever is not HTTP is passed on untouched.
"""

import asyncio
import re
from collections.abc import Callable

CHUNK = 65536
REQUEST = re.compile(rb"[A-Z]{3,10} [^\r\n]{1,8192} HTTP/1\.1\r\n")
ANSWER = re.compile(rb"HTTP/1\.1 [2-5]\d\d[^\r\n]{0,1024}\r\n")
CLOSE = b"Connection: close\r\n"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Talk:
    """A connection that was accepted, and the one to the pod at `target`."""

    def __init__(self, target: tuple[str, int], client: Ends, pod: Ends) -> None:
        self.target, self._client, self._pod = target, client, pod
        self.leaving = False
        self._asked = False  # a request has begun that nothing was answered to
        self._answered = True  # whatever the client says next is the beginning of something

    async def carry(self) -> None:
        """Pass everything on until both ends are closed, or one of them breaks: then OSError, in a group."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pour(self._client, self._pod, self._said))
            group.create_task(self._pour(self._pod, self._client, self._heard))

    def _said(self, chunk: bytes) -> bytes:
        if self._answered:
            self._asked, self._answered = REQUEST.match(chunk) is not None, False
        return chunk

    def _heard(self, chunk: bytes) -> bytes:
        head = ANSWER.match(chunk) if self.leaving and self._asked else None
        self._asked, self._answered = False, True
        return chunk if head is None else chunk[: head.end()] + CLOSE + chunk[head.end() :]

    @staticmethod
    async def _pour(source: Ends, sink: Ends, passed: Callable[[bytes], bytes]) -> None:
        while chunk := await source[0].read(CHUNK):
            sink[1].write(passed(chunk))
            await sink[1].drain()
        if sink[1].can_write_eof():
            sink[1].write_eof()
