"""The floor of the jobs' bench: the same objects, made by a plain script with as few writes as there can be."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.kinds import POD, RAYCLUSTER, RAYJOB, SERVICE
from manta_common.kube.protocol import Kube
from manta_common.ray.pods import head_pod
from manta_common.ray.services import head_service, job_head_service
from manta_common.ray.settings import RaySettings
from tests.bench.floor import Floor, cluster_of, timed
from tests.integration.job_world import CLUSTER
from tests.parts.control_plane import ControlPlane

SETTINGS = RaySettings()


class Script:
    """Makes for each job a RayJob, its RayCluster, head pod and both Services, and writes one status: that it ended."""

    def __init__(self, kube: Kube, namespace: str, run_seconds: float) -> None:
        self._floor, self._run_seconds = Floor(kube, namespace), run_seconds

    async def run(self, names: Sequence[str]) -> None:
        """All jobs at once, to their ends."""
        await self._floor.play(map(cluster_of, names), map(self._one, names))

    async def _one(self, name: str) -> None:
        floor = self._floor
        async with floor.room:
            job = await floor.make(RAYJOB, _manifest("RayJob", name, **_JOB), RayJob)
            cluster = await floor.make(RAYCLUSTER, _manifest("RayCluster", cluster_of(name), **CLUSTER), RayCluster)
            await floor.make(SERVICE, head_service(cluster, SETTINGS), msgspec.Raw)
            await floor.make(POD, head_pod(cluster, 0, SETTINGS), msgspec.Raw)
        await floor.until_run(cluster_of(name))
        await asyncio.sleep(self._run_seconds)
        async with floor.room:
            await floor.make(SERVICE, job_head_service(job, cluster, SETTINGS), msgspec.Raw)
            await floor.tell(RAYJOB, name, jobDeploymentStatus="Complete", jobStatus="SUCCEEDED")


def raw_seconds(plane: ControlPlane, namespace: str, jobs: int, run_seconds: float) -> float:
    """How long the script takes for so many jobs, each of which runs for so long."""
    names = [f"job-{number}" for number in range(jobs)]
    return timed(plane, lambda kube: Script(kube, namespace, run_seconds).run(names))


_JOB = {"submissionMode": "HTTPMode", "entrypoint": "sleep 4", "rayClusterSpec": CLUSTER}


def _manifest(kind: str, name: str, **spec: object) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
