"""Ended RayJobs in a world, and an oracle that knows from their specs alone what may go when."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CRD, RAYCLUSTER, RAYJOB
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import MergePatch
from manta_common.plane import Shape
from manta_common.worker import Pace
from manta_embedded.sim.service import Seat, SimulatedService
from manta_embedded.sim.world import USER, World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.ray import definitions
from manta_janitor.clusters import CleanupSettings, FadingService
from manta_janitor.jobs import EndingService
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.examples import manifests
from tests.examples.example import Json

PARTITIONS = 3
LATE = timedelta(seconds=1.5)  # the API server tells its time in whole seconds: one is waited for to be sure
IMPACT = {"DeleteNone": 1, "DeleteWorkers": 2, "DeleteCluster": 3, "DeleteSelf": 4}


class Process:
    """The janitor as its main function runs it."""

    def __init__(self, seat: Seat, settings: CleanupSettings | None = None, *, at_once: int = 64) -> None:
        shape = Shape(partitions=PARTITIONS, pace=Pace(concurrency=at_once))
        self._recorder, chosen = Recorder(seat.kube, seat.name), settings or CleanupSettings()
        self.jobs = EndingService(seat.kube, seat.means, chosen.janitor, self._recorder, shape)
        self.clusters = FadingService(seat.kube, seat.means, chosen, self._recorder, shape)

    async def run(self) -> None:
        """Work until told to stop."""
        async with asyncio.TaskGroup() as group:
            telling = group.create_task(self._recorder.run())
            async with asyncio.TaskGroup() as planes:
                planes.create_task(self.jobs.plane.run())
                planes.create_task(self.clusters.plane.run())
            telling.cancel()

    def stop(self) -> None:
        """Let `run` return."""
        self.jobs.plane.stop()
        self.clusters.plane.stop()


def ground(world: World) -> None:
    """Have the kinds of Ray and a watcher."""
    for definition in definitions():
        world.create(CRD, definition)
    world.start("watcher-1", lambda seat: Watcher(seat.means, seat.kube, Task(partitions=PARTITIONS)))


def begin(world: World, *, janitors: int = 1, settings: CleanupSettings | None = None) -> SimulatedService:
    """Have janitors too; the first of them."""
    ground(world)
    for number in range(1, janitors + 1):
        world.start(f"janitor-{number}", lambda seat: Process(seat, settings))
    return world.service("janitor-1")


def make(
    world: World,
    name: str,
    spec: Json,
    *,
    finalizers: tuple[str, ...] = (),
    groups: int = 1,
    namespace: str = "default",
) -> None:
    """A RayJob that runs, and its cluster."""
    job = world.create(RAYJOB, manifests.job(spec, name=name, finalizers=list(finalizers)), namespace)
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": name,
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    of = manifests.workers(*({"groupName": f"g{number}"} for number in range(groups)))
    world.create(RAYCLUSTER, manifests.cluster(of, name=f"{name}-cluster", ownerReferences=[owner]), namespace)
    running = {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "rayClusterName": f"{name}-cluster"}
    tell(world, name, namespace=namespace, **running)


def end(
    world: World, name: str, state: str = "Complete", ray: str = "SUCCEEDED", *, namespace: str = "default"
) -> None:
    """A RayJob ends now."""
    ended_at = f"{world.store.now().replace(microsecond=0):%Y-%m-%dT%H:%M:%SZ}"
    tell(world, name, namespace=namespace, jobDeploymentStatus=state, jobStatus=ray, endTime=ended_at)


def tell(world: World, name: str, *, namespace: str = "default", **status: Any) -> None:
    """Write fields of a RayJob's status, as the job-reconciler does."""
    world.history.tell("user", "status", f"rayjob {name} {status}")
    world.store.patch(RAYJOB, Key(namespace, name), MergePatch({"status": status}), USER, subresource="status")


def respec(world: World, name: str, spec: Json) -> None:
    """Say something else about the end of a RayJob."""
    nothing = {"deletionStrategy": None, "shutdownAfterJobFinishes": None, "ttlSecondsAfterFinished": None}
    if "deletionStrategy" in spec:
        others = {"onSuccess": None, "onFailure": None, "deletionRules": None}
        spec = spec | {"deletionStrategy": others | spec["deletionStrategy"]}
    world.patch(RAYJOB, name, {"spec": nothing | spec})


def asked(job: Obj, cluster: Obj | None, at: datetime) -> set[str]:
    """What of a job is to go at a time and has not gone, by the rules that its spec has."""
    return {policy for policy, due in _wishes(job) if due <= at and not _gone(policy, cluster)}


def first(policies: set[str]) -> set[str]:
    """Of several things that are to go, the one that takes most away."""
    return {max(policies, key=lambda policy: IMPACT[policy])} if policies else set()


def last_wish(world: World, name: str) -> datetime | None:
    """When the last of a job's deletions is due."""
    job = world.find(RAYJOB, name)
    return max((due for _, due in _wishes(job)), default=None) if job else None


