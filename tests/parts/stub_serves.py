"""Serve on many clusters, in one thread: whose dashboard or proxy is asked is told by the Host header.

As in a cluster a dashboard is called `<cluster>-head-svc...`, and a proxy by the address of its pod. Requests may be in
the form in which HTTP proxies are asked too, so that one address can stand for all of them.
"""

import asyncio
import collections
import json
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from tests.parts.patience import patient

APPLICATIONS = "/api/serve/applications/"
HEALTH = "/-/healthz"
HEAD = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
LIMIT_SECONDS = 10
T = TypeVar("T")


class Serve:
    """What one cluster runs."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.told_at: list[float] = []  # by the monotonic clock
        self.deployed_at = 0.0

    def tell(self, config: dict[str, Any]) -> None:
        """Run this from now on."""
        self.told_at.append(time.monotonic())
        self.config, self.deployed_at = config, time.time()

    def shown(self) -> dict[str, Any]:
        """What the dashboard says of it."""
        found = [application(each, self.deployed_at) for each in self.config.get("applications") or ()]
        return {
            "controller_info": {},
            "proxies": {},
            "applications": {each["name"]: each for each in found},
            "target_capacity": self.config.get("target_capacity"),
        }


def application(config: dict[str, Any], deployed_at: float, status: str = "RUNNING") -> dict[str, Any]:
    """What Ray says of an application that was deployed by this part of a configuration."""
    return {
        "name": config.get("name", "default"),
        "route_prefix": config.get("route_prefix", "/"),
        "docs_path": None,
        "status": status,
        "message": "",
        "last_deployed_time_s": deployed_at,
        "deployed_app_config": config,
        "source": "declarative",
        "deployments": {
            one["name"]: {"name": one["name"], "status": "HEALTHY", "message": ""}
            for one in config.get("deployments") or []
        },
    }


class StubServes:
    """All of them; whatever is asked for by an application's path is answered with the address of the pod."""

    def __init__(self) -> None:
        self.address = ""
        self.clusters: dict[str, Serve] = {}
        self.hung: set[str] = set()  # clusters whose dashboards, or pods whose proxies never answer
        self.asked: collections.Counter[str] = collections.Counter()  # by cluster, or address of a pod
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub serves", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Transport] = set()

    @classmethod
    def start(cls) -> "StubServes":
        """On a free port of the loopback."""
        stub = cls()
        stub._thread.start()
        stub._in_loop(stub._listen())
        return stub

    def stop(self) -> None:
        """Close every connection and the port."""
        self._in_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=patient(LIMIT_SECONDS))
        self._loop.close()

    def of(self, cluster: str) -> Serve:
        """Serve on a cluster."""
        return self.clusters.setdefault(cluster, Serve())

    def told(self, cluster: str) -> set[str]:
        """The applications that a cluster was told to run."""
        return {each["name"] for each in self.of(cluster).config.get("applications") or ()}

    def answer(self, method: str, host: str, target: str, body: bytes) -> bytes | None:
        """What is answered; nothing, for ever, by one that hangs."""
        name = host.partition(":")[0].partition(".")[0].removesuffix("-head-svc") if _is_name(host) else _ip(host)
        self.asked[name] += 1
        if name in self.hung:
            return None
        path = target.partition("?")[0]
        if path.startswith("http://"):  # as a proxy is asked
            path = "/" + path.removeprefix("http://").partition("/")[2]
        if path != APPLICATIONS:
            return _said(b'"success"' if path == HEALTH else json.dumps(name).encode())
        if method == "PUT":
            self.of(name).tell(json.loads(body))
            return _said(b"")
        return _said(json.dumps(self.of(name).shown()).encode())

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: _Connection(self.answer, self._open), "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        if self._server:
            self._server.close()
        for transport in tuple(self._open):
            transport.abort()
        await asyncio.sleep(0)  # until they are told

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=patient(LIMIT_SECONDS))


class _Connection(asyncio.Protocol):
    """Takes requests one after another."""

    def __init__(self, answer: Callable[[str, str, str, bytes], bytes | None], open_: set[asyncio.Transport]) -> None:
        self._answer, self._open, self._received = answer, open_, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return
            body, self._received = rest[:length], rest[length:]
            method, target, _ = first.split(" ")
            said = self._answer(method, headers["host"], target, body)
            if said is not None:
                self._transport.write(said)


def _said(body: bytes, code: int = 200, reason: bytes = b"OK") -> bytes:
    return HEAD % (code, reason, len(body)) + body


def _is_name(host: str) -> bool:
    return any(letter.isalpha() for letter in host)


def _ip(host: str) -> str:
    return host.rpartition(":")[0] or host
