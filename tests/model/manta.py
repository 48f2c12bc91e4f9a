"""All services of Manta in one world."""

from collections.abc import Awaitable
from typing import Any

from manta_common.kinds import CRD, RAYCLUSTER, RAYJOB
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_embedded.sim.dashboards import Reply
from manta_embedded.sim.service import Build, Seat
from manta_embedded.sim.world import World
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.ray import definitions
from manta_job_reconciler.observed import JobSettings
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.examples import manifests
from tests.model import clusters, endings, jobs
from tests.model.seats import NearTransport

PARTITIONS = clusters.PARTITIONS
ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def begin(world: World, *, replicas: int = 1, schemas: bool = True) -> None:
    """Have the kinds of Ray, nodes, and replicas of every service."""
    for definition in definitions():
        world.create(CRD, definition if schemas else _without_schemas(definition))
    world.nodes.add(4)
    builds: dict[str, Build] = {
        "watcher": lambda seat: Watcher(seat.means, seat.kube, Task(partitions=PARTITIONS)),
        "clusters": clusters.Process,
        "jobs": lambda seat: jobs.Process(seat, JobSettings()),
        "gateway": lambda seat: _gateway(world, seat),
        "janitor": endings.Process,
    }
    for number in range(1, replicas + 1):
        for name, build in builds.items():
            world.start(f"{name}-{number}", build)


def make(world: World, name: str, *, entrypoint: str = "sleep 5", workers: int = 4, **spec: Any) -> None:
    """A RayJob with a cluster of its own."""
    cluster = manifests.worker(replicas=workers, maxReplicas=20)
    world.create(RAYJOB, manifests.job({"entrypoint": entrypoint, "rayClusterSpec": cluster, **spec}, name=name))


def deployment(world: World, name: str) -> str:
    """The deployment status of a RayJob."""
    found = world.find(RAYJOB, name) or {}
    return str(found.get("status", {}).get("jobDeploymentStatus", ""))


def all_clusters(world: World) -> list[Obj]:
    """Every RayCluster."""
    return world.objects(RAYCLUSTER)


def _gateway(world: World, seat: Seat) -> Gateway:
    def ask(method: str, url: str, body: bytes, limit_seconds: float) -> Awaitable[Reply]:
        return world.dashboards.request(method, url, body=body, limit_seconds=limit_seconds)

    return Gateway(seat.means, NearTransport(ask, seat, world.dashboards), Setup(partitions=PARTITIONS))


def _without_schemas(definition: Obj) -> Obj:
    versions = [{**version, "schema": ANYTHING} for version in definition["spec"]["versions"]]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}
