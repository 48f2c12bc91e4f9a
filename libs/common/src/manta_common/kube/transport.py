"""One request and its answer: credentials, time limit, throttling, the server's clock, and errors translated."""

import asyncio
import contextlib
import io
import random
import time
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from typing import Any, cast

import aiohttp
import msgspec
from yarl import URL

from manta_common.errors import MantaError, Throttled, Unreachable
from manta_common.kinds import Kind
from manta_common.kube import faults
from manta_common.kube.clock import ServerClock
from manta_common.kube.codec import CONTENT_TYPES
from manta_common.kube.connection import Connection, Reach
from manta_common.kube.limits import TokenBucket
from manta_common.kube.protocol import JsonPatch
from manta_common.kube.settings import KubeSettings, OnCall
from manta_common.kube.watch import CalmStream, Stream

JSON = "application/json"
LARGE_BYTES = 2**20


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request; `path` has its query, ready to be sent."""

    verb: str
    kind: Kind
    path: str
    limit_seconds: float
    method: str = "GET"
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON


class Transport:
    """Sends calls over kept connections. Watches have connections of their own and never hold up a call."""

    def __init__(self, connection: Connection, settings: KubeSettings, on_call: OnCall | None = None) -> None:
        self._connection, self._settings, self._on_call = connection, settings, on_call
        self._bucket = TokenBucket(settings.qps, settings.burst)
        self._agent = f"manta/{version('manta-common')} ({settings.service})"
        self._calls = self._session(settings.connections)
        self._watches = self._session(0)
        self.clock = ServerClock()

    async def close(self) -> None:
        """Close every connection."""
        await self._calls.close()
        await self._watches.close()

    async def send(self, call: Call) -> bytes:
        """The body of the answer. A refusal with 429 is waited out while the time limit allows it."""
        with self._measured(call), faults.translated(f"{call.verb} {call.kind.plural}"):
            async with asyncio.timeout(call.limit_seconds):
                return await self._until_let_in(call, time.monotonic() + call.limit_seconds)

    @contextlib.asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        """The answer as it comes in; the time limit is for its beginning."""
        with self._measured(call), faults.translated(f"{call.verb} {call.kind.plural}"):
            async with asyncio.timeout(call.limit_seconds):
                await self._bucket.turn(within_seconds=call.limit_seconds)
                response = await self._open(self._watches, call)
        reading = response.connection.transport if response.connection else None
        try:
            yield CalmStream(response.content, cast("asyncio.ReadTransport | None", reading))
        finally:
            response.close()

    async def _until_let_in(self, call: Call, deadline: float) -> bytes:
        """429 means that nothing was done, so that any verb may be tried again."""
        tries = 0
        while True:
            tries += 1
            await self._bucket.turn(within_seconds=deadline - time.monotonic())
            try:
                response = await self._open(self._calls, call)
            except Throttled as error:
                wait_seconds = error.retry_after_seconds * random.uniform(1, 1.25)
                if tries >= self._settings.throttled_tries or time.monotonic() + wait_seconds >= deadline:
                    raise
                await asyncio.sleep(wait_seconds)
            else:
                async with response:
                    return await response.read()

    async def _open(self, session: aiohttp.ClientSession, call: Call) -> aiohttp.ClientResponse:
        """The answer of success, its body unread; credentials that are refused are read again once."""
        reach = await self._connection.current()
        response = await self._exchange(session, call, reach)
        if response.status == 401:
            response.release()
            response = await self._exchange(session, call, await self._connection.refused(reach))
        if response.status < 300:
            return response
        async with response:
            body = await response.read()
        raise faults.from_answer(
            call.kind,
            response.status,
            headers=response.headers,
            body=body,
            json_patch=call.content_type == CONTENT_TYPES[JsonPatch],
        )

    async def _exchange(self, session: aiohttp.ClientSession, call: Call, reach: Reach) -> aiohttp.ClientResponse:
        """One request over the wire.

        aiohttp repeats a GET or a DELETE once when the connection is closed before an answer, as RFC 9112 allows; ours
        may be: a DELETE names the uid, and what it did already is NotFound the second time. Nothing else is repeated.
        """
        if session.closed:
            raise Unreachable(f"{call.verb} {call.kind.plural}: the client is closed")
        access = reach.access
        sent_at = time.monotonic()
        response = await session.request(
            call.method,
            URL(access.server + call.path, encoded=True),
            data=_payload(call.body),
            headers=self._headers(call, access.authorization),
            allow_redirects=False,
            ssl=reach.tls,
            server_hostname=access.server_name or None,
            proxy=access.proxy or None,
        )
        if response.status < 500:  # those may be a proxy's, with the proxy's time
            self.clock.observe(response.headers.get("Date", ""), sent_at=sent_at, received_at=time.monotonic())
        return response

    def _headers(self, call: Call, authorization: str) -> dict[str, str]:
        headers = {"User-Agent": self._agent, "Accept": call.accept}
        compressed = self._settings.compress_lists and call.verb == "list"
        headers["Accept-Encoding"] = "gzip" if compressed else "identity"
        if authorization:
            headers["Authorization"] = authorization
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        return headers

    @contextlib.contextmanager
    def _measured(self, call: Call) -> Iterator[None]:
        began_at, outcome = time.monotonic(), "Cancelled"
        try:
            yield
            outcome = "ok"
        except MantaError as error:
            outcome = type(error).__name__
            raise
        finally:
            if self._on_call:
                self._on_call(call.verb, call.kind.name, outcome, time.monotonic() - began_at)

    def _session(self, connections: int) -> aiohttp.ClientSession:
        options: dict[str, Any] = {"limit": connections, "keepalive_timeout": self._settings.keepalive_seconds}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(**options),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**20,
        )


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """Large bodies are written piece by piece, as aiohttp wants it."""
    return io.BytesIO(body) if body is not None and len(body) > LARGE_BYTES else body
