"""RayClusters in a comparison: many of them, a large one beside a small one, at rest, and after a new start."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from manta_common.kinds import RAYCLUSTER
from manta_common.kube.protocol import JsonPatch
from tests.bench.cluster_api import Api, Seen, took
from tests.bench.side_operators import own
from tests.bench.side_results import Numbers
from tests.bench.side_world import Measure, World

SETTLED_SECONDS = 7  # after which a service of Manta takes what is new for its own, without asking the API server
HEAD_START_SECONDS = 2
BYSTANDERS, RESTING, CHANGED = 10, 100, 10
REST_SECONDS, CALM_SECONDS = 60, 15


async def first(api: Api) -> None:
    """Let an operator show that it works."""
    await api.create("first", workers=0)
    await api.until_ready(["first"])
    await asyncio.sleep(SETTLED_SECONDS)


def creates(count: int) -> Measure:
    """The pods of one cluster, while nobody schedules or runs any."""

    async def raw(api: Api) -> Numbers:
        return {"seconds": await took(api.create_raw(count))}

    async def steps(api: Api) -> Numbers:
        return {"seconds": await took(api.create("large", workers=count), api.until_pods(count + 2))}

    def measure(world: World) -> Numbers:
        if not world.raw:
            world.run(first)
        with world.plane.nodes_paused():
            return world.measure(raw if world.raw else steps)

    return measure


def clusters(count: int) -> Measure:
    """Clusters of 4 pods, all at once; raw are as many bare pods."""
    names = [f"c{number}" for number in range(count)]

    async def raw(api: Api) -> Numbers:
        return {"seconds": await took(api.create_raw(4 * count), api.until_running(4 * count))}

    async def steps(api: Api) -> Numbers:
        return {"seconds": await took(api.create_many(names, workers=3), api.until_ready(names))}

    def measure(world: World) -> Numbers:
        if world.raw:
            return world.measure(raw)
        world.run(first)
        return world.measure(steps)

    return measure


def large(count: int) -> Measure:
    """One cluster with so many workers, and soon after it another one of 10 pods."""

    async def raw(api: Api) -> Numbers:
        began = time.monotonic()
        making = asyncio.create_task(_since(began, api.create_raw(count), api.until_running(count, cluster="raw")))
        await asyncio.sleep(HEAD_START_SECONDS)
        created = await took(api.create_raw(BYSTANDERS, stem="small"))
        ran = created + await took(api.until_running(BYSTANDERS, cluster="small"))
        return {"seconds": await making, "bystander_created": created, "bystander_running": ran}

    async def steps(api: Api) -> Numbers:
        began = time.monotonic()
        making = asyncio.create_task(_since(began, _ready(api, "large", count)))
        await asyncio.sleep(HEAD_START_SECONDS)
        asked = time.monotonic()
        await api.create("small", workers=BYSTANDERS - 1)
        await api.until_pods(BYSTANDERS, cluster="small")
        created = time.monotonic() - asked
        await api.until_running(BYSTANDERS, cluster="small")
        ran = time.monotonic() - asked
        return {"seconds": await making, "bystander_created": created, "bystander_running": ran}

    def measure(world: World) -> Numbers:
        if world.raw:
            return world.measure(raw)
        world.run(first)
        return world.measure(steps)

    return measure


async def _ready(api: Api, name: str, workers: int) -> None:
    await api.create(name, workers=workers)
    await api.until_ready([name])


async def _since(began: float, *steps: Coroutine[Any, Any, object]) -> float:
    await asyncio.gather(*steps)
    return time.monotonic() - began


def at_rest(world: World) -> Numbers:
    """What 100 clusters cost in a minute in which nothing happens, and how soon a new start is through with work."""
    names = [f"c{number}" for number in range(RESTING)]
    world.run(first)
    world.run(lambda api: took(api.create_many(names, workers=3), api.until_ready(names)))
    time.sleep(CALM_SECONDS)
    idle = world.measure(_rest, prefix="idle ")
    for name in own(world.side):
        world.side.processes[name].stop()
    changed = names[:CHANGED]
    world.run(lambda api: api.patch_many(RAYCLUSTER, changed, _one_worker_more()))

    def has_grown(cluster: Seen) -> bool:
        return cluster.metadata.name in changed and cluster.status.available_worker_replicas == 4

    began = time.monotonic()
    for name in own(world.side):
        world.side.processes[name].start()
    world.run(lambda api: api.until(RAYCLUSTER, has_grown, CHANGED))
    return idle | {"restart": time.monotonic() - began}


async def _rest(api: Api) -> Numbers:
    await asyncio.sleep(REST_SECONDS)
    return {}


def _one_worker_more() -> JsonPatch:
    place = "/spec/workerGroupSpecs/0"
    paths = (f"{place}/replicas", f"{place}/maxReplicas")
    return JsonPatch(tuple({"op": "replace", "path": path, "value": 4} for path in paths))
