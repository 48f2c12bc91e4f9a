"""The network policies of a cluster: made, kept as they should be, and deleted when the spec does not ask for them."""

from typing import Any, Final, Literal

from manta_cluster_reconciler.actions import Action, Create, Delete, Halt, Patch, Phase, Told
from manta_cluster_reconciler.observed import Found, Observed
from manta_cluster_reconciler.rules import Rules
from manta_common.api.documents import replaced
from manta_common.kinds import NETWORKPOLICY
from manta_common.kube.series import Notice
from manta_common.ray.network import network_policies, policy_differs

CONTROLLER: Final = "networkpolicy-controller"


def actions(observed: Observed, rules: Rules) -> Phase:
    """What is to be done about the policies."""
    if not rules.ray.gates.network_policy:
        return []
    wanted = {body["metadata"]["name"]: body for body in network_policies(observed.cluster)}
    found = {policy["metadata"]["name"]: policy for policy in observed.fetched.policies}
    stale = [policy for name, policy in found.items() if name not in wanted and _is_owned(observed, policy)]
    kept = [action for name, body in wanted.items() for action in _kept(observed, body, found.get(name))]
    return [*kept, *(_delete(policy) for policy in stale)]


def _kept(observed: Observed, wanted: dict[str, Any], found: Found | None) -> list[Action]:
    if found is None:
        # A policy without the cluster's label is not listed: if one bears the name, that is a collision too.
        return [Create(kind=NETWORKPOLICY, body=wanted, told=_told("Create", "Created", wanted))]
    if not _is_owned(observed, found):
        return [_collision(found)]
    if not policy_differs(wanted, found):
        return []
    metadata = found["metadata"]
    labelled = replaced(metadata.get("labels") or {}, wanted["metadata"]["labels"])
    body = {"metadata": {"labels": labelled}, "spec": replaced(found["spec"], wanted["spec"])}
    return [
        Patch(
            kind=NETWORKPOLICY,
            name=metadata["name"],
            body=body,
            version=metadata["resourceVersion"],
            told=_told("Update", "Updated", wanted),
        )
    ]


def _delete(policy: Found) -> Delete:
    metadata = policy["metadata"]
    told = _told("Delete", "Deleted", policy)
    return Delete(kind=NETWORKPOLICY, name=metadata["name"], uid=metadata["uid"], told=told)


def _collision(found: Found) -> Halt:
    metadata = found["metadata"]
    note = (
        f"NetworkPolicy {metadata['namespace']}/{metadata['name']} already exists and is not owned by this RayCluster"
    )
    return Halt(message=note, notice=_notice("Warning", "NetworkPolicyNameCollision", "Create", note))


def _told(action: Literal["Create", "Update", "Delete"], done: str, policy: Found) -> Told:
    name = f"{policy['metadata']['namespace']}/{policy['metadata']['name']}"
    return Told(
        done=_notice("Normal", f"{done}NetworkPolicy", action, f"{done} network policy {name}"),
        failed=_notice(
            "Warning", f"FailedTo{action}NetworkPolicy", action, f"Failed to {action.lower()} network policy {name}"
        ),
    )


def _notice(type_: Literal["Normal", "Warning"], reason: str, action: str, note: str) -> Notice:
    return Notice(controller=CONTROLLER, type=type_, reason=reason, action=action, note=note)


def _is_owned(observed: Observed, found: Found) -> bool:
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == observed.cluster.metadata.uid for owner in owners)
