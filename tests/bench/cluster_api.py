"""What a bench does with RayClusters, at little cost to the API server: connections are kept, states are watched."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
import uvloop

from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import POD, RAYCLUSTER, Kind
from manta_common.kube.client import connect
from manta_common.kube.protocol import Kube, Patch, Scope
from manta_common.kube.settings import KubeSettings
from manta_common.ray.names import Place
from manta_common.ray.pods import worker_pods
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.parts.control_plane import ControlPlane

IN_FLIGHT = 16
LIMIT_SECONDS = 170
CLOSING_SECONDS = 0.25  # TLS connections take their time to close, and an open one is a warning
NAMESPACE = Kind("namespace", "Namespace", "namespaces", namespaced=False)
T = TypeVar("T")


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a cluster, the phase of a pod, how far a job or a service has come."""

    state: str = ""
    phase: str = ""
    available_worker_replicas: int = 0
    job_deployment_status: str = ""
    job_status: str = ""
    service_status: str = ""


class Seen(msgspec.Struct, frozen=True):
    """As much of an object as a bench wants to know."""

    metadata: ObjectMeta
    status: Status = Status()


class Api:
    """One namespace, by one client."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.kube, self.namespace = kube, namespace

    async def create(self, name: str, *, workers: int) -> None:
        """Create a RayCluster."""
        spec = manifests.worker(replicas=workers, maxReplicas=max(1, workers))
        await self.kube.create(RAYCLUSTER, self.namespace, manifests.cluster(spec, name=name), msgspec.Raw)

    async def create_many(self, names: Iterable[str], *, workers: int) -> None:
        """Create RayClusters, so many in flight."""
        await _in_flight(self.create(name, workers=workers) for name in names)

    async def make_many(self, kind: Kind, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Create objects, so many in flight."""
        await _in_flight(self.kube.create(kind, self.namespace, body, msgspec.Raw) for body in bodies)

    async def patch_many(self, kind: Kind, names: Iterable[str], patch: Patch) -> None:
        """Change objects alike, so many in flight."""
        await _in_flight(self.kube.patch(kind, Key(self.namespace, name), patch, msgspec.Raw) for name in names)

    async def names(self, kind: Kind) -> list[str]:
        """What there is of a kind."""
        found = await self.kube.list_versions(kind, Scope(namespace=self.namespace))
        return [one.name for one in found.items]

    async def create_raw(self, count: int, *, stem: str = "raw") -> None:
        """Create the pods that a RayCluster of that size would have, without an operator."""
        uid = "00000000-0000-0000-0000-000000000000"
        spec = manifests.worker(replicas=count, maxReplicas=count)
        manifest = manifests.cluster(spec, name=stem, namespace=self.namespace, uid=uid)
        of = msgspec.json.decode(msgspec.json.encode(manifest), type=RayCluster)
        bodies = worker_pods(of, of.spec.worker_group_specs[0], [Place(n) for n in range(count)], RaySettings())
        for body in bodies:
            body["metadata"] |= {"ownerReferences": [], "name": ""}  # the API server gives a name that is not taken
        encoded = [msgspec.json.encode(body) for body in bodies]
        await _in_flight(self.kube.create(POD, self.namespace, body, msgspec.Raw) for body in encoded)

    async def until_pods(self, count: int, *, cluster: str = "", at_least: bool = False) -> None:
        """Wait until there are so many pods, or more, in all or of one cluster."""
        await self.until(POD, lambda _: True, count, cluster=cluster, at_least=at_least)

    async def until_running(self, count: int, *, cluster: str = "") -> None:
        """Wait until so many pods run."""
        await self.until(POD, lambda pod: pod.status.phase == "Running", count, cluster=cluster)

    async def until_ready(self, names: Iterable[str]) -> None:
        """Wait until RayClusters say that they are ready."""
        wanted = set(names)

        def is_ready(cluster: Seen) -> bool:
            return cluster.metadata.name in wanted and cluster.status.state == "ready"

        await self.until(RAYCLUSTER, is_ready, len(wanted))

    async def until(
        self, kind: Kind, counts: Callable[[Seen], bool], wanted: int, *, cluster: str = "", at_least: bool = False
    ) -> None:
        """Wait until so many objects count; a watch costs the API server less than asking again and again."""
        scope = self._of(cluster)
        while True:
            listed = await self.kube.list(kind, Seen, scope)
            found = {one.metadata.name for one in listed.items if counts(one)}
            if _is_enough(found, wanted, at_least=at_least):
                return
            async with aclosing(self.kube.watch(kind, Seen, scope, since=listed.version)) as changes:
                async for change in changes:
                    if change.object:
                        keep = found.add if change.type != "DELETED" and counts(change.object) else found.discard
                        keep(change.object.metadata.name)
                    if _is_enough(found, wanted, at_least=at_least):
                        return

    async def count(self, kind: Kind, cluster: str = "") -> int:
        """How many objects there are."""
        return len((await self.kube.list_versions(kind, self._of(cluster))).items)

    async def delete_namespace(self) -> None:
        """Delete the namespace and wait until all of it is gone: what follows must not pay for it."""
        key = Key("", self.namespace)
        try:
            found = await self.kube.get(NAMESPACE, key, Seen)
            await self.kube.delete(NAMESPACE, key, uid=found.metadata.uid)
            while True:
                await self.kube.get(NAMESPACE, key, Seen)
                await asyncio.sleep(0.2)
        except NotFound:
            return

    def _of(self, cluster: str) -> Scope:
        return Scope(namespace=self.namespace, labels=f"ray.io/cluster={cluster}" if cluster else "")


def _is_enough(found: set[str], wanted: int, *, at_least: bool) -> bool:
    return len(found) == wanted or (at_least and len(found) > wanted)


async def _in_flight(calls: Iterable[Coroutine[Any, Any, object]], at_most: int = IN_FLIGHT) -> None:
    """Make all calls, so many at a time."""
    left = iter(calls)

    async def work() -> None:
        for call in left:
            await call

    await asyncio.gather(*(work() for _ in range(at_most)))


def run(
    plane: ControlPlane,
    namespace: str,
    steps: Callable[[Api], Coroutine[Any, Any, T]],
    *,
    limit_seconds: float = LIMIT_SECONDS,
) -> T:
    """Take some steps in a namespace, within the limit; TimeoutError after it."""

    async def main() -> T:
        settings = KubeSettings(service="bench", connections=IN_FLIGHT + 4)
        async with connect(settings, kubeconfig=str(plane.kubeconfig)) as kube, asyncio.timeout(limit_seconds):
            found = await steps(Api(kube, namespace))
        await asyncio.sleep(CLOSING_SECONDS)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def took(*steps: Coroutine[Any, Any, object]) -> float:
    """Seconds that it takes until all of these, begun at once, are done."""
    began = time.monotonic()
    await asyncio.gather(*steps)
    return time.monotonic() - began
