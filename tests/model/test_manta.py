"""All services together: jobs go from nothing to their end, and what they needed goes away, whatever happens."""

from functools import partial
from typing import Any

import pytest

from manta_common.kinds import JOB, POD, RAYJOB, SERVICE
from manta_embedded.sim.simulate import explore, simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.world import World
from tests.model.manta import all_clusters, begin, deployment, make

SEEDS = 8
CLEAN: dict[str, Any] = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 5}


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
@pytest.mark.parametrize(
    ("entrypoint", "becomes"),
    [
        pytest.param("sleep 5", "Complete", id="a job that succeeds"),
        pytest.param("sleep 5; exit 1", "Failed", id="a job that fails"),
    ],
)
def test_a_job_ends_as_its_entrypoint_does_and_its_cluster_goes(mode: str, entrypoint: str, becomes: str) -> None:
    async def scenario(world: World) -> None:
        begin(world)
        spec: dict[str, Any] = (
            {"backoffLimit": 0, "submitterConfig": {"backoffLimit": 0}} if mode == "K8sJobMode" else {}
        )
        make(world, "a", entrypoint=entrypoint, workers=2, submissionMode=mode, **CLEAN, **spec)
        await world.until("it has ended", lambda: deployment(world, "a") == becomes)
        await world.until("its cluster is gone", lambda: not all_clusters(world))
        await world.until("its pods are gone", lambda: not _ray_pods(world))
        world.delete(RAYJOB, "a")
        await world.until("nothing is left", lambda: _left(world) == 0)
        assert not world.repeats

    simulate(scenario)


async def through_a_storm(world: World) -> None:
    """Jobs of both kinds run while everything goes wrong; then all is calm."""
    begin(world)
    make(world, "a", workers=1, submissionMode="HTTPMode", **CLEAN)
    make(world, "b", workers=2, submissionMode="K8sJobMode", **CLEAN)
    await storm(world, 15, every=1.5)
    for name in "ab":
        await world.until(f"{name} has ended", partial(_has_ended, world, name), limit_seconds=1800)
    await world.until("the clusters are gone", lambda: not all_clusters(world), limit_seconds=900)
    for name in "ab":
        world.delete(RAYJOB, name)
    await world.until("nothing is left", lambda: _left(world) == 0, limit_seconds=900)


def test_jobs_end_and_leave_nothing_behind_through_storms() -> None:
    assert explore(through_a_storm, range(SEEDS)) == SEEDS


def _has_ended(world: World, name: str) -> bool:
    return deployment(world, name) in ("Complete", "Failed")


def _ray_pods(world: World) -> list[str]:
    found = (pod["metadata"] for pod in world.objects(POD))
    return [pod["name"] for pod in found if "ray.io/cluster" in pod.get("labels", {})]


def _left(world: World) -> int:
    own = 1  # the API server's Service
    return sum(len(world.objects(kind)) for kind in (RAYJOB, JOB, POD, SERVICE)) - own
