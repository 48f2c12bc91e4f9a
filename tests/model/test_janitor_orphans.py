"""Ray objects that outlive their owner: told once, after a while, and never touched."""

from datetime import timedelta
from typing import Any

import pytest

from manta_common.kinds import EVENT, JOB, POD, RAYCLUSTER, SERVICE, Kind
from manta_common.kube.events import Recorder
from manta_common.plane import Shape
from manta_common.telemetry import names
from manta_embedded.sim.service import Seat
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from manta_janitor.orphans import OrphanService
from tests.examples import manifests
from tests.model.endings import PARTITIONS, ground
from tests.model.seats import Seated

GRACE = timedelta(seconds=60)
BODIES: dict[Kind, dict[str, Any]] = {
    POD: {"containers": [{"name": "ray", "image": "ray"}]},
    SERVICE: {"ports": [{"port": 1}]},
    JOB: {
        "template": {
            "metadata": {"labels": {"ray.io/node-type": "redis-cleanup"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "ray", "image": "ray"}]},
        }
    },
}


class Process(Seated):
    """A janitor that reports orphans and does nothing else."""

    def __init__(self, seat: Seat) -> None:
        recorder = Recorder(seat.kube, seat.name)
        self.metrics = seat.means.metrics
        self.orphans = OrphanService(seat.kube, seat.means, recorder, GRACE, Shape(partitions=PARTITIONS))
        super().__init__(recorder, self.orphans.plane)


def start(world: World) -> None:
    """A watcher, a janitor, and nobody may delete anything but the user and the garbage collector."""
    ground(world)
    world.start("orphans-1", Process)


def child(world: World, kind: Kind, name: str, owner: dict[str, Any] | None, cluster: str = "a") -> None:
    """An object of a cluster's."""
    labels = {
        "ray.io/cluster": cluster,
        "ray.io/node-type": "head",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    owners = {"ownerReferences": [owner]} if owner else {}
    world.create(kind, {"metadata": {"name": name, "labels": labels, **owners}, "spec": BODIES[kind]})


def cluster(world: World, name: str = "a") -> dict[str, Any]:
    """A RayCluster; how its children refer to it."""
    made = world.create(RAYCLUSTER, manifests.cluster(name=name))
    uid = made["metadata"]["uid"]
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": name, "uid": uid, "controller": True}


def told(world: World) -> list[str]:
    """The objects that were told of."""
    found = [event for event in world.objects(EVENT) if event["reason"] == "OrphanFound"]
    return sorted(f"{event['regarding']['kind']} {event['regarding']['name']}" for event in found)


def no_deletion(event: Event) -> str | None:
    """The janitor deletes nothing here."""
    return f"{event.key} was deleted" if event.type == "DELETED" and event.storage[1] in ("pods", "services") else None


async def left_behind(world: World) -> None:
    """What a cluster leaves that is deleted without its children."""
    start(world)
    world.always(no_deletion)
    for kind in BODIES:
        child(world, kind, f"left-{kind.name}", None, "gone")
    await world.sleep(55)
    assert told(world) == []
    await world.until(
        "they are told", lambda: len(told(world)) == 3, limit_seconds=90
    )  # the watcher waits for an owner too
    assert told(world) == ["Job left-job", "Pod left-pod", "Service left-service"]
    note = next(event["note"] for event in world.objects(EVENT) if event["regarding"]["kind"] == "Pod")
    assert "RayCluster default/gone" in note
    assert "kubectl -n default delete pod left-pod" in note
    await world.sleep(600)
    assert len([event for event in world.objects(EVENT) if event["reason"] == "OrphanFound"]) == 3


def test_what_is_left_behind_is_told_once() -> None:
    simulate(left_behind)


async def ordinary(world: World) -> None:
    """A cluster that is deleted takes its children with it."""
    start(world)
    owner = cluster(world)
    for kind in BODIES:
        child(world, kind, f"a-{kind.name}", owner)
    await world.sleep(10)
    world.delete(RAYCLUSTER, "a")
    await world.until("its children are gone", lambda: not world.objects(POD), limit_seconds=50)
    await world.sleep(200)
    assert told(world) == []


def test_an_ordinary_deletion_makes_no_orphans() -> None:
    simulate(ordinary)


async def living(world: World) -> None:
    """Owners that are there, that come late, and that others are."""
    start(world)
    child(world, POD, "early", None, "late")
    foreign = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "u-1", "controller": True}
    child(world, POD, "foreign", foreign)
    child(world, POD, "a-head", cluster(world))
    await world.sleep(50)
    cluster(world, "late")
    await world.sleep(300)
    assert told(world) == []


def test_what_has_an_owner_is_no_orphan() -> None:
    simulate(living)


async def going(world: World) -> None:
    """Of a cluster that has a namesake now, something goes that a foreign finalizer holds."""
    start(world)
    owner = cluster(world)
    child(world, SERVICE, "a-head-svc", {**owner, "uid": "00000000-0000-0000-0000-000000000000"})
    world.patch(SERVICE, "a-head-svc", {"metadata": {"finalizers": ["example.com/hold"]}})
    await world.sleep(300)
    service = world.find(SERVICE, "a-head-svc")
    assert service
    assert "deletionTimestamp" in service["metadata"]
    assert told(world) == []


def test_what_is_being_deleted_is_not_told() -> None:
    simulate(going)


@pytest.mark.parametrize("moment", [20, 70], ids=["before it is told", "after it was told"])
def test_the_metric_counts_what_is_still_there(moment: int) -> None:
    async def scenario(world: World) -> None:
        start(world)
        child(world, SERVICE, "left", None, "gone")
        await world.sleep(moment)
        assert orphans(world) == (1 if moment > 60 else 0)
        world.delete(SERVICE, "left")
        await world.sleep(60)
        assert orphans(world) == 0

    simulate(scenario)


def orphans(world: World) -> float:
    """How many the metric shows."""
    process = world.service("orphans-1").running
    assert isinstance(process, Process)
    return float(sum(number for _, _, number in process.metrics.numbers(names.ORPHANS).samples()))
