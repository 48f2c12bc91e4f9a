"""What can be read off an object and what is around it."""

from collections.abc import Iterable

from manta_common.kinds import EVENT
from manta_embedded.sim.world import World
from manta_embedded.store.objects import Obj
from tests.examples.example import Json

Lie = tuple[bool, str]  # whether it is one, and which


def told(lies: Iterable[Lie]) -> list[str]:
    """Those that are."""
    return [text for is_lie, text in lies if is_lie]


def condition(obj: Obj, type_: str) -> Json:
    """A condition of an object; empty when it has none of this type."""
    found = obj.get("status", {}).get("conditions") or ()
    return next((each for each in found if each["type"] == type_), {})


def holds(obj: Obj, type_: str) -> bool:
    """Whether a condition is True."""
    return bool(condition(obj, type_).get("status") == "True")


def warnings(world: World, obj: Obj) -> list[str]:
    """The warnings about an object."""
    return [
        f"{event.get('reason')}: {event.get('note')}"
        for event in world.objects(EVENT, place(obj))
        if event.get("regarding", {}).get("uid") == obj["metadata"]["uid"] and event.get("type") == "Warning"
    ]


def is_refused(obj: Obj) -> bool:
    """Whether the status says that the object cannot be served as it is."""
    return (
        condition(obj, "Valid").get("status") == "False"
        or obj.get("status", {}).get("jobDeploymentStatus") == "ValidationFailed"
        or condition(obj, "Ready").get("reason") == "ValidationFailed"
    )


def is_leaving(obj: Obj) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def place(obj: Obj) -> str:
    """Its namespace."""
    return str(obj["metadata"]["namespace"])


def labels(obj: Obj) -> dict[str, str]:
    """Its labels."""
    found: dict[str, str] = obj["metadata"].get("labels") or {}
    return found


def owner(obj: Obj) -> str:
    """The uid of what it belongs to."""
    return next((str(each["uid"]) for each in obj["metadata"].get("ownerReferences") or ()), "")


def wanted_workers(spec: Json) -> int:
    """How many workers a cluster's spec asks for; of several groups with one name the first counts."""
    groups = {group.get("groupName"): group for group in reversed(spec.get("workerGroupSpecs") or ())}
    return sum(map(_wanted, groups.values()))


def _wanted(group: Json) -> int:
    low, high = group.get("minReplicas") or 0, group.get("maxReplicas", 2**31 - 1)
    replicas = group.get("replicas")
    count = low if replicas is None or replicas < low else min(replicas, high)
    return 0 if group.get("suspend") else count * max(0, group.get("numOfHosts", 1))
