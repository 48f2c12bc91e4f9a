"""The toy system in a world: a watcher, reconcilers of toys, and what must be true of them."""

from typing import Any

from manta_common.api.meta import ObjectMeta
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, CRD
from manta_common.plane import Plane, Shape
from manta_embedded.sim.service import Seat
from manta_embedded.sim.world import World
from manta_watcher.reign import Watcher
from manta_watcher.roots import Place
from manta_watcher.session import Task
from manta_watcher.watched import Watched
from tests.integration.toy_reconciler import OWNER, TOY, Part, Toy, ToyService

PARTITIONS = 3
WATCHED = (Watched(TOY, Toy), Watched(CONFIGMAP, Part, (OWNER,)))
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "toys.example.test"},
    "spec": {
        "group": "example.test",
        "scope": "Namespaced",
        "names": {"kind": "Toy", "plural": "toys", "singular": "toy"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def watcher(seat: Seat) -> Watcher:
    """Watches toys and their parts."""
    return Watcher(seat.means, seat.kube, Task(watched=WATCHED, partitions=PARTITIONS, parent=_parent))


def reconciler(seat: Seat) -> Plane:
    """Reconciles toys."""
    return on_plane(ToyService(seat.kube), seat)


def on_plane(service: ToyService, seat: Seat) -> Plane:
    """A toy service on its plane."""
    service.plane = Plane(seat.means, service, Shape(partitions=PARTITIONS))
    return service.plane


def begin(world: World, build: Any = reconciler) -> None:
    """Have the toys' kind, a watcher and two reconcilers."""
    world.create(CRD, DEFINITION)
    world.start("watcher-1", watcher)
    for number in (1, 2):
        world.start(f"toys-{number}", build)


def make(world: World, *names: str, count: int) -> None:
    """Make toys that want so many parts each."""
    for name in names:
        world.create(TOY, {"metadata": {"name": name}, "spec": {"count": count}})


def want(world: World, name: str, count: int) -> None:
    """A toy shall have so many parts."""
    world.patch(TOY, name, {"spec": {"count": count}})


def is_settled(world: World) -> bool:
    """Whether every toy has exactly its parts, and says so."""
    toys = world.objects(TOY)
    wanted = {f"{_name(toy)}-{number}" for toy in toys for number in range(toy["spec"]["count"])}
    parts = {_name(part) for part in world.objects(CONFIGMAP) if OWNER in part["metadata"].get("labels", {})}
    return parts == wanted and all(toy.get("status", {}).get("count") == toy["spec"]["count"] for toy in toys)


def _name(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def _parent(kind: str, metadata: ObjectMeta) -> Place | None:
    return None if kind == "toy" else Place("toy", Key(metadata.namespace, metadata.labels[OWNER]))
