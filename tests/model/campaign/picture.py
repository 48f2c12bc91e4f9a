"""What a world looks like once it has settled: everything that lasts, without what differs from run to run."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from manta_common.kinds import (
    GATEWAY,
    HTTPROUTE,
    JOB,
    POD,
    PVC,
    RAYCLUSTER,
    RAYCRONJOB,
    RAYJOB,
    RAYSERVICE,
    ROLE,
    ROLEBINDING,
    SECRET,
    SERVICE,
    SERVICEACCOUNT,
    Kind,
)
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj

KINDS = (RAYCLUSTER, RAYJOB, RAYCRONJOB, RAYSERVICE, POD, SERVICE, JOB, SECRET, SERVICEACCOUNT, ROLE, ROLEBINDING, PVC)
ROADS = (GATEWAY, HTTPROUTE)
STATUS = {
    "raycluster": ("state", "desiredWorkerReplicas", "readyWorkerReplicas", "availableWorkerReplicas"),
    "rayjob": ("jobDeploymentStatus", "jobStatus", "failed", "succeeded"),
    "raycronjob": ("lastScheduleTime",),
    "rayservice": ("numServeEndpoints", "serviceStatus"),
    "pod": ("phase",),
    "job": ("succeeded", "failed"),
}
Picture = Counter[str]


def picture(world: World) -> Picture:
    """Every lasting object as one line, with how many there are of it."""
    kinds = [*KINDS, *(kind for kind in ROADS if world.store.registry.at(kind.group, kind.version, kind.plural))]
    return drawn([(kind, obj) for kind in kinds for obj in world.objects(kind)])


def drawn(found: list[tuple[Kind, Obj]]) -> Picture:
    """The same of objects from anywhere."""
    names = Names(found)
    return Counter(names.plain(_line(kind, obj, names)) for kind, obj in found)


def difference(wanted: Picture, found: Picture) -> str:
    """Which lines are missing and which are too many, for a person to read."""
    missing = [f"missing: {line}" for line in wanted - found]
    return "\n".join([*missing, *(f"too many: {line}" for line in found - wanted)])


class Tally:
    """How many objects of each kind came and went since the beginning, whoever did it.

    Not Services: while the owner of one is being collected it may be made once more, and is collected too.
    """

    def __init__(self, world: World) -> None:
        self._kinds = {(kind.group, kind.plural): kind.name for kind in (*KINDS, *ROADS) if kind is not SERVICE}
        self._counts: Picture = Counter()
        world.store.subscribe(self._note)

    def lines(self) -> Picture:
        """What was counted, as lines of a picture."""
        return Counter(f"{count} {what}" for what, count in self._counts.items())

    def _note(self, event: Event) -> None:
        if event.type != "MODIFIED" and event.storage in self._kinds:
            self._counts[f"{self._kinds[event.storage]} {event.type.lower()}"] += 1


class Names:
    """Names with a part that chance chose and uids, and what stands for them."""

    def __init__(self, found: list[tuple[Kind, Obj]]) -> None:
        chosen = {}
        for kind, obj in found:
            owner = next(iter(obj["metadata"].get("ownerReferences") or ()), None)
            if kind is RAYCLUSTER and owner:
                chosen[obj["metadata"]["name"]] = f"{owner['name']}-CLUSTER"
            elif kind is RAYJOB and (status := obj.get("status", {})).get("jobId"):
                chosen[status["jobId"]] = f"{obj['metadata']['name']}-ID"
            if kind is RAYJOB and (cluster := obj.get("status", {}).get("rayClusterName")):
                chosen[cluster] = f"{obj['metadata']['name']}-CLUSTER"  # which its Service leads to when it is gone
        for kind, obj in found:
            name = obj["metadata"]["name"]
            chosen[obj["metadata"]["uid"]] = f"{kind.name} {chosen.get(name, name)}"
        ordered = sorted(chosen, key=len, reverse=True)
        self._chosen = chosen
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def plain(self, line: str) -> str:
        """A line with what stands for such names."""
        return self._pattern.sub(lambda found: self._chosen[found[0]], line) if self._pattern else line


def _line(kind: Kind, obj: Obj, names: Names) -> str:
    meta = obj["metadata"]
    lasting: dict[str, Any] = {
        "name": "" if kind is POD else meta["name"],
        "labels": _place(obj) if kind is POD else None,
        "going": "deletionTimestamp" in meta,
        "finalizers": sorted(meta.get("finalizers") or ()),
        "owners": [one["uid"] for one in meta.get("ownerReferences") or ()],
        "spec": obj.get("spec") if kind.group == "ray.io" or kind in ROADS else None,
        "made": _made(kind, obj.get("spec", {}), names),
        "status": {name: obj.get("status", {}).get(name) for name in _told(kind, obj)},
        "conditions": sorted(_conditions(obj)) if kind.group == "ray.io" else None,
    }
    return f"{kind.name} {json.dumps({name: value for name, value in lasting.items() if value}, sort_keys=True)}"


def _made(kind: Kind, spec: Any, names: Names) -> str:
    """What runs in a pod, or where a Service leads: images in words, all else in a number that changes with it."""
    within = spec["template"]["spec"] if kind is JOB else spec
    if kind is SERVICE:
        ports = [{name: value for name, value in one.items() if name != "nodePort"} for one in spec.get("ports") or ()]
        return _number([spec.get("type"), spec.get("selector"), ports], names)
    if kind is not POD and kind is not JOB:
        return ""
    containers = [*(within.get("initContainers") or ()), *within["containers"]]
    parts = [{name: one.get(name) for name in ("name", "command", "args", "env", "resources")} for one in containers]
    return f"{' '.join(one['image'] for one in containers)} {_number(parts, names)}"


def _number(parts: Any, names: Names) -> str:
    return f"{zlib.crc32(names.plain(json.dumps(parts, sort_keys=True)).encode()):08x}"


def _told(kind: Kind, obj: Obj) -> tuple[str, ...]:
    names = STATUS.get(kind.name, ())
    return tuple(name for name in names if name != "jobStatus") if _is_cut_short(obj) else names


def _is_cut_short(obj: Obj) -> bool:
    """Whether it failed by a submitter beside its head; it may end before or after Ray was heard to say why."""
    mode, state = obj.get("spec", {}).get("submissionMode"), obj.get("status", {}).get("jobDeploymentStatus")
    return bool(mode == "SidecarMode" and state == "Failed")


def _place(pod: Obj) -> dict[str, str]:
    wanted = ("ray.io/cluster", "ray.io/node-type", "ray.io/group", "ray.io/replica-host-index", "ray.io/serve")
    labels = pod["metadata"].get("labels") or {}
    return {name: labels[name] for name in wanted if name in labels}


def _conditions(obj: Obj) -> Iterator[str]:
    """Why something is not so depends on what was seen on the way.

    A deletion that was due before anybody could announce it never is: that none is announced any more says nothing.
    """
    for one in obj.get("status", {}).get("conditions") or ():
        if one["type"] == "CleanupScheduled" and one["status"] != "True":
            continue
        reason = "" if _is_cut_short(obj) else f" {one['reason']}"
        yield f"{one['type']}{reason}" if one["status"] == "True" else f"not {one['type']}"
