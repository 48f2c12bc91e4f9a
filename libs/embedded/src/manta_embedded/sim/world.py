"""A world: Kubernetes, NATS, nodes, dashboards and the services of Manta, in one thread and in virtual time."""

import asyncio
import contextvars
import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import MergePatch
from manta_embedded.sim.bus import SimulatedNats
from manta_embedded.sim.clock import LoopClock
from manta_embedded.sim.controllers import SteppedControllers
from manta_embedded.sim.dashboards import Dashboards, Reply
from manta_embedded.sim.errors import NeverHappened
from manta_embedded.sim.history import History
from manta_embedded.sim.loop import Limits, VirtualLoop
from manta_embedded.sim.nodes import Nodes
from manta_embedded.sim.service import Build, Ground, SimulatedService
from manta_embedded.sim.submitters import Submitters
from manta_embedded.sim.ways import Latency
from manta_embedded.store.admission_quota import Quotas
from manta_embedded.store.changes import Event
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer

USER = Writer("user")
LOOK_SECONDS = 1.0  # how often a condition is looked at though nothing has happened
Check = Callable[[Event], str | None]


class Climate(msgspec.Struct, frozen=True, kw_only=True):
    """How a world is, apart from what happens in it.

    Without `validation` custom resources are defaulted and pruned by their schemas, but not refused.
    """

    validation: bool = False
    latency: Latency = Latency()
    limits: Limits = Limits()


class World:
    """All of it. Two worlds share nothing."""

    def __init__(self, loop: VirtualLoop, seed: int, climate: Climate) -> None:
        self.seed, self.loop, self.clock = seed, loop, LoopClock(loop)
        self.chance = random.Random(f"{seed}/world")
        self._changed = asyncio.Event()
        self.history = History(loop.time, self._changed.set)
        self.store = Store(self.clock, random.Random(f"{seed}/store"))
        shaping = CustomResources(validate=climate.validation, cel=climate.validation)
        self.store.admissions += [shaping, Quotas(self.store)]
        self.nats = SimulatedNats(self.clock, random.Random(f"{seed}/nats"))
        self.controllers = SteppedControllers(self.store, loop, self.history, random.Random(f"{seed}/controllers"))
        self.dashboards = Dashboards(self.store, self.history, random.Random(f"{seed}/dashboards"))
        self.nodes = Nodes(self.store, loop, self.history, random.Random(f"{seed}/nodes"))
        self.nodes.rule(Submitters(self._ask_ray))
        self.services: dict[str, SimulatedService] = {}
        self.failed: asyncio.Future[None] = loop.create_future()
        self._ground = Ground(
            seed=seed,
            loop=loop,
            clock=self.clock,
            store=self.store,
            nats=self.nats,
            history=self.history,
            latency=climate.latency,
            fail=self.fail,
        )
        self._checks: list[Check] = []
        self.store.subscribe(self._note)

    # Services

    def start(self, name: str, build: Build) -> SimulatedService:
        """Start a replica of a service; its name tells it from others in the history."""
        if name in self.services:
            raise ValueError(f"there is a service {name} already; restart it, or choose another name")
        service = self.services[name] = SimulatedService(self._ground, name, build)
        service.start()
        return service

    def service(self, name: str) -> SimulatedService:
        """The service of this name."""
        return self.services[name]

    @property
    def repeats(self) -> list[str]:
        """The creations and deletions that services repeated although they were told that they had succeeded."""
        return [f"{service.name}: {what}" for service in self.services.values() for what in service.repeats]

    # What a user does, at once

    def create(self, kind: Kind, manifest: Mapping[str, Any], namespace: str = "default") -> Obj:
        """Create an object; the manifest need not name its kind."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **manifest}
        made = self.store.create(kind, namespace if kind.namespaced else "", body, USER)
        self.history.tell("user", "create", f"{kind.name} {_key(made)}")
        return made

    def patch(self, kind: Kind, name: str, body: Mapping[str, Any], namespace: str = "default") -> Obj:
        """Merge some fields into an object."""
        key = Key(namespace if kind.namespaced else "", name)
        self.history.tell("user", "patch", f"{kind.name} {key}")
        return self.store.patch(kind, key, MergePatch(dict(body)), USER)

    def delete(self, kind: Kind, name: str, namespace: str = "default") -> None:
        """Delete an object, in the background."""
        key = Key(namespace if kind.namespaced else "", name)
        self.history.tell("user", "delete", f"{kind.name} {key}")
        self.store.delete(kind, key, Deletion())

    def find(self, kind: Kind, name: str, namespace: str = "default") -> Obj | None:
        """One object, or None."""
        return self.store.find(kind, Key(namespace if kind.namespaced else "", name))

    def objects(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """Every object of a kind, in order of their names."""
        return list(self.store.objects(kind, namespace))

    # Waiting and checking

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def until(self, what: str, condition: Callable[[], object], *, limit_seconds: float = 120) -> float:
        """Wait until a condition holds, which is looked at after every change; how long that took."""
        began = self.loop.time()
        while not condition():
            left = began + limit_seconds - self.loop.time()
            if left <= 0:
                raise NeverHappened(f"not within {limit_seconds:g} s: {what}")
            self._changed.clear()
            look = self.loop.call_later(min(LOOK_SECONDS, left), self._changed.set)
            await self._changed.wait()
            look.cancel()
        return self.loop.time() - began

    def always(self, check: Check) -> None:
        """Ask a function after every change in the store; the run fails with what it complains of."""
        self._checks.append(check)

    def fail(self, error: BaseException) -> None:
        """End the run."""
        if not self.failed.done():
            self.failed.set_exception(error)

    def end(self) -> None:
        """Kill every service, for good."""
        for service in self.services.values():
            service.end()

    def later(self, seconds: float, act: Callable[..., object], *arguments: object) -> None:
        """Have something happen after a while, whatever the scenario does meanwhile."""
        self.loop.call_later(seconds, act, *arguments, context=contextvars.Context())

    async def _ask_ray(self, method: str, url: str, body: bytes) -> Reply:
        return await self.dashboards.request(method, url, body=body)

    def _note(self, event: Event) -> None:
        self._changed.set()
        for check in self._checks:
            if complaint := check(event):
                self.history.tell("check", "FAILS", event.key, complaint)
                self.fail(AssertionError(complaint))


def _key(obj: Obj) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
