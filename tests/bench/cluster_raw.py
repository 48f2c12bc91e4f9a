"""The floor of the clusters' bench: the same objects, made by a plain script with as few writes as there can be."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from manta_common.api.core import Pod
from manta_common.api.labels import CLUSTER
from manta_common.api.raycluster import RayCluster
from manta_common.keys import Key
from manta_common.kinds import POD, RAYCLUSTER, SERVICE
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.ray.names import Place
from manta_common.ray.pods import head_pod, worker_pods
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from tests.bench.cluster_api import IN_FLIGHT
from tests.examples import manifests

SETTINGS = RaySettings()


class Script:
    """Makes RayClusters, their head Services and pods, and writes one status of each: that it is ready. No events."""

    def __init__(self, kube: Kube, namespace: str, workers: int) -> None:
        self._kube, self._namespace, self._workers = kube, namespace, workers
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._run: dict[str, asyncio.Event] = {}
        self._running: Counter[str] = Counter()

    async def run(self, names: Sequence[str]) -> None:
        """All clusters at once, until they say that they are ready."""
        self._run = {name: asyncio.Event() for name in names}
        watching = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._one(name) for name in names))
        watching.cancel()
        await asyncio.wait([watching])

    async def _one(self, name: str) -> None:
        async with self._room:
            cluster = await self._kube.create(RAYCLUSTER, self._namespace, self._manifest(name), RayCluster)
            await self._kube.create(SERVICE, self._namespace, head_service(cluster, SETTINGS), msgspec.Raw)
            places = [Place(number) for number in range(self._workers)]
            workers = worker_pods(cluster, cluster.spec.worker_group_specs[0], places, SETTINGS)
            for body in (head_pod(cluster, 0, SETTINGS), *workers):
                await self._kube.create(POD, self._namespace, body, msgspec.Raw)
        await self._run[name].wait()
        async with self._room:
            ready = MergePatch({"status": {"state": "ready"}})
            await self._kube.patch(RAYCLUSTER, Key(self._namespace, name), ready, msgspec.Raw, subresource="status")

    def _manifest(self, name: str) -> dict[str, object]:
        group = manifests.worker(replicas=self._workers, maxReplicas=self._workers)
        return manifests.cluster(group, name=name)

    async def _watch(self) -> None:
        """Note whose pods run, all of them."""
        scope, seen = Scope(namespace=self._namespace), set[str]()
        since = (await self._kube.list_versions(POD, scope)).version
        async with aclosing(self._kube.watch(POD, Pod, scope, since=since)) as changes:
            async for change in changes:
                pod = change.object
                if pod and pod.status.phase == "Running" and pod.metadata.name not in seen:
                    seen.add(pod.metadata.name)
                    self._note(pod.metadata.labels[CLUSTER])

    def _note(self, cluster: str) -> None:
        self._running[cluster] += 1
        if self._running[cluster] == self._workers + 1:
            self._run[cluster].set()
