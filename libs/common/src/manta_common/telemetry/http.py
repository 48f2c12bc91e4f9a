"""The HTTP side of a process: is it alive, is it ready, what does it count, what does it hold."""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterable
from typing import Self

import msgspec
from aiohttp import web

from manta_common.errors import Misconfigured
from manta_common.settings.values import Address
from manta_common.telemetry.exposition import CONTENT_TYPE, pieces
from manta_common.telemetry.health import Health
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.redact import redacted

Show = Callable[[], object]
STOP_SECONDS = 2.0


class Pages:
    """The pages under /debug: some have a part for whoever has one to show; other pages are their own."""

    def __init__(self) -> None:
        self._pages: dict[str, Show] = {}
        self._parted: dict[str, _Parted] = {}
        self._parts("state")

    def state(self, component: str, part: str, show: Show) -> None:
        """Show something on /debug/state, under the component's name."""
        self.part("state", component, part, show)

    def part(self, page: str, component: str, part: str, show: Show) -> None:
        """Show something on a page, under the component's name."""
        self._parts(page).of.setdefault(component, {})[part] = show

    def page(self, name: str, show: Show) -> None:
        """Serve /debug/<name>."""
        self._pages[name] = show

    def names(self) -> list[str]:
        """Which pages there are."""
        return sorted(self._pages)

    def body(self, name: str) -> bytes | None:
        """A page as JSON without secrets; None when there is no such page."""
        show = self._pages.get(name)
        return msgspec.json.format(msgspec.json.encode(redacted(show())), indent=2) + b"\n" if show else None

    def _parts(self, page: str) -> "_Parted":
        if page not in self._parted:
            self._parted[page] = _Parted()
            self._pages[page] = self._parted[page].shown
        return self._parted[page]


class _Parted:
    """A page with parts by component."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, Show]] = {}

    def shown(self) -> object:
        """All of them."""
        return {component: {part: show() for part, show in parts.items()} for component, parts in self.of.items()}


class Listener:
    """Serves from entry to exit. A blocked event loop does not answer /healthz: that is what a probe has to notice."""

    def __init__(
        self, place: Address | socket.socket, health: Health, *, registries: Iterable[Registry], pages: Pages
    ) -> None:
        self._place, self._health, self._registries, self._pages = place, health, registries, pages
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=STOP_SECONDS)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await self._site().start()
        except OSError as error:
            await self._runner.cleanup()
            raise Misconfigured(f"MANTA_HTTP_ADDRESS is {str(self._place)!r}; {_reason(error)}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def _site(self) -> web.BaseSite:
        if isinstance(self._place, Address):
            return web.TCPSite(self._runner, self._place.host or None, self._place.port)
        return web.SockSite(self._runner, self._place)

    def _application(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [
                web.get("/", self._index),
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._metrics),
                web.get("/debug/{page:.+}", self._debug),
            ]
        )
        return application

    async def _index(self, _: web.Request) -> web.Response:
        paths = ["/healthz", "/readyz", "/metrics", *(f"/debug/{name}" for name in self._pages.names())]
        return web.Response(text="\n".join(paths) + "\n")

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        missing = self._health.missing()
        return web.Response(text="\n".join(missing or ["ok"]) + "\n", status=503 if missing else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        text = []
        for piece in pieces(list(self._registries)):
            text.append(piece)
            await asyncio.sleep(0)  # thousands of series must not hold up everything else
        response = web.Response(body="".join(text).encode(), headers={"Content-Type": CONTENT_TYPE})
        response.enable_compression()
        return response

    async def _debug(self, request: web.Request) -> web.Response:
        body = self._pages.body(request.match_info["page"])
        if body is None:
            return web.Response(text=f"no such page; there are {', '.join(self._pages.names())}\n", status=404)
        return web.Response(body=body, content_type="application/json")


def _reason(error: OSError) -> str:
    """What is the matter with an address, and what to do."""
    if isinstance(error, socket.gaierror):
        return "its host cannot be resolved: name an address of this machine, or none for all"
    reasons = {
        errno.EADDRINUSE: "another process listens there: stop it, or choose another port (0 is any free one)",
        errno.EACCES: "this user may not listen there: choose a port from 1024",
        errno.EADDRNOTAVAIL: "this machine has no such address: name one that it has, or none for all",
    }
    return reasons.get(error.errno or 0, error.strerror or str(error))
