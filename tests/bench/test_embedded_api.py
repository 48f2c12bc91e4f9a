"""The embedded API over HTTP and TLS: creations and watch events that one core serves, and how soon it is there."""

import asyncio
import json
import os
import pathlib
import ssl
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

CREATES, CONNECTIONS, CREATES_A_SECOND = 3_000, 8, 1_000
WATCHES, CHANGES, EVENTS_A_SECOND = 10, 1_000, 5_000
READY_SECONDS = 1.0
PATH = "/api/v1/namespaces/default/configmaps"


class Server:
    """The process, and how much of a core it has used."""

    def __init__(self, folder: pathlib.Path) -> None:
        command = [sys.executable, "-m", "tests.bench.embedded_process", str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.place: dict[str, Any] = json.loads(self._process.stdout.readline())
        self.tls = ssl.create_default_context(cafile=self.place["ca"])

    def cpu_seconds(self) -> float:
        """CPU time of the process, of user and system together."""
        fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection."""
        return await asyncio.open_connection("127.0.0.1", self.place["port"], ssl=self.tls, limit=1 << 24)

    def head(self, method: str, path: str, length: int = 0) -> bytes:
        """The head of a request."""
        return (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.place['token']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    def stop(self) -> None:
        """End it."""
        self._process.communicate(timeout=20)


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    """A server with nothing in it."""
    found = Server(tmp_path / "state")
    yield found
    found.stop()


async def _create(server: Server, names: list[str]) -> None:
    reader, writer = await server.connect()
    for name in names:
        meta = {"name": name, "labels": {"ray.io/cluster": "one"}}
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"key": "value"}})
        writer.write(server.head("POST", PATH, len(body)) + body.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 201"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()


async def _create_all(server: Server, count: int) -> None:
    names = [f"item-{number}" for number in range(count)]
    async with asyncio.TaskGroup() as group:
        for number in range(CONNECTIONS):
            group.create_task(_create(server, names[number::CONNECTIONS]))


async def _watch(server: Server, count: int, opened: asyncio.Event) -> None:
    reader, writer = await server.connect()
    writer.write(server.head("GET", f"{PATH}?watch=1&resourceVersion=0&labelSelector=ray.io/cluster%3Done"))
    await reader.readuntil(b"\r\n\r\n")
    opened.set()
    found = 0
    while found < count:
        found += (await reader.read(1 << 20)).count(b'{"type":"ADDED"')
    writer.close()


async def _watch_all(server: Server) -> None:
    async with asyncio.TaskGroup() as group:
        opened = [asyncio.Event() for _ in range(WATCHES)]
        for one in opened:
            group.create_task(_watch(server, CHANGES, one))
        for one in opened:
            await one.wait()
        await _create_all(server, CHANGES)


async def test_creations_for_one_core(server: Server) -> None:
    before = server.cpu_seconds()
    await _create_all(server, CREATES)
    rate = CREATES / (server.cpu_seconds() - before)
    print(f"{rate:,.0f} creations for a second of CPU; ready {server.place['seconds']:.2f} s after its start")
    assert rate > CREATES_A_SECOND
    assert server.place["seconds"] < READY_SECONDS


async def test_watch_events_for_one_core(server: Server) -> None:
    before = server.cpu_seconds()
    await _watch_all(server)
    rate = WATCHES * CHANGES / (server.cpu_seconds() - before)
    print(f"{rate:,.0f} watch events for a second of CPU, the creations that cause them included")
    assert rate > EVENTS_A_SECOND