def _wishes(job: Obj) -> Iterator[tuple[str, datetime]]:
    """Every deletion that the end of a job asks for, and from when on."""
    spec, status = job["spec"], job.get("status", {})
    state, ray, ended = status.get("jobDeploymentStatus"), status.get("jobStatus"), status.get("endTime")
    if state not in ("Complete", "Failed") or not ended or spec.get("clusterSelector"):
        return
    ended_at = datetime.strptime(ended, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    strategy = spec.get("deletionStrategy")
    if strategy and "deletionRules" in strategy:
        for rule in strategy["deletionRules"]:
            condition = rule["condition"]
            met = (
                condition["jobStatus"] == ray if "jobStatus" in condition else condition["jobDeploymentStatus"] == state
            )
            if met and rule["policy"] != "DeleteNone":
                yield rule["policy"], ended_at + timedelta(seconds=condition.get("ttlSeconds", 0))
        return
    due = ended_at + timedelta(seconds=spec.get("ttlSecondsAfterFinished", 0))
    if strategy:
        outcome = {"SUCCEEDED": "onSuccess", "FAILED": "onFailure"}.get(str(ray))
        if outcome and strategy[outcome]["policy"] != "DeleteNone":
            yield strategy[outcome]["policy"], due
    elif spec.get("shutdownAfterJobFinishes"):
        yield "DeleteCluster", due


def _gone(policy: str, cluster: Obj | None) -> bool:
    """Whether nothing is left of what a policy takes away."""
    if policy == "DeleteSelf":
        return False
    if cluster is None or "deletionTimestamp" in cluster["metadata"]:
        return True
    return policy == "DeleteWorkers" and all(group.get("suspend") for group in cluster["spec"]["workerGroupSpecs"])


class Witness:
    """Sees every change; complains of a deletion that no rule asked for, or not yet, or not as the first.

    What was right up to `grace_seconds` ago counts too: a request may be on its way while the job is changed, or while
    another deletion falls due.
    """

    def __init__(self, world: World, *, grace_seconds: float = 0.5) -> None:
        self._world, self._grace = world, timedelta(seconds=grace_seconds)
        self._said: dict[str, list[tuple[datetime, Obj, Obj | None]]] = defaultdict(list)
        self.excused: set[str] = set()  # jobs that the user deletes
        self.deeds: list[tuple[str, str]] = []
        world.always(self)

    def __call__(self, event: Event) -> str | None:
        """What is wrong with a change."""
        kind = event.storage[1]
        if kind not in ("rayjobs", "rayclusters"):
            return None
        name = event.key.name.removesuffix("-cluster")
        deed = _deed(event)
        complaint = self._judge(name, deed) if deed else None
        self._note(name)
        return complaint

    def _judge(self, name: str, deed: str) -> str | None:
        job = self._world.find(RAYJOB, name)
        by_owner = deed == "DeleteCluster" and (job is None or "deletionTimestamp" in job["metadata"])
        if by_owner or name in self.excused:
            return None
        self.deeds.append((name, deed))
        now = self._world.store.now()
        times = [now - LATE, *(now - timedelta(seconds=ago) for ago in range(1 + int(self._grace.total_seconds())))]
        moments = [(job, cluster, at) for job, cluster in self._recently(name) for at in times]
        allowed = [first(asked(*moment)) for moment in moments]
        return None if any(deed in each for each in allowed) else f"{deed} of {name} though {allowed} was asked for"

    def _recently(self, name: str) -> list[tuple[Obj, Obj | None]]:
        """What was said of a job within the grace, and what was last said before it."""
        since = self._world.store.now() - self._grace
        versions = self._said[name]
        older = [each for each in versions if each[0] < since]
        return [(job, cluster) for _, job, cluster in [*older[-1:], *(each for each in versions if each[0] >= since)]]

    def _note(self, name: str) -> None:
        job = self._world.find(RAYJOB, name)
        if job is not None:
            cluster = self._world.find(RAYCLUSTER, f"{name}-cluster")
            self._said[name].append((self._world.store.now(), job, cluster))


def _deed(event: Event) -> str | None:
    """Which policy a change looks like."""
    was_going = event.old is not None and "deletionTimestamp" in event.old["metadata"]
    goes = not was_going and (event.type == "DELETED" or "deletionTimestamp" in event.new["metadata"])
    if goes:
        return "DeleteSelf" if event.storage[1] == "rayjobs" else "DeleteCluster"
    if event.storage[1] == "rayclusters" and event.type == "MODIFIED" and event.old is not None:
        before, after = (_suspended(obj) for obj in (event.old, event.new))
        return "DeleteWorkers" if after > before else None
    return None


def _suspended(cluster: Obj) -> int:
    return sum(1 for group in cluster["spec"]["workerGroupSpecs"] if group.get("suspend"))


def is_clean(world: World, name: str) -> bool:
    """Whether nothing of a job is due that has not gone."""
    job = world.find(RAYJOB, name)
    if job is None or "deletionTimestamp" in job["metadata"]:
        return True
    return not asked(job, world.find(RAYCLUSTER, f"{name}-cluster"), world.store.now())
