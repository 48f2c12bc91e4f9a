"""Manta alone, made to grow step by step: memory and CPU of each service at each size (docs/explanation/scale.md)."""

import functools
import os
import pathlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from manta_common.kinds import RAYJOB
from tests.bench.cluster_api import Api
from tests.bench.side_clusters import first
from tests.bench.side_jobs import first_job, job
from tests.bench.side_results import Numbers
from tests.bench.side_world import World

CLUSTER_SIZES, PODS_EACH = (100, 300, 1000), 9
JOB_SIZES = (50, 150, 300)
CALM_SECONDS, REST_SECONDS = 35, 20  # new jobs are asked for more often in their first 30 s
MIB = 2**20


def clusters(world: World) -> Numbers:
    """Clusters of 9 pods, while nobody schedules or runs any; sizes are pods."""
    world.run(first)
    found = _at(world, 0)
    with world.plane.nodes_paused():
        for made, size in zip((0, *CLUSTER_SIZES), CLUSTER_SIZES, strict=False):
            names = [f"c{number}" for number in range(made, size)]
            found |= _grow(world, PODS_EACH * size, functools.partial(_clusters, names=names, pods=PODS_EACH * size))
    return found


def jobs(world: World) -> Numbers:
    """Jobs that run on and on, each with a cluster of one pod; sizes are jobs."""
    world.run(first_job)
    found = _at(world, 0)
    for made, size in zip((0, *JOB_SIZES), JOB_SIZES, strict=False):
        names = [f"job-{number}" for number in range(made, size)]
        found |= _grow(world, size, functools.partial(_jobs, names=names, running=size))
    return found


def rss_mib(pid: int) -> float:
    """The memory that a process takes now."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


async def _clusters(api: Api, names: Sequence[str], pods: int) -> Numbers:
    await api.create_many(names, workers=PODS_EACH - 1)
    await api.until_pods(pods + 1)
    return {}


async def _jobs(api: Api, names: Sequence[str], running: int) -> Numbers:
    await api.make_many(RAYJOB, [job(name, entrypoint="sleep 100000") for name in names])
    await api.until(RAYJOB, lambda one: one.status.job_status == "RUNNING", running)
    return {}


def _grow(world: World, size: int, steps: Callable[[Api], Coroutine[Any, Any, Numbers]]) -> Numbers:
    """What it takes to come to a size, and what is there then."""
    began = time.monotonic()
    spent = world.measure(steps, prefix=f"{size} grow ") | {f"{size} seconds": time.monotonic() - began}
    return spent | _at(world, size)


def _at(world: World, size: int) -> Numbers:
    """Cores that each process takes once all is quiet, and its memory then."""
    time.sleep(CALM_SECONDS)
    before = world.side.shares()
    time.sleep(REST_SECONDS)
    rest = {name: (after - before[name]) / REST_SECONDS for name, after in world.side.shares().items()}
    memory = {name: rss_mib(process.pid) for name, process in world.side.processes.items()}
    return {f"{size} rest {name}": share for name, share in rest.items()} | {
        f"{size} rss {name}": amount for name, amount in memory.items()
    }
