"""The floor of the jobs' bench: the same objects, made by a plain script with as few writes as there can be."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import uvloop

from manta_common.api.core import Pod
from manta_common.api.labels import CLUSTER as CLUSTER_LABEL
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.keys import Key
from manta_common.kinds import POD, RAYCLUSTER, RAYJOB, SERVICE
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from manta_common.ray.pods import head_pod
from manta_common.ray.services import head_service, job_head_service
from manta_common.ray.settings import RaySettings
from tests.bench.cluster_api import CLOSING_SECONDS, IN_FLIGHT, took
from tests.integration.job_world import CLUSTER
from tests.parts.control_plane import ControlPlane

LIMIT_SECONDS = 300


class Script:
    """Makes for each job a RayJob, its RayCluster, head pod and both Services, and writes one status: that it ended."""

    def __init__(self, kube: Client, namespace: str, run_seconds: float) -> None:
        self._kube, self._namespace, self._run_seconds = kube, namespace, run_seconds
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._running: dict[str, asyncio.Event] = {}

    async def run(self, names: Sequence[str]) -> None:
        """All jobs at once, to their ends."""
        self._running = {_on(name): asyncio.Event() for name in names}
        watching = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._one(name) for name in names))
        watching.cancel()
        await asyncio.wait([watching])

    async def _one(self, name: str) -> None:
        async with self._room:
            job = await self._kube.create(RAYJOB, self._namespace, _job(name), RayJob)
            cluster = await self._kube.create(RAYCLUSTER, self._namespace, _cluster(_on(name)), RayCluster)
            await self._kube.create(SERVICE, self._namespace, head_service(cluster, RaySettings()), msgspec.Raw)
            await self._kube.create(POD, self._namespace, head_pod(cluster, 0, RaySettings()), msgspec.Raw)
        await self._running[_on(name)].wait()
        await asyncio.sleep(self._run_seconds)
        async with self._room:
            service = job_head_service(job, cluster, RaySettings())
            await self._kube.create(SERVICE, self._namespace, service, msgspec.Raw)
            ended = MergePatch({"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}})
            await self._kube.patch(RAYJOB, Key(self._namespace, name), ended, msgspec.Raw, subresource="status")

    async def _watch(self) -> None:
        """Note whose pods run."""
        scope = Scope(namespace=self._namespace)
        since = (await self._kube.list_versions(POD, scope)).version
        async with aclosing(self._kube.watch(POD, Pod, scope, since=since)) as changes:
            async for change in changes:
                if change.object and change.object.status.phase == "Running":
                    self._running[change.object.metadata.labels[CLUSTER_LABEL]].set()


def raw_seconds(plane: ControlPlane, namespace: str, jobs: int, run_seconds: float) -> float:
    """How long the script takes for so many jobs, each of which runs for so long."""

    async def main() -> float:
        settings = KubeSettings(service="bench", connections=IN_FLIGHT + 4)
        async with connect(settings, kubeconfig=str(plane.kubeconfig)) as kube, asyncio.timeout(LIMIT_SECONDS):
            found = await took(Script(kube, namespace, run_seconds).run([f"job-{number}" for number in range(jobs)]))
        await asyncio.sleep(CLOSING_SECONDS)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def _on(job: str) -> str:
    """The name of a job's cluster."""
    return f"{job}-abcde"


def _job(name: str) -> dict[str, Any]:
    spec = {"submissionMode": "HTTPMode", "entrypoint": "sleep 4", "rayClusterSpec": CLUSTER}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": spec}


def _cluster(name: str) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": CLUSTER}
