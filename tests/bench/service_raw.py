"""The floor of the RayServices' bench: the same objects, made by a plain script with as few writes as there can be."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from manta_common.api.core import Pod
from manta_common.api.labels import ENDPOINT_SLICE_SERVICE, SERVE, TRUE
from manta_common.api.names import serve_service
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, POD, RAYCLUSTER, RAYSERVICE, SERVICE
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.ray.pods import head_pod
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from manta_serve_reconciler import manifests
from tests.bench.floor import Floor, cluster_of, timed
from tests.integration.service_world import Services
from tests.parts.control_plane import ControlPlane

SETTINGS = RaySettings()


class Script:
    """Makes for each RayService a RayCluster, its head pod and all Services, and writes one status: that it serves.

    Nobody asks Serve anything: its answers are not what takes time.
    """

    def __init__(self, kube: Kube, services: Services) -> None:
        self._floor, self._services = Floor(kube, services.namespace), services
        self._reached: dict[str, asyncio.Event] = {}  # serve Services with a pod behind them

    async def run(self, names: Sequence[str]) -> None:
        """All RayServices at once, until they serve."""
        self._reached = {serve_service(name): asyncio.Event() for name in names}
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch_slices())
            await self._floor.play(map(cluster_of, names), map(self._one, names))
            watching.cancel()

    async def _one(self, name: str) -> None:
        floor = self._floor
        async with floor.room:
            service, cluster, pod = await self._begin(name)
        await floor.until_run(cluster_of(name))
        async with floor.room:
            label = MergePatch({"metadata": {"labels": {SERVE: TRUE}}})
            await floor.kube.patch(POD, Key(floor.namespace, pod.metadata.name), label, msgspec.Raw)
            await floor.make(SERVICE, manifests.service_head_service(service, cluster, SETTINGS), msgspec.Raw)
            await floor.make(SERVICE, manifests.serve_service(service, cluster), msgspec.Raw)
        await self._reached[serve_service(name)].wait()
        async with floor.room:
            await floor.tell(RAYSERVICE, name, serviceStatus="Running", numServeEndpoints=1)

    async def _begin(self, name: str) -> tuple[RayService, RayCluster, Pod]:
        """What comes before Serve."""
        service = await self._floor.make(RAYSERVICE, self._services.manifest(name), RayService)
        planned = manifests.ray_cluster(service, cluster_of(name), without_replicas=False)
        cluster = await self._floor.make(RAYCLUSTER, planned, RayCluster)
        await self._floor.make(SERVICE, head_service(cluster, SETTINGS), msgspec.Raw)
        pod = await self._floor.make(POD, head_pod(cluster, 0, SETTINGS), Pod)
        return service, cluster, pod

    async def _watch_slices(self) -> None:
        """Note which serve Services have a pod that is ready."""
        kube, scope = self._floor.kube, Scope(namespace=self._floor.namespace)
        since = (await kube.list_versions(ENDPOINTSLICE, scope)).version
        async with aclosing(kube.watch(ENDPOINTSLICE, dict, scope, since=since)) as changes:
            async for change in changes:
                slice_ = change.object or {}
                ready = any(each["conditions"].get("ready") for each in slice_.get("endpoints") or ())
                if ready and (reached := self._reached.get(slice_["metadata"]["labels"][ENDPOINT_SLICE_SERVICE])):
                    reached.set()


def raw_seconds(plane: ControlPlane, namespace: str, names: Sequence[str]) -> float:
    """How long the script takes for these RayServices."""
    return timed(plane, lambda kube: Script(kube, Services(plane, namespace)).run(names))
