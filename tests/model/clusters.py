"""RayClusters in a world: a watcher, cluster-reconcilers, nodes, and what must be true of clusters at any moment."""

import functools
from collections import Counter
from typing import Any

from manta_cluster_reconciler.reconcile import ClusterService
from manta_cluster_reconciler.rules import Rules
from manta_common.kinds import CRD, POD, RAYCLUSTER, Kind
from manta_common.kube.events import Recorder
from manta_common.plane import Shape
from manta_embedded.sim.service import Seat
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.ray import definitions
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.examples import manifests
from tests.examples.example import Json
from tests.model.seats import Seated

PARTITIONS = 3
DEFAULT = Rules()


class Process(Seated):
    """The cluster-reconciler as its main function runs it."""

    def __init__(self, seat: Seat, rules: Rules = DEFAULT) -> None:
        recorder = Recorder(seat.kube, seat.name)
        self.service = ClusterService(
            seat.kube, seat.means, rules=rules, ledger=recorder, shape=Shape(partitions=PARTITIONS)
        )
        super().__init__(recorder, self.service.plane)


def begin(world: World, *, replicas: int = 1, rules: Rules = DEFAULT) -> None:
    """Have the kinds of Ray, nodes, a watcher and cluster-reconcilers."""
    for definition in definitions():
        world.create(CRD, definition)
    world.nodes.add(4)
    for number in range(1, replicas + 1):
        world.start(f"watcher-{number}", lambda seat: Watcher(seat.means, seat.kube, Task(partitions=PARTITIONS)))
        world.start(f"clusters-{number}", functools.partial(Process, rules=rules))
    world.always(lambda event: complaint(world, event))


def make(world: World, name: str, **group: Any) -> None:
    """A cluster with one worker group."""
    manifest = manifests.cluster(manifests.worker(**{"maxReplicas": 20, **group}), name=name)
    world.create(RAYCLUSTER, manifest)


def make_groups(world: World, name: str, *groups: Json) -> None:
    """A cluster with several worker groups."""
    world.create(RAYCLUSTER, manifests.cluster(manifests.workers(*groups), name=name))


def change(world: World, name: str, **spec: Any) -> None:
    """Change a cluster's spec."""
    world.patch(RAYCLUSTER, name, {"spec": spec})


def resize(world: World, name: str, **group: Any) -> None:
    """Change a cluster's only worker group."""
    change(world, name, **manifests.worker(maxReplicas=20, **group))


def install(world: World, *kinds: Kind) -> None:
    """Stand-ins for the CRDs of others."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    for kind in kinds:
        version = {"name": kind.version, "served": True, "storage": True, "subresources": {"status": {}}}
        spec = {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [version | {"schema": schema}],
        }
        world.create(CRD, {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec})


def complaint(world: World, event: Event) -> str | None:
    """What must never be: two heads, or two workers in one place, that are not on their way out."""
    if event.storage != ("", "pods"):
        return None
    ray = (pod for pod in world.objects(POD) if "ray.io/cluster" in _labels(pod))
    alive = [pod for pod in ray if "deletionTimestamp" not in pod["metadata"]]
    twice = [slot for slot, count in Counter(map(_slot, alive)).items() if count > 1]
    return f"two pods for {twice}" if twice else None


def is_settled(world: World, name: str) -> bool:
    """Whether a cluster has exactly the pods it should have, all of them run, and its status says so."""
    cluster = world.find(RAYCLUSTER, name)
    assert cluster is not None
    spec, status = cluster["spec"], cluster.get("status", {})
    if spec.get("suspend"):
        return not pods(world, name) and status.get("state") == "suspended"
    [group] = spec["workerGroupSpecs"]
    wanted = group["replicas"] * group.get("numOfHosts", 1)
    running = [pod for pod in pods(world, name) if pod.get("status", {}).get("phase") == "Running"]
    whole = len(pods(world, name)) == len(running) == wanted + 1
    return bool(whole and status.get("state") == "ready" and status.get("readyWorkerReplicas", 0) == wanted)


def pods(world: World, name: str) -> list[Obj]:
    """A cluster's pods."""
    return [pod for pod in world.objects(POD) if _labels(pod).get("ray.io/cluster") == name]


def condition(world: World, name: str, type_: str) -> Json | None:
    """A condition of a cluster."""
    cluster = world.find(RAYCLUSTER, name) or {}
    found = cluster.get("status", {}).get("conditions", ())
    return next((one for one in found if one["type"] == type_), None)


def _slot(pod: Obj) -> tuple[str, ...]:
    names = ("ray.io/cluster", "ray.io/group", "ray.io/worker-group-replica-index", "ray.io/replica-host-index")
    return (pod["metadata"]["namespace"], *(_labels(pod).get(name, "") for name in names))


def _labels(pod: Obj) -> dict[str, str]:
    found: dict[str, str] = pod["metadata"].get("labels", {})
    return found
