"""A store with its controllers and a clock that is moved by hand; pods do what a test says."""

import asyncio
import random
from contextlib import AbstractAsyncContextManager
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, NAMESPACE, POD, Kind
from manta_embedded.store.admission_quota import Quotas
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

SPACE = "space"


class HandClock:
    """Time that moves only when it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


class SmallWorld:
    """Everything in one namespace."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock, random.Random(1))
        self.store.admissions.append(Quotas(self.store))
        self.controllers = Controllers(self.store)
        self.create(NAMESPACE, {"metadata": {"name": SPACE}})

    def create(self, kind: Kind, body: Obj) -> Obj:
        """Create an object and let the controllers work."""
        made = self.store.create(kind, SPACE if kind.namespaced else "", body)
        self.controllers.settle()
        return made

    def delete(self, kind: Kind, name: str, **options: Any) -> None:
        """Delete an object and let the controllers work."""
        self.store.delete(kind, self.key(kind, name), Deletion(**options))
        self.controllers.settle()

    def get(self, kind: Kind, name: str) -> Obj:
        """An object that is there."""
        return self.store.get(kind, self.key(kind, name))

    def names(self, kind: Kind) -> list[str]:
        """What there is of a kind."""
        return [obj["metadata"]["name"] for obj in self.store.objects(kind, SPACE)]

    def merge(self, kind: Kind, name: str, subresource: str = "", **parts: Any) -> Obj:
        """Change parts of an object and let the controllers work."""
        obj = self.get(kind, name)
        changed = {part: {**obj.get(part, {}), **values} for part, values in parts.items()}
        made = self.store.update(kind, self.key(kind, name), {**obj, **changed}, subresource=subresource)
        self.controllers.settle()
        return made

    def pass_time(self, seconds: float) -> None:
        """Let time pass; the controllers work whenever something is due."""
        end = self.clock.seconds + seconds
        while (due := self.controllers.due()) is not None:
            ahead = (due - self.store.now()).total_seconds()
            if self.clock.seconds + ahead > end:
                break
            self.clock.seconds += max(ahead, 0)
            self.controllers.settle()
        self.clock.seconds = end
        self.controllers.settle()

    def pods(self) -> list[Obj]:
        """Every pod."""
        return list(self.store.objects(POD, SPACE))

    def end_pod(self, name: str, phase: str) -> None:
        """Have a pod end, with its one container."""
        ended = {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": text_of(self.store.now())}}
        self.merge(
            POD, name, "status", status={"phase": phase, "containerStatuses": [{"name": "main", "state": ended}]}
        )

    def run_pod(self, name: str) -> None:
        """Have a pod run and be ready on a node."""
        self.store.bind(self.key(POD, name), "node")
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": text_of(self.store.now())}
        self.merge(POD, name, "status", status={"phase": "Running", "conditions": [ready]})

    @staticmethod
    def key(kind: Kind, name: str) -> Key:
        """The key of an object here."""
        return Key(SPACE if kind.namespaced else "", name)


def configmap(name: str, *owners: Obj, block: bool = False, **metadata: Any) -> Obj:
    """A config map, owned by others."""
    references = [owned_by(owner, block=block) for owner in owners]
    return {"metadata": {"name": name, "ownerReferences": references, **metadata}}


def owned_by(owner: Obj, *, block: bool = False) -> Obj:
    """A reference to an owner."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    return {**named, "uid": owner["metadata"]["uid"], **({"blockOwnerDeletion": True} if block else {})}


def job(name: str = "work", restart: str = "Never", **spec: Any) -> Obj:
    """A Job of one container."""
    pod = {"restartPolicy": restart, "containers": [{"name": "main", "image": "example/work:1"}]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}, **spec}}


def conditions(world: SmallWorld, name: str = "work") -> list[tuple[str, str, str]]:
    """Type, status and reason of a Job's conditions."""
    found = world.get(JOB, name)["status"].get("conditions", [])
    return [(one["type"], one["status"], one["reason"]) for one in found]


def make(world: SmallWorld, name: str, *owners: Obj, **options: Any) -> Obj:
    """Create a config map, owned by others."""
    return world.create(CONFIGMAP, configmap(name, *owners, **options))
