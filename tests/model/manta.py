"""All services of Manta in one world: a RayJob goes from nothing to its end, and away."""

import asyncio
from collections.abc import Callable
from typing import Any

from manta_cluster_reconciler.reconcile import ClusterService
from manta_cluster_reconciler.rules import Rules
from manta_common.kinds import CRD, RAYCLUSTER, RAYJOB
from manta_common.kube.events import Recorder
from manta_common.plane import Plane, Shape
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.transport import Answer, Failure, Request
from manta_embedded.sim.service import Seat
from manta_embedded.sim.world import World
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.ray import definitions
from manta_job_reconciler.observed import JobSettings
from manta_job_reconciler.reconcile import JobService
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.examples import manifests

PARTITIONS = 3
SHAPE = Shape(partitions=PARTITIONS)
DEFINITIONS = tuple(definitions())  # made once: it takes longer than many a scenario


class Telling:
    """A plane and the recorder of its events, run as the services' main functions do."""

    def __init__(self, seat: Seat, make: Callable[[Seat, Recorder], Plane]) -> None:
        self._recorder = Recorder(seat.kube, seat.name)
        self.plane = make(seat, self._recorder)

    async def run(self) -> None:
        """Work until told to stop."""
        async with asyncio.TaskGroup() as group:
            telling = group.create_task(self._recorder.run())
            await self.plane.run()
            telling.cancel()

    def stop(self) -> None:
        """Let `run` return."""
        self.plane.stop()


class SimulatedTransport:
    """The gateway's way to the simulated dashboards."""

    connections = 0

    def __init__(self, world: World) -> None:
        self._world = world

    async def send(self, target: Target, request: Request, *, wary: bool = False) -> Answer:
        """Ask a dashboard."""
        url, body = f"http://{target.host}{request.path}", request.body or b""
        limit_seconds = request.limit_seconds
        reply = await self._world.dashboards.request(request.method, url, body=body, limit_seconds=limit_seconds)
        if reply.status != 200:
            raise Failure(reply.status, reply.body.decode(), reply.content_type)
        return Answer(reply.body)


def begin(world: World) -> None:
    """Have the kinds of Ray, nodes, and one replica of every service."""
    for definition in DEFINITIONS:
        world.create(CRD, definition)
    world.nodes.add(4)
    world.start("watcher-1", lambda seat: Watcher(seat.means, seat.kube, Task(partitions=PARTITIONS)))
    world.start("clusters-1", lambda seat: Telling(seat, _clusters))
    world.start("jobs-1", lambda seat: Telling(seat, _jobs))
    world.start("gateway-1", lambda seat: _gateway(world, seat))


def make(world: World, name: str, *, entrypoint: str = "sleep 5", workers: int = 4, **spec: Any) -> None:
    """A RayJob with a cluster of its own."""
    cluster = manifests.worker(replicas=workers, maxReplicas=20)
    world.create(RAYJOB, manifests.job({"entrypoint": entrypoint, "rayClusterSpec": cluster, **spec}, name=name))


def deployment(world: World, name: str) -> str:
    """The deployment status of a RayJob."""
    found = world.find(RAYJOB, name) or {}
    return str(found.get("status", {}).get("jobDeploymentStatus", ""))


def clusters(world: World) -> list[Obj]:
    """Every RayCluster."""
    return world.objects(RAYCLUSTER)


def _clusters(seat: Seat, recorder: Recorder) -> Plane:
    return ClusterService(seat.kube, seat.means, rules=Rules(), ledger=recorder, shape=SHAPE).plane


def _jobs(seat: Seat, recorder: Recorder) -> Plane:
    return JobService(seat.kube, seat.means, JobSettings(), recorder, SHAPE).plane


def _gateway(world: World, seat: Seat) -> Gateway:
    transport = SimulatedTransport(world)
    return Gateway(seat.means, transport, Setup(partitions=PARTITIONS))  # type: ignore[arg-type]
