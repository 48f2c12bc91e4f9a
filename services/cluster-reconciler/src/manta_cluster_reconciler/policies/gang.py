"""What a batch scheduler needs before the pods: made first, kept up to date, made anew where it cannot be changed."""

from typing import Any

from manta_cluster_reconciler.actions import Action, Create, Delete, Halt, Patch, Phase
from manta_cluster_reconciler.observed import Found, Observed
from manta_cluster_reconciler.policies.needs import kind_of
from manta_cluster_reconciler.rules import Rules
from manta_common.api.annotations import POD_GROUP_FINALIZER
from manta_common.ray.schedulers.gangs import gang_changes, gang_objects, is_stale


def phases(observed: Observed, rules: Rules) -> list[Phase]:
    """One object after the other; while one is made anew, nothing that follows is done."""
    wanted = gang_objects(observed.cluster, rules.ray)
    stale = [found for body in wanted if (found := _found(observed, body)) and is_stale(body, found)]
    if stale:
        # The last one made refers to those before it.
        again = Halt(message="objects of the batch scheduler are made anew: their spec cannot be changed")
        bodies = reversed([body for body in wanted if _found(observed, body)])
        return [*([_delete(observed, body)] for body in bodies), [again]]
    return [_actions(observed, body) for body in wanted]


def _actions(observed: Observed, wanted: dict[str, Any]) -> list[Action]:
    found = _found(observed, wanted)
    if found is None:
        return [Create(kind=kind_of(wanted), body=wanted)]
    metadata = found["metadata"]
    if not _is_owned(observed, found):
        what = f"{wanted['kind']} {observed.key.namespace}/{metadata['name']}"
        return [Halt(message=f"{what} is there already and does not belong to this RayCluster; rename or delete it")]
    changes = gang_changes(wanted, found)
    version = metadata["resourceVersion"]
    return [Patch(kind=kind_of(wanted), name=metadata["name"], body=changes, version=version)] if changes else []


def _delete(observed: Observed, wanted: dict[str, Any]) -> Action:
    found = _found(observed, wanted)
    assert found is not None
    metadata = found["metadata"]
    held = POD_GROUP_FINALIZER if POD_GROUP_FINALIZER in metadata.get("finalizers", ()) else ""
    return Delete(kind=kind_of(wanted), name=metadata["name"], uid=metadata["uid"], finalizer=held)


def _found(observed: Observed, wanted: dict[str, Any]) -> Found | None:
    return observed.fetched.get(kind_of(wanted), wanted["metadata"]["name"])


def _is_owned(observed: Observed, found: Found) -> bool:
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == observed.cluster.metadata.uid for owner in owners)
