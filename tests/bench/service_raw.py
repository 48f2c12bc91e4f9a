"""The floor of the RayServices' bench: the same objects, made by a plain script with as few writes as there can be."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import uvloop

from manta_common.api.core import Pod
from manta_common.api.labels import CLUSTER, ENDPOINT_SLICE_SERVICE, SERVE, TRUE
from manta_common.api.names import serve_service
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, POD, RAYCLUSTER, RAYSERVICE, SERVICE, Kind
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from manta_common.ray.pods import head_pod
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from manta_serve_reconciler import manifests
from tests.bench.cluster_api import CLOSING_SECONDS, IN_FLIGHT, took
from tests.integration.service_world import Services
from tests.parts.control_plane import ControlPlane

LIMIT_SECONDS = 300


class Script:
    """Makes for each RayService a RayCluster, its head pod and all Services, and writes one status: that it serves.

    Nobody asks Serve anything: its answers are not what takes time.
    """

    def __init__(self, kube: Client, services: Services) -> None:
        self._kube, self._services, self._namespace = kube, services, services.namespace
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._running: dict[str, asyncio.Event] = {}  # head pods, by their clusters
        self._reached: dict[str, asyncio.Event] = {}  # serve Services with a pod behind them

    async def run(self, names: Sequence[str]) -> None:
        """All RayServices at once, until they serve."""
        self._running = {_on(name): asyncio.Event() for name in names}
        self._reached = {serve_service(name): asyncio.Event() for name in names}
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(self._watch_pods()), group.create_task(self._watch_slices())]
            await asyncio.gather(*(self._one(name) for name in names))
            for task in watching:
                task.cancel()

    async def _one(self, name: str) -> None:
        async with self._room:
            service, cluster, pod = await self._begin(name)
        await self._running[_on(name)].wait()
        async with self._room:
            label = MergePatch({"metadata": {"labels": {SERVE: TRUE}}})
            await self._kube.patch(POD, Key(self._namespace, pod.metadata.name), label, msgspec.Raw)
            await self._make(SERVICE, manifests.service_head_service(service, cluster, RaySettings()))
            await self._make(SERVICE, manifests.serve_service(service, cluster))
        await self._reached[serve_service(name)].wait()
        async with self._room:
            serves = MergePatch({"status": {"serviceStatus": "Running", "numServeEndpoints": 1}})
            await self._kube.patch(RAYSERVICE, Key(self._namespace, name), serves, msgspec.Raw, subresource="status")

    async def _begin(self, name: str) -> tuple[RayService, RayCluster, Pod]:
        """What comes before Serve."""
        service = await self._kube.create(RAYSERVICE, self._namespace, self._services.manifest(name), RayService)
        planned = manifests.ray_cluster(service, _on(name), without_replicas=False)
        cluster = await self._kube.create(RAYCLUSTER, self._namespace, planned, RayCluster)
        await self._make(SERVICE, head_service(cluster, RaySettings()))
        pod = await self._kube.create(POD, self._namespace, head_pod(cluster, 0, RaySettings()), Pod)
        return service, cluster, pod

    async def _make(self, kind: Kind, manifest: dict[str, Any]) -> None:
        await self._kube.create(kind, self._namespace, manifest, msgspec.Raw)

    async def _watch_pods(self) -> None:
        """Note whose pods run."""
        scope = Scope(namespace=self._namespace)
        since = (await self._kube.list_versions(POD, scope)).version
        async with aclosing(self._kube.watch(POD, Pod, scope, since=since)) as changes:
            async for change in changes:
                if change.object and change.object.status.phase == "Running":
                    self._running[change.object.metadata.labels[CLUSTER]].set()

    async def _watch_slices(self) -> None:
        """Note which serve Services have a pod that is ready."""
        scope = Scope(namespace=self._namespace)
        since = (await self._kube.list_versions(ENDPOINTSLICE, scope)).version
        async with aclosing(self._kube.watch(ENDPOINTSLICE, dict, scope, since=since)) as changes:
            async for change in changes:
                slice_ = change.object or {}
                ready = any(each["conditions"].get("ready") for each in slice_.get("endpoints") or ())
                if ready and (reached := self._reached.get(slice_["metadata"]["labels"][ENDPOINT_SLICE_SERVICE])):
                    reached.set()


def raw_seconds(plane: ControlPlane, namespace: str, names: Sequence[str]) -> float:
    """How long the script takes for these RayServices."""

    async def main() -> float:
        settings = KubeSettings(service="bench", connections=IN_FLIGHT + 4)
        async with connect(settings, kubeconfig=str(plane.kubeconfig)) as kube, asyncio.timeout(LIMIT_SECONDS):
            found = await took(Script(kube, Services(plane, namespace)).run(names))
        await asyncio.sleep(CLOSING_SECONDS)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def _on(service: str) -> str:
    """The name of a RayService's cluster."""
    return f"{service}-abcde"
