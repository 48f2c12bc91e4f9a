"""Parts of objects with paths of their own: scale, and the binding of a pod to a node."""

from typing import Any

from manta_common.kinds import NAMESPACE
from manta_embedded.store import errors
from manta_embedded.store.kinds import ScalePaths, Served
from manta_embedded.store.objects import Obj, at_path, metadata
from manta_embedded.store.schema import faults

SCALE_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def check(served: Served, subresource: str) -> None:
    """The kind has this part; 404 when it has not."""
    if not has(served, subresource):
        raise errors.kind_missing()


def has(served: Served, subresource: str) -> bool:
    """Whether the kind has this part."""
    known = {
        "": True,
        "status": served.status,
        "scale": served.scale is not None,
        "finalize": served.storage == (NAMESPACE.group, NAMESPACE.plural),
    }
    return bool(known.get(subresource))


def scale_of(served: Served, obj: Obj) -> Obj:
    """How many replicas an object wants and has."""
    paths = _paths(served)
    status: Obj = {"replicas": _at(obj, paths.status_replicas) or 0}
    if paths.selector and (selector := _at(obj, paths.selector)):
        status["selector"] = selector
    replicas = _at(obj, paths.spec_replicas)
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {name: value for name, value in metadata(obj).items() if name in SCALE_METADATA},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def rescaled(served: Served, obj: Obj, scale: Obj) -> Obj:
    """An object with the replicas that a scale wants; 422 when there cannot be so many."""
    replicas = at_path(scale, "spec.replicas") or 0
    if replicas < 0:
        cause = faults.invalid("spec.replicas", replicas, "should be a non-negative integer")
        raise errors.invalid(served, obj["metadata"]["name"], [cause])
    version = metadata(scale).get("resourceVersion") or obj["metadata"]["resourceVersion"]
    changed = _with(obj, _paths(served).spec_replicas.lstrip(".").split("."), replicas)
    return {**changed, "metadata": {**changed["metadata"], "resourceVersion": version}}


def bound(served: Served, pod: Obj, node: str, moment: str) -> Obj:
    """A pod that was put on a node; 409 when it is on one already."""
    assigned = at_path(pod, "spec.nodeName")
    if assigned:
        name = pod["metadata"]["name"]
        raise errors.conflict(served, name, f'pod {name} is already assigned to node "{assigned}"')
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    status = pod.get("status") or {}
    others = [one for one in status.get("conditions", ()) if one["type"] != "PodScheduled"]
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {**status, "conditions": [*others, condition]}}


def _paths(served: Served) -> ScalePaths:
    if served.scale is None:
        raise errors.kind_missing()
    return served.scale


def _at(obj: Obj, path: str) -> Any:
    return at_path(obj, path.lstrip("."))


def _with(obj: Obj, path: list[str], value: Any) -> Obj:
    if len(path) == 1:
        return {**obj, path[0]: value}
    return {**obj, path[0]: _with(obj.get(path[0]) or {}, path[1:], value)}
