"""A process node on an API in memory, with a bridge of its own on this machine: what a user does and sees."""

import asyncio
import contextlib
import itertools
import os
import pathlib
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import EVENT, POD, Kind
from manta_common.kube.protocol import Kube
from manta_common.kube.settings import KubeSettings
from manta_embedded.api.machine import Command, LogQuery
from manta_embedded.api.plane import LivePlane
from manta_embedded.node.binding import binder
from manta_embedded.node.ground import Tokens
from manta_embedded.node.node import ProcessNode
from manta_embedded.node.settings import NodeSettings
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store
from tests.parts.patience import patient
from tests.parts.process import Unavailable

LIMIT_SECONDS = 30.0
FILES_IN_TMP = "find /tmp -maxdepth 1 -type f -printf '%f\\n'"  # Manta's own programs may be in a folder there
numbers = itertools.count(os.getpid() % 200)


class Settled(Exception):
    """A condition did not come true."""


def a_token(namespace: str, account: str) -> str:
    """For an API that nobody asks."""
    return "a-token"


class NodeWorld:
    """One store and one node, which sees the store from afar if it is given a way."""

    def __init__(
        self,
        store: Store,
        folder: pathlib.Path,
        *,
        tokens: Tokens = a_token,
        far: Kube | None = None,
        **settings: Any,
    ) -> None:
        self.store, self.folder = store, folder
        kube = far or EmbeddedKube(store, KubeSettings(service="node"))
        bind = binder(far) if far else self._bind
        self.node = ProcessNode(kube, node_settings(folder, **settings), bind, tokens=tokens)
        self._changed = asyncio.Event()
        self._leave = store.subscribe(lambda _: self._changed.set())
        self._life: asyncio.Task[None] | None = None

    async def _bind(self, key: Key, node: str) -> None:
        self.store.bind(key, node)

    async def start(self) -> None:
        self._life = asyncio.create_task(self.node.live())
        ready = asyncio.create_task(self.node.ready.wait())
        await asyncio.wait([ready, self._life], timeout=patient(LIMIT_SECONDS), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self.stop()
            raise Settled("the node does not become ready") from self._life.exception()

    async def stop(self) -> None:
        assert self._life is not None
        self._life.cancel()
        await asyncio.wait([self._life])
        self._leave()

    def create(self, kind: Kind, obj: Obj, namespace: str = "default") -> Obj:
        return self.store.create(kind, namespace, obj)

    def pod(self, name: str, *containers: Obj, **spec: Any) -> Obj:
        """Create a pod."""
        made = {"metadata": {"name": name}, "spec": {"containers": list(containers), **spec}}
        return self.create(POD, made)

    def get(self, name: str) -> Obj:
        return self.store.get(POD, Key("default", name))

    def status(self, name: str) -> Obj:
        found: Obj = self.get(name).get("status") or {}
        return found

    def state(self, name: str, container: str = "main") -> Obj:
        """The status of one container."""
        status = self.status(name)
        every = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
        return next((one for one in every if one["name"] == container), {"state": {}, "lastState": {}})

    def condition(self, name: str, kind: str) -> Obj:
        return next((one for one in self.status(name).get("conditions", ()) if one["type"] == kind), {"status": ""})

    def delete(self, name: str, grace_seconds: int | None = None) -> None:
        self.store.delete(POD, Key("default", name), Deletion(grace_seconds=grace_seconds))

    def events(self, name: str) -> list[str]:
        """The reasons of the events of a pod."""
        return [one["reason"] for one in self.store.objects(EVENT) if one["regarding"]["name"] == name]

    async def until(self, what: str, holds: Callable[[], object], limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait for a condition on the store, patiently; it is looked at whenever something has changed."""
        try:
            async with asyncio.timeout(patient(limit_seconds)):
                while not holds():
                    self._changed.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.2):
                            await self._changed.wait()
        except TimeoutError:
            raise Settled(f"not after {patient(limit_seconds):g} s: {what}\n{self.told()}") from None

    def told(self) -> str:
        """What is known of all pods, for somebody who looks for a fault."""
        pods = {one["metadata"]["name"]: one.get("status") for one in self.store.objects(POD)}
        logs = [
            f"--- {path.relative_to(self.folder)}\n" + "\n".join(path.read_text().splitlines()[-12:])
            for path in sorted(self.folder.glob("pods/*/logs/*/*.log"))
        ]
        return "\n".join([*(f"{name}: {msgspec.json.encode(status).decode()}" for name, status in pods.items()), *logs])

    async def phase(self, name: str, wanted: str, limit_seconds: float = LIMIT_SECONDS) -> Obj:
        """Wait for a phase; the status."""
        await self.until(f"{name} is {wanted}", lambda: self.status(name).get("phase") == wanted, limit_seconds)
        return self.status(name)

    async def ready(self, name: str, limit_seconds: float = LIMIT_SECONDS) -> Obj:
        await self.until(f"{name} is ready", lambda: self.condition(name, "Ready")["status"] == "True", limit_seconds)
        return self.status(name)

    async def gone(self, name: str, limit_seconds: float = LIMIT_SECONDS) -> None:
        await self.until(f"{name} is gone", lambda: not self.store.find(POD, Key("default", name)), limit_seconds)

    async def log(self, name: str, container: str = "main", **query: Any) -> str:
        found = self.node.logs(self.get(name), LogQuery(container=container, **query))
        return b"".join([chunk async for chunk in found]).decode()

    async def first_words(self, name: str, container: str = "main") -> str:
        """What a pod says first, as soon as it is there: it may run before."""
        async with (
            asyncio.timeout(patient(LIMIT_SECONDS)),
            contextlib.aclosing(self.node.logs(self.get(name), LogQuery(container=container, follow=True))) as found,
        ):
            return (await anext(found)).decode()

    async def run(self, name: str, *argv: str, container: str = "main", stdin: bytes = b"") -> tuple[int, str]:
        """Run a command in a container; exit code, and what it said: on stderr, then on stdout."""
        terminal = Recorded(stdin)
        command = Command(container=container, argv=argv, stdin=bool(stdin))
        code = await self.node.run(self.get(name), command, terminal)
        return code, (terminal.err + terminal.out).decode()


class Recorded:
    """A terminal that remembers what it was told."""

    def __init__(self, stdin: bytes) -> None:
        self._stdin, self.out, self.err = stdin, b"", b""  # nobody knows in which order the two come

    async def read(self) -> bytes:
        found, self._stdin = self._stdin, b""
        return found

    async def stdout(self, chunk: bytes) -> None:
        self.out += chunk

    async def stderr(self, chunk: bytes) -> None:
        self.err += chunk

    async def size(self) -> tuple[int, int]:
        await asyncio.Event().wait()
        return 80, 24


def node_settings(folder: pathlib.Path, **settings: Any) -> NodeSettings:
    """A node with a bridge and a network that no other test has."""
    if os.geteuid() != 0:
        raise Unavailable("a node makes network namespaces: run the tests as root")
    number = next(numbers) % 200
    usual: dict[str, Any] = {"bridge": f"mnt{os.getpid() % 10000}x{number}", "subnet": f"198.19.{number}.0/24"}
    return NodeSettings(**{"folder": folder, **usual, **settings})


def live_store() -> Store:
    """A store in real time."""
    return Store(SystemClock(), random.Random(), epoch=datetime.now(UTC))


@contextlib.asynccontextmanager
async def node_world(folder: pathlib.Path, **settings: Any) -> AsyncIterator[NodeWorld]:
    """A store with controllers and a node, until the end of the block."""
    store = live_store()
    plane = LivePlane(store, "")
    plane.start()
    world = NodeWorld(store, folder, **settings)
    await world.start()
    try:
        yield world
    finally:
        await world.stop()
        plane.stop()


def shell(script: str, *, name: str = "main", **more: Any) -> Obj:
    """A container that runs a script."""
    return {"name": name, "image": "example/any:1", "command": ["bash", "-c", script], **more}
