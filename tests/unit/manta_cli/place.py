"""A cluster in memory and in virtual time for commands, and what they print."""

import argparse
import asyncio
import importlib
import io
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from manta_cli.commands import COMMANDS, parser
from manta_cli.console import Console
from manta_cli.session import Session
from manta_common.errors import MantaError, NotFound
from manta_common.keys import Key
from manta_common.kinds import CRD, NAMESPACE, RAYJOB, Kind
from manta_common.kube.protocol import MergePatch
from manta_common.kube.settings import KubeSettings
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.schema.ray import definitions
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer
from tests.unit.manta_common.virtual import run

USER = Writer("user")


class LoopClock:
    """The time of the running loop, which is virtual."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> Any:
        return asyncio.timeout(seconds)


class Terminal(io.StringIO):
    """A text that says whether it is a terminal."""

    def __init__(self, is_terminal: bool = False) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class ClusterInMemory(EmbeddedKube):
    """What a command asks of a cluster; logs and answers of paths are what the test says."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, KubeSettings(service="cli"))
        self.logs: dict[tuple[Key, str], list[bytes]] = {}
        self.answers: dict[str, bytes] = {}
        self.failures: dict[str, MantaError] = {}
        self.version = "v1.36.0"
        self.refused: set[str] = set()
        self.asked_about: set[tuple[str, str, str]] = set()  # by which review, of whom, where

    async def log(self, key: Key, *, container: str = "", follow: bool = False) -> AsyncIterator[bytes]:
        for chunk in self.logs[key, container]:
            yield chunk

    async def fetch(self, path: str) -> bytes:
        if path in self.failures:
            raise self.failures[path]
        if path not in self.answers:
            raise NotFound(f"nothing answers at {path}")
        return self.answers[path]

    async def server_version(self) -> str:
        return self.version

    async def create(self, kind: Kind, namespace: str, body: Any, into: Any) -> Any:
        if not kind.kind.endswith("SubjectAccessReview"):
            return await super().create(kind, namespace, body, into)
        asked = body["spec"]["resourceAttributes"]
        self.asked_about.add((kind.kind, body["spec"].get("user", ""), namespace))
        resource = "/".join(filter(None, (asked["resource"], asked["subresource"])))
        return {"status": {"allowed": f"{asked['verb']} {resource}" not in self.refused}}


class Place:
    """One world in which commands are run."""

    def __init__(self) -> None:
        self.store = Store(LoopClock(), random.Random(0))
        self.store.create(NAMESPACE, "", {"metadata": {"name": "team"}})
        for definition in definitions():
            self.store.create(CRD, "", definition)
        self.kube = ClusterInMemory(self.store)
        self.out, self.err = Terminal(), Terminal()

    def make(self, kind: Kind, body: Any) -> dict[str, Any]:
        """Create an object."""
        return dict(self.store.create(kind, "team" if kind.namespaced else "", body))

    def tell(self, name: str, **status: Any) -> None:
        """Write fields of a RayJob's status."""
        self.store.patch(RAYJOB, Key("team", name), MergePatch({"status": status}), USER, subresource="status")

    async def manta(self, *words: str) -> int:
        """Run a command as it is typed; its exit code."""
        options = parsed(*words)
        session = Session(options=options, kube=self.kube, console=Console(self.out, self.err, {}), namespace="team")
        return int(await work(options.command)(session))

    @property
    def said(self) -> str:
        """What was answered so far; it is forgotten."""
        text = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return text

    @property
    def document(self) -> Any:
        """The same, read as JSON."""
        return msgspec.json.decode(self.said)


def parsed(*words: str) -> argparse.Namespace:
    """A command line."""
    return parser(words[:1]).parse_args(words)


def work(command: str) -> Callable[[Session], Awaitable[int]]:
    """What a command does."""
    module = importlib.import_module(f"manta_cli.{COMMANDS[command].module}")
    found: Callable[[Session], Awaitable[int]] = getattr(module, COMMANDS[command].work)
    return found


def played(scenario: Callable[[Place], Awaitable[None]]) -> None:
    """Play a scenario in a world of its own, in virtual time."""

    async def main() -> None:
        await scenario(Place())

    run(main())
