"""RayJobs and RayServices in a comparison: many at once, and what dashboards that hang cost others."""

import asyncio
import time
from typing import Any

from manta_common.kinds import RAYJOB, RAYSERVICE
from tests.bench import job_raw, service_raw
from tests.bench.cluster_api import Api, Seen, took
from tests.bench.side_clusters import SETTLED_SECONDS
from tests.bench.side_results import Numbers
from tests.bench.side_world import Measure, World
from tests.integration.job_world import CLUSTER
from tests.integration.service_world import Services
from tests.parts.stub_faults import Hang

HANGING_SECONDS = 10
RUN_SECONDS = 4


def jobs(count: int) -> Measure:
    """Jobs over HTTP of 4 s, each with a cluster of its own, all at once; raw is a script with the same objects."""

    def measure(world: World) -> Numbers:
        if world.raw:
            return {"seconds": job_raw.raw_seconds(world.plane, world.namespace, count, RUN_SECONDS)}
        world.run(first_job)
        return world.measure(steps)

    async def steps(api: Api) -> Numbers:
        bodies = [job(f"job-{number}") for number in range(count)]
        return {"seconds": await took(api.make_many(RAYJOB, bodies), api.until(RAYJOB, _is_complete, count + 1))}

    return measure


def hung(count: int) -> Measure:
    """One job alone, and then one beside so many whose dashboards have stopped to answer."""
    names = [f"hung-{number}" for number in range(count)]

    async def begin(api: Api) -> None:
        await api.make_many(RAYJOB, [job(name, entrypoint="sleep 100000", jobId=name) for name in names])
        await api.until(RAYJOB, lambda one: one.status.job_status == "RUNNING", count)

    def measure(world: World) -> Numbers:
        world.run(first_job)
        alone = world.run(lambda api: took(_one_job(api, "alone")))
        world.run(begin)
        for name in names:
            world.jobs.misbehave(Hang(), submission_id=name)
        time.sleep(HANGING_SECONDS)  # until all of them are waited for
        return {"alone": alone} | world.measure(among)

    async def among(api: Api) -> Numbers:
        return {"seconds": await took(_one_job(api, "among"))}

    return measure


def services(count: int) -> Measure:
    """RayServices of one pod each until they serve, all at once; raw is a script with the same objects."""
    names = [f"s-{number}" for number in range(count)]

    def measure(world: World) -> Numbers:
        if world.raw:
            return {"seconds": service_raw.raw_seconds(world.plane, world.namespace, names)}
        made = Services(world.plane, world.namespace)

        async def make(api: Api, *wanted: str, in_all: int) -> None:
            await api.make_many(RAYSERVICE, [made.manifest(name) for name in wanted])
            await api.until(RAYSERVICE, lambda found: found.status.service_status == "Running", in_all)

        async def steps(api: Api) -> Numbers:
            return {"seconds": await took(make(api, *names, in_all=count + 1))}

        world.run(lambda api: make(api, "first", in_all=1))
        time.sleep(SETTLED_SECONDS)
        return world.measure(steps)

    return measure


def job(name: str, **spec: str) -> dict[str, Any]:
    """A RayJob over HTTP with a cluster of its own."""
    about = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}}
    own = {"submissionMode": "HTTPMode", "entrypoint": f"sleep {RUN_SECONDS}", "rayClusterSpec": CLUSTER}
    return about | {"spec": own | spec}


async def first_job(api: Api) -> None:
    """Let an operator show that it works."""
    await _one_job(api, "first")
    await asyncio.sleep(SETTLED_SECONDS)


async def _one_job(api: Api, name: str) -> None:
    await api.make_many(RAYJOB, [job(name)])
    await api.until(RAYJOB, lambda one: one.metadata.name == name and _is_complete(one), 1)


def _is_complete(one: Seen) -> bool:
    return one.status.job_deployment_status == "Complete"
