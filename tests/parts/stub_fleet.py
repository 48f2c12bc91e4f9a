"""Thousands of dashboards in one process: whoever is asked is told by the Host header, what it does by its port."""

import asyncio
import collections
import json
import time
from typing import cast
from urllib.parse import unquote

DRIP_SECONDS = 1.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Fleet:
    """Healthy dashboards on one port, hung and dripping ones on two others; every job runs until it is ended."""

    def __init__(self) -> None:
        self.ended: set[str] = set()
        self.jobs: dict[str, list[str]] = {}  # of each host, for its list
        self.asked: collections.defaultdict[str, list[float]] = collections.defaultdict(list)  # when, by host
        self.open: set[asyncio.Transport] = set()
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> "Fleet":
        self.healthy, self.hung, self.dripping = [await self._listen(kind) for kind in (Healthy, Hung, Dripping)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for transport in tuple(self.open):
            transport.abort()
        await asyncio.sleep(0)  # until they are told

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self.open)

    async def _listen(self, kind: "type[Healthy]") -> str:
        server = await asyncio.get_running_loop().create_server(lambda: kind(self), "127.0.0.1", 0, backlog=4096)
        self._servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def answer(self, host: str, path: str) -> bytes:
        """What a healthy dashboard answers."""
        self.asked[host].append(time.monotonic())
        name = unquote(path.removeprefix("/api/jobs/"))
        return json.dumps(self._job(name) if name else [self._job(name) for name in self.jobs[host]]).encode()

    def _job(self, name: str) -> dict[str, object]:
        ended = name in self.ended
        return {
            "type": "SUBMISSION",
            "submission_id": name,
            "status": "SUCCEEDED" if ended else "RUNNING",
            "entrypoint": f"python {name}.py",
            "message": "Job finished successfully." if ended else "Job is currently running.",
            "start_time": 1_700_000_000_000,
            "end_time": 1_700_000_001_000 if ended else None,
            "metadata": {},
            "runtime_env": {},
            "driver_exit_code": 0 if ended else None,
        }


class Healthy(asyncio.Protocol):
    """Answers at once."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast("asyncio.Transport", transport)  # uvloop's are not of that class
        self.fleet.open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fleet.open.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            host = next(line[6:] for line in lines if line.lower().startswith("host: "))
            self.say(self.fleet.answer(host.partition(".")[0], first.split(" ")[1]))

    def say(self, body: bytes) -> None:
        """Answer."""
        self.transport.write(HEAD % len(body) + body)


class Hung(Healthy):
    """Takes the request and never answers."""

    def say(self, body: bytes) -> None:
        """Say nothing."""


class Dripping(Healthy):
    """Answers a byte a second."""

    def say(self, body: bytes) -> None:
        """Begin to answer."""
        self.transport.write(HEAD % len(body))
        self._drip(body)

    def _drip(self, body: bytes) -> None:
        if body and not self.transport.is_closing():
            self.transport.write(body[:1])
            asyncio.get_running_loop().call_later(DRIP_SECONDS, self._drip, body[1:])
