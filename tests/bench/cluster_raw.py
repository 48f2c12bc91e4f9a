"""The floor of the clusters' bench: the same objects, made by a plain script with as few writes as there can be."""

from collections.abc import Sequence

import msgspec

from manta_common.api.raycluster import RayCluster
from manta_common.kinds import POD, RAYCLUSTER, SERVICE
from manta_common.kube.protocol import Kube
from manta_common.ray.names import Place
from manta_common.ray.pods import head_pod, worker_pods
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from tests.bench.floor import Floor
from tests.examples import manifests

SETTINGS = RaySettings()


class Script:
    """Makes RayClusters, their head Services and pods, and writes one status of each: that it is ready. No events."""

    def __init__(self, kube: Kube, namespace: str, workers: int) -> None:
        self._floor, self._workers = Floor(kube, namespace, pods=workers + 1), workers

    async def run(self, names: Sequence[str]) -> None:
        """All clusters at once, until they say that they are ready."""
        await self._floor.play(names, map(self._one, names))

    async def _one(self, name: str) -> None:
        floor = self._floor
        async with floor.room:
            cluster = await floor.make(RAYCLUSTER, self._manifest(name), RayCluster)
            await floor.make(SERVICE, head_service(cluster, SETTINGS), msgspec.Raw)
            places = [Place(number) for number in range(self._workers)]
            workers = worker_pods(cluster, cluster.spec.worker_group_specs[0], places, SETTINGS)
            for body in (head_pod(cluster, 0, SETTINGS), *workers):
                await floor.make(POD, body, msgspec.Raw)
        await floor.until_run(name)
        async with floor.room:
            await floor.tell(RAYCLUSTER, name, state="ready")

    def _manifest(self, name: str) -> dict[str, object]:
        group = manifests.worker(replicas=self._workers, maxReplicas=self._workers)
        return manifests.cluster(group, name=name)
