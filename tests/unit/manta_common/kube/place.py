"""A small server over TLS for tests of the client; it can do what an API server rarely does."""

import json
import pathlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trustme
from aiohttp import web

from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
OBJECT = {"metadata": {"name": "one"}}


class Place:
    """A server over TLS on a free port; `answer` is what it does, `requests` what it was asked."""

    def __init__(self, folder: pathlib.Path, authority: trustme.CA) -> None:
        self.folder, self.authority = folder, authority
        self.answer: Answer = ok
        self.requests: list[web.Request] = []
        self.names = ["127.0.0.1"]
        self.wants_certificate = False
        authority.cert_pem.write_to_path(folder / "ca.pem")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen; the URL."""
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls())
        await site.start()
        try:
            yield f"https://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    @asynccontextmanager
    async def client(
        self, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **settings: Any
    ) -> AsyncIterator[Client]:
        """A client of this server."""
        async with self.serving() as url:
            path = self.kubeconfig(url, cluster or {}, user or {"token": "secret"})
            async with connect(KubeSettings(service="unit", **settings), kubeconfig=path) as client:
                yield client

    def kubeconfig(self, url: str, cluster: dict[str, Any], user: dict[str, Any]) -> str:
        """A kubeconfig for this server."""
        known = {"server": url, "certificate-authority": "ca.pem"} | cluster
        document = {
            "clusters": [{"name": "c", "cluster": {name: value for name, value in known.items() if value is not None}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps(document))
        return str(path)

    def write_client_certificate(self) -> None:
        """client.pem and client.key, signed by the CA."""
        issued = self.authority.issue_cert("client")
        issued.cert_chain_pems[0].write_to_path(self.folder / "client.pem")
        issued.private_key_pem.write_to_path(self.folder / "client.key")

    def _application(self) -> web.Application:
        async def serve(request: web.Request) -> web.StreamResponse:
            self.requests.append(request)
            return await self.answer(request)

        application = web.Application()
        application.router.add_route("*", "/{path:.*}", serve)
        return application

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.authority.issue_cert(*self.names).configure_cert(context)
        if self.wants_certificate:
            self.authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


async def ok(request: web.Request) -> web.StreamResponse:
    """An object."""
    return web.json_response(OBJECT)


async def hang_up(request: web.Request) -> web.StreamResponse:
    """No answer at all."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
