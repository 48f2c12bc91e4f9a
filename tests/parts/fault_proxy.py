"""A proxy in front of the API server that slows down, refuses, loses answers and cuts or freezes watches on demand."""

import asyncio
import contextlib
import dataclasses
import pathlib
import ssl
import threading
import time
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from tests.parts.patience import patient

HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}
CALL_LIMIT_SECONDS = 10
FAREWELL_SECONDS = 0.2
WRITES_KEPT = 10_000
T = TypeVar("T")


@dataclasses.dataclass
class Fault:
    """What happens to matching requests: first a delay, then an error instead of the answer (or of the request)."""

    path: str = ""  # matches requests whose path and query contain it
    method: str = ""  # matches any when empty
    delay_seconds: float = 0
    status: int = 0  # answered instead when set
    applied: bool = False  # with status: the request reaches the server first, only its answer is lost
    retry_after: int | None = None
    times: int | None = None  # how often it strikes; without limit when None
    hits: int = 0

    def strikes(self, request: web.Request) -> bool:
        """Whether this request is hit; counts it."""
        spent = self.times is not None and self.hits >= self.times
        if spent or (self.method and self.method != request.method) or self.path not in request.path_qs:
            return False
        self.hits += 1
        return True

    def answer(self) -> web.Response:
        """The refusal, shaped like the API server's own."""
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.status, "message": "injected"}
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response(body, status=self.status, headers=headers)


@dataclasses.dataclass(frozen=True)
class Write:
    """A request that would change something: who sent it (the user agent), and when by the monotonic clock."""

    agent: str
    method: str
    path: str
    at: float


class FaultProxy:
    """Forwards everything to one API server over TLS, from a thread of its own."""

    def __init__(self, target: str, *, ca: pathlib.Path, certificate: pathlib.Path) -> None:
        self._target = target
        self._client_tls = ssl.create_default_context(cafile=str(ca))
        self._server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._server_tls.load_cert_chain(certificate)
        self._faults: list[Fault] = []
        self._watches: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._flowing: asyncio.Event | None = None
        self._frozen_path = ""
        self._writes: deque[Write] = deque(maxlen=WRITES_KEPT)
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = ""

    def start(self) -> None:
        """Listen on a free loopback port; `url` says which."""
        self._thread.start()
        self._call(self._open())

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._thread.is_alive():
            self._call(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(patient(CALL_LIMIT_SECONDS))
            self._loop.run_until_complete(asyncio.sleep(FAREWELL_SECONDS))  # sockets close in the loop's next rounds
        if not self._loop.is_closed():
            self._loop.close()

    def inject(self, fault: Fault) -> Fault:
        """From now on this fault strikes; its `hits` count."""
        self._faults.append(fault)
        return fault

    @property
    def writes(self) -> list[Write]:
        """The last requests that would change something: a copy, for more come while one looks at them."""
        return list(self._writes)

    @property
    def watches(self) -> int:
        """How many watches are open now."""
        return len(self._watches)

    def drop_watches(self) -> int:
        """Cut every watch that is open now; how many there were."""
        return self._call(self._drop())

    def freeze_watches(self, path: str = "") -> None:
        """Watches whose path contains this stay open but pass on no more bytes, until `clear`."""
        self._call(self._freeze(path))

    def clear(self) -> None:
        """No more faults."""
        self._faults.clear()
        self._call(self._thaw())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patient(CALL_LIMIT_SECONDS))

    async def _open(self) -> None:
        self._flowing = asyncio.Event()
        self._flowing.set()
        connector = aiohttp.TCPConnector(ssl=self._client_tls, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        application = web.Application(client_max_size=16 * 2**20)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._server_tls)
        await site.start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _close(self) -> None:
        await self._drop()
        if self._runner:
            await self._runner.cleanup()
        if self._session and self._session.connector:
            await self._session.connector.close(abort_ssl=True)  # a farewell would outlive the loop
            await self._session.close()
        await asyncio.sleep(0)

    async def _drop(self) -> int:
        watches = list(self._watches)
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        return len(watches)

    async def _freeze(self, path: str) -> None:
        if self._flowing:
            self._frozen_path = path
            self._flowing.clear()

    async def _thaw(self) -> None:
        if self._flowing:
            self._flowing.set()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            agent = request.headers.get("User-Agent", "")
            self._writes.append(Write(agent, request.method, request.path, time.monotonic()))
        fault = next((fault for fault in self._faults if fault.strikes(request)), None)
        if fault:
            await asyncio.sleep(fault.delay_seconds)
            if fault.status and not fault.applied:
                return fault.answer()
        try:
            return await self._forward(request, fault)
        except aiohttp.ClientConnectionError as error:
            return web.Response(status=502, text=f"the API server does not answer: {error}")

    async def _forward(self, request: web.Request, fault: Fault | None) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        body = await request.read() if request.can_read_body else None
        url = self._target + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=body, allow_redirects=False
        ) as answer:
            if fault and fault.status:
                await answer.read()
                return fault.answer()
            return await self._pass_on(request, answer)

    async def _pass_on(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Stream the answer; a watch is done in a task of its own, so that it can be cut."""
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP}
        response = web.StreamResponse(status=answer.status, headers=kept)
        await response.prepare(request)
        if "watch=" not in request.query_string:
            await response.write(await answer.read())
            await response.write_eof()
            return response
        watch = asyncio.create_task(self._copy_watch(request, answer, response))
        self._watches.add(watch)
        try:
            await watch
        except asyncio.CancelledError:
            if request.transport:
                request.transport.abort()
        finally:
            self._watches.discard(watch)
            watch.cancel()
        return response

    async def _copy_watch(
        self, request: web.Request, answer: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        assert self._flowing is not None
        with contextlib.suppress(ConnectionError):
            async for chunk in answer.content.iter_any():
                if self._frozen_path in request.path:
                    await self._flowing.wait()
                await response.write(chunk)
            await response.write_eof()
