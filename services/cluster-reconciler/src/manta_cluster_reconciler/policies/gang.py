"""What a batch scheduler needs before the pods: made first, kept up to date, made anew where it cannot be changed."""

from typing import Any

from manta_cluster_reconciler.actions import Action, Create, Delete, Halt, Patch, Phase
from manta_cluster_reconciler.observed import Found, Observed
from manta_cluster_reconciler.policies.needs import kind_of, workload_needs
from manta_cluster_reconciler.rules import Rules
from manta_common.api.annotations import POD_GROUP_FINALIZER
from manta_common.kinds import WORKLOAD, WORKLOAD_PODGROUP, Kind
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.schedulers.gangs import gang_changes, gang_objects, is_stale


def phases(observed: Observed, rules: Rules) -> list[Phase]:
    """One object after the other; while one is made anew, nothing that follows is done."""
    try:
        wanted = gang_objects(observed.cluster, rules.ray)
    except Unbuildable as error:
        return [[Halt(message=str(error))]]
    if any((found := _found(observed, body)) and is_stale(body, found) for body in wanted):
        again = Halt(message="objects of the batch scheduler are made anew: their spec cannot be changed")
        return [*_deleted(observed), [again]]
    if not wanted and rules.ray.gates.workload_scheduling:
        return _deleted(observed)
    return [_actions(observed, body) for body in wanted]


def _deleted(observed: Observed) -> list[Phase]:
    """Delete what Kubernetes' own gang scheduling has of a cluster; what refers to others first."""
    found = [(kind, observed.fetched.get(kind, name)) for kind, name in reversed(workload_needs(observed.cluster))]
    return [[_delete(kind, one)] for kind, one in found if one and _is_owned(observed, one)]


def _actions(observed: Observed, wanted: dict[str, Any]) -> list[Action]:
    found = _found(observed, wanted)
    if found is None:
        return [Create(kind=kind_of(wanted), body=wanted)]
    metadata = found["metadata"]
    if _is_in_the_way(observed, wanted, found):
        what = f"{wanted['kind']} {observed.key.namespace}/{metadata['name']}"
        return [Halt(message=f"{what} is there already and does not belong to this RayCluster; rename or delete it")]
    changes = gang_changes(wanted, found)
    version = metadata["resourceVersion"]
    return [Patch(kind=kind_of(wanted), name=metadata["name"], body=changes, version=version)] if changes else []


def _delete(kind: Kind, found: Found) -> Action:
    metadata = found["metadata"]
    held = POD_GROUP_FINALIZER if POD_GROUP_FINALIZER in (metadata.get("finalizers") or ()) else ""
    return Delete(kind=kind, name=metadata["name"], uid=metadata["uid"], finalizer=held)


def _found(observed: Observed, wanted: dict[str, Any]) -> Found | None:
    return observed.fetched.get(kind_of(wanted), wanted["metadata"]["name"])


def _is_in_the_way(observed: Observed, wanted: dict[str, Any], found: Found) -> bool:
    """Whether an object cannot be used; a PodGroup that a user made can, one of an earlier cluster goes with that."""
    others = [owner for owner in found["metadata"].get("ownerReferences") or () if owner["kind"] == "RayCluster"]
    return not _is_owned(observed, found) and (bool(others) or kind_of(wanted) in {WORKLOAD, WORKLOAD_PODGROUP})


def _is_owned(observed: Observed, found: Found) -> bool:
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == observed.cluster.metadata.uid for owner in owners)
