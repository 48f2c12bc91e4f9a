"""The embedded API as a server: store, controllers, journal and HTTP front in one event loop."""

import asyncio
import base64
import contextlib
import os
import random
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml
from aiohttp import web

from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import SERVICEACCOUNT
from manta_embedded.api import media, tls
from manta_embedded.api.front import Front
from manta_embedded.api.grants import grant
from manta_embedded.api.journal import journal_of
from manta_embedded.api.machine import Node, NoNode
from manta_embedded.api.plane import LivePlane
from manta_embedded.api.settings import ApiSettings
from manta_embedded.api.users import ISSUER, Tokens
from manta_embedded.store.admission_quota import Quotas
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.store import Store

TOKEN_SECONDS = 365 * 24 * 3600
SHUTDOWN_SECONDS = 2.0
BACKLOG = 256


class LiveStore(Store):
    """A store whose time is that of the machine."""

    def now(self) -> datetime:
        """The time of day."""
        return datetime.now(UTC)


class Api:
    """A running API."""

    def __init__(self, store: Store, tokens: Tokens, *, folder: Path, admin_token: str) -> None:
        self.store, self.url, self.admin_token = store, "", admin_token
        self.ca, self.kubeconfig = folder / "ca.pem", folder / "kubeconfig"
        self.node: Node = NoNode()
        self.notes: list[str] = []  # what is to be told of the start: a file that was cut or put aside
        self._tokens = tokens
        self._front = Front(store, tokens, lambda: self.node)
        self._server = web.Server(self._front, request_factory=_request, handler_cancellation=True, access_log=None)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(folder / "server.pem")
        self._listening: list[asyncio.Server] = []

    @property
    def port(self) -> int:
        """Where it listens, the same on every address."""
        found: int = self._listening[0].sockets[0].getsockname()[1]
        return found

    @property
    def is_listening(self) -> bool:
        """Whether it listens anywhere yet."""
        return bool(self._listening)

    def encoded(self, obj: Obj) -> bytes:
        """An object as it is sent, made once for all who get it."""
        return self._front.forms.whole(obj)

    def token_for(self, namespace: str, account: str) -> str:
        """A token with which a pod acts as a service account."""
        found = self.store.get(SERVICEACCOUNT, Key(namespace, account))
        return self._tokens.issue(found, seconds=TOKEN_SECONDS, audiences=[ISSUER])[0]

    async def listen(self, address: str, port: int | None = None) -> None:
        """Listen on one more address, at the same port; OSError when it is taken."""
        loop = asyncio.get_running_loop()
        number = self.port if port is None else port
        self._listening.append(await loop.create_server(self._server, address, number, ssl=self._tls, backlog=BACKLOG))

    async def listen_on(self, open_socket: socket.socket) -> None:
        """Listen on a socket that was opened elsewhere."""
        loop = asyncio.get_running_loop()
        self._listening.append(await loop.create_server(self._server, sock=open_socket, ssl=self._tls, backlog=BACKLOG))

    async def close(self) -> None:
        """Answer no more, and end all watches."""
        self._front.stop()
        for one in self._listening:
            one.close()
        await self._server.shutdown(SHUTDOWN_SECONDS)


@contextlib.asynccontextmanager
async def serve(
    settings: ApiSettings, *, node: Node | None = None, sockets: Sequence[socket.socket] = ()
) -> AsyncIterator[Api]:
    """A running API until the end of the block, on the addresses of the settings and on these sockets.

    OSError when a port is taken that the settings ask for.
    """
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ca, _ = tls.ensure(settings.folder, (*settings.addresses, *settings.names))
    admin, secret = _secret(settings.folder / "admin.token"), _secret(settings.folder / "accounts.key")
    with journal_of(settings) as journal:
        store = LiveStore(SystemClock(), random.Random(), saved=journal.saved)
        store.admissions += [CustomResources(), Quotas(store)]
        api = Api(store, Tokens(store, admin=admin, secret=secret.encode()), folder=settings.folder, admin_token=admin)
        api.node, api.notes = node or api.node, journal.notes
        journal.follow(store, api.encoded)
        grant(store)
        plane = LivePlane(store, ca.read_text())
        await _open(api, settings, sockets)
        _write(api.kubeconfig, kubeconfig(api.url, ca.read_bytes(), admin))
        plane.start()
        try:
            yield api
        finally:
            plane.stop()
            await api.close()


async def _open(api: Api, settings: ApiSettings, sockets: Sequence[socket.socket]) -> None:
    for open_socket in sockets:
        await api.listen_on(open_socket)
    for address in settings.addresses:
        if sockets or settings.port:
            await api.listen(address, None if sockets else settings.port)
        else:
            await _listen_again(api, address, _remembered(settings.folder))
    host = sockets[0].getsockname()[0] if sockets else settings.addresses[0]
    api.url = f"https://{host}:{api.port}"
    _write(settings.folder / "port", str(api.port))


async def _listen_again(api: Api, address: str, remembered: int) -> None:
    """At the port of the last time, so that kubeconfigs stay good; at any other when that one is taken."""
    if api.is_listening:
        return await api.listen(address)
    try:
        await api.listen(address, remembered)
    except OSError:
        await api.listen(address, 0)


def kubeconfig(url: str, ca: bytes, token: str, namespace: str = "default") -> str:
    """The text of a kubeconfig."""
    name = "manta"
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(ca).decode()}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
            "current-context": name,
        }
    )


def _request(message, payload, protocol, writer, task) -> web.BaseRequest:  # type: ignore[no-untyped-def]
    """A request whose body may be as long as the API takes."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=media.BODY_BYTES)


def _secret(path: Path) -> str:
    """A secret that lasts."""
    if not path.exists():
        _write(path, secrets.token_urlsafe(32))
    return path.read_text()


def _remembered(folder: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "port").read_text())
    return 0


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
