"""Connections to services are led to pods."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from manta_common.keys import Key
from manta_embedded.node.network import Network
from manta_embedded.node.service_proxy import ServiceProxy
from tests.parts.eventually import eventually

KEY = Key("ns", "svc")
LIMIT_SECONDS = 30.0
SHARED = Network("", "10.244.0.0/16")  # pods without addresses of their own: all are on 127.0.0.1


class Pods:
    """Services and pods as a node sees them; every pod is a server that says its name and then what it is told."""

    def __init__(self) -> None:
        self.services: dict[Key, dict[str, Any]] = {}
        self.pods: dict[Key, dict[str, Any]] = {}
        self.taken: list[int] = []
        self.listening: dict[int, int] = {}
        self._servers: list[asyncio.Server] = []
        self.proxy = ServiceProxy(SHARED, self.services, self.pods, listen=self._listen)

    def _listen(self, host: str, port: int) -> socket.socket:
        """A node port of the test is any port that is free."""
        if port in self.taken:
            raise OSError(98, "Address already in use")
        opened = socket.create_server((host, 0))
        self.listening[port] = opened.getsockname()[1]
        return opened

    def expose(self, name: str, node_port: int) -> None:
        """Have a service in front of the pod of a name."""
        ports = [{"port": 80, "targetPort": "serve", "nodePort": node_port}]
        spec = {"type": "NodePort", "clusterIP": "10.96.0.9", "selector": {"app": name}, "ports": ports}
        self.services[KEY] = {"metadata": {"name": "svc", "namespace": "ns"}, "spec": spec}
        self.proxy.refresh()

    async def start(self, name: str) -> None:
        """Start a pod."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(name.encode() + b"\n")
            while line := await reader.readline():
                writer.write(line)
            writer.close()

        await self._serve(name, answer)

    async def start_http(self, name: str) -> None:
        """Start a pod that answers every request with its name and keeps the connection."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.readline():
                await reader.readuntil(b"\r\n\r\n")
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(name)}\r\n\r\n{name}".encode())
            writer.close()

        await self._serve(name, answer)

    async def _serve(self, name: str, answer: Callable[..., Awaitable[None]]) -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        self._servers.append(server)
        self.add(name, server.sockets[0].getsockname()[1])

    def add(self, name: str, port: int, *, app: str = "") -> None:
        """Have a pod whose port is this one."""
        status = {"podIP": "127.0.0.1", "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        labels = {"app": app or name}
        self.pods[Key("ns", name)] = {
            "metadata": {"name": name, "namespace": "ns", "labels": labels},
            "spec": {"containers": [{"ports": [{"name": "serve", "containerPort": port}]}]},
            "status": status,
        }

    async def until_open(self, node_port: int) -> None:
        """Wait until a port of the machine is listened on."""
        await eventually("the port is open", self._open(node_port), limit_seconds=LIMIT_SECONDS)

    def _open(self, node_port: int) -> Callable[[], Awaitable[int | None]]:
        async def find() -> int | None:
            return self.listening.get(node_port)

        return find

    @contextlib.asynccontextmanager
    async def connection(self, node_port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection to a port of the machine."""
        async with asyncio.timeout(LIMIT_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.listening[node_port])
            try:
                yield reader, writer
            finally:
                writer.close()

    def close(self) -> None:
        for server in self._servers:
            server.close()


@pytest.fixture
async def pods() -> AsyncIterator[Pods]:
    made = Pods()
    life = asyncio.create_task(made.proxy.live())
    yield made
    life.cancel()
    await asyncio.wait([life])
    made.close()


async def test_a_new_connection_goes_where_the_service_leads_now(pods: Pods) -> None:
    await pods.start("old")
    await pods.start("new")
    pods.expose("old", 30080)
    await pods.until_open(30080)
    async with pods.connection(30080) as (old, writer):
        assert await old.readline() == b"old\n"
        pods.expose("new", 30080)
        async with pods.connection(30080) as (new, _):
            assert await new.readline() == b"new\n"
        writer.write(b"still here\n")
        assert await old.readline() == b"still here\n"


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *parts: bytes) -> tuple[bytes, bytes]:
    """Send a request in parts; the headers and the body of the answer."""
    for part in parts or (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",):
        writer.write(part)
        await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    return head, await reader.readexactly(3)


async def test_who_keeps_a_connection_is_asked_to_come_anew_when_the_service_leads_elsewhere(pods: Pods) -> None:
    await pods.start_http("old")
    await pods.start_http("new")
    pods.expose("old", 30080)
    await pods.until_open(30080)
    async with pods.connection(30080) as (reader, writer):
        plain = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        assert await _ask(reader, writer) == (plain, b"old")
        pods.expose("new", 30080)

        async def told() -> bytes | None:
            head, body = await _ask(reader, writer, b"POST / HTTP/1.1\r\n", b"Host: x\r\n\r\n")
            assert body == b"old"
            return head if head != plain else None

        head = await eventually("the client is told", told, limit_seconds=LIMIT_SECONDS)
        assert head == b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
    async with pods.connection(30080) as ends:
        assert await _ask(*ends) == (plain, b"new")


async def test_a_pod_that_takes_no_connection_is_passed_over(pods: Pods) -> None:
    await pods.start("well")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    pods.add("sick", port, app="well")
    pods.expose("well", 30080)
    await pods.until_open(30080)
    for _ in range(4):
        async with pods.connection(30080) as (reader, _):
            assert await reader.readline() == b"well\n"


async def test_without_a_pod_a_connection_ends_at_once(pods: Pods) -> None:
    pods.expose("nobody", 30080)
    await pods.until_open(30080)
    async with pods.connection(30080) as (reader, _):
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""


async def test_the_end_of_what_is_sent_is_passed_on(pods: Pods) -> None:
    await pods.start("well")
    pods.expose("well", 30080)
    await pods.until_open(30080)
    async with pods.connection(30080) as (reader, writer):
        writer.write(b"last words\n")
        writer.write_eof()
        assert await reader.read() == b"well\nlast words\n"


async def test_a_port_that_is_taken_is_told_and_had_later(pods: Pods, caplog: pytest.LogCaptureFixture) -> None:
    pods.taken.append(30080)
    await pods.start("well")
    pods.expose("well", 30080)

    async def told() -> bool | None:
        return "service cannot be reached" in caplog.text or None

    await eventually("it is told", told, limit_seconds=LIMIT_SECONDS)
    pods.taken.clear()
    pods.proxy.refresh()
    await pods.until_open(30080)
    async with pods.connection(30080) as (reader, _):
        assert await reader.readline() == b"well\n"


async def test_a_service_that_goes_is_listened_for_no_longer(pods: Pods) -> None:
    await pods.start("well")
    pods.expose("well", 30080)
    await pods.until_open(30080)
    pods.services.clear()
    pods.proxy.refresh()

    async def refused() -> bool | None:
        return await _is_refused(pods.listening[30080]) or None

    await eventually("connections are refused", refused, limit_seconds=LIMIT_SECONDS)


async def _is_refused(port: int) -> bool:
    """Whether nobody listens on a port; a connection may also be cut off while its listener goes."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        return False
    writer.close()
    return False
