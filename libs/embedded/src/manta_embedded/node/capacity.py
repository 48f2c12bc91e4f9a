"""Which pods fit on the node, and what a scheduler says of those that do not. Pure."""

from collections.abc import Iterable, Mapping

from manta_common.api import labels as ray_labels
from manta_common.ray.quantities import Quantity, amount, total
from manta_embedded.store.objects import Obj, at_path

Amounts = dict[str, Quantity]
NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."

NO_NETWORKS = (
    "This machine gives pods no network of their own, so that only one node of one Ray cluster can run at a time:"
    " delete the other one, or allow unprivileged user namespaces (sysctl user.max_user_namespaces,"
    " kernel.apparmor_restrict_unprivileged_userns=0), or run manta as root on Linux."
)


def requests(pod: Obj) -> Amounts:
    """What a pod asks for: its containers together, or the largest of its init containers if that is more."""
    spec = pod["spec"]
    found = total(_asked(one) for one in spec["containers"])
    inits = spec.get("initContainers") or ()
    sidecars = total(_asked(one) for one in inits if one.get("restartPolicy") == "Always")
    found = total([found, sidecars])
    for one in inits:
        for name, asked in total([_asked(one), sidecars]).items():
            found[name] = max(found.get(name, Quantity()), asked, key=lambda quantity: quantity.nanos)
    return total([found, _amounts(spec.get("overhead"))])


def complaint(pod: Obj, others: Iterable[Obj], allocatable: Mapping[str, str], node: Obj) -> str:
    """Why a pod does not fit beside others on the node; empty if it does."""
    if why := _mismatch(pod, node):
        return f"0/1 nodes are available: 1 {why}. {NOT_HELPFUL}"
    taken = list(others)
    used = total(requests(one) for one in taken)
    asked = requests(pod)
    missing = [
        f"1 Insufficient {name}"
        for name, wanted in sorted(asked.items())
        if wanted.nanos and wanted.nanos + used.get(name, Quantity()).nanos > amount(allocatable.get(name, "0")).nanos
    ]
    if len(taken) >= amount(allocatable.get("pods", "110")).value:
        missing.insert(0, "1 Too many pods")
    if not missing:
        return ""
    return f"0/1 nodes are available: {', '.join(missing)}. no new claims to deallocate, {NO_VICTIMS}"


def ray_complaint(pod: Obj, others: Iterable[Obj]) -> str:
    """Why a Ray pod must wait where all pods share one address; empty if it need not."""
    own = ray_cluster(pod)
    if not own:
        return ""
    running = {found: one for one in others if (found := ray_cluster(one))}
    if not running:
        return ""
    if own in running:
        what = f"run a node of Ray cluster {own} already, and two of them would take the same ports"
    else:
        what = f"run Ray cluster {next(iter(running))} already"
    return f"0/1 nodes are available: 1 node(s) {what}. {NO_NETWORKS}"


def ray_cluster(pod: Obj) -> str:
    """The Ray cluster that a pod is a node of."""
    found = (pod["metadata"].get("labels") or {}).get(ray_labels.CLUSTER, "")
    is_node = (pod["metadata"].get("labels") or {}).get(ray_labels.NODE_TYPE)
    return f"{pod['metadata']['namespace']}/{found}" if found and is_node else ""


def is_active(pod: Obj) -> bool:
    """Whether a pod takes up room."""
    return at_path(pod, "status.phase") not in ("Succeeded", "Failed")


def _mismatch(pod: Obj, node: Obj) -> str:
    selector: dict[str, str] = at_path(pod, "spec.nodeSelector") or {}
    own = node["metadata"].get("labels") or {}
    return "" if selector.items() <= own.items() else "node(s) didn't match Pod's node affinity/selector"


def _asked(container: Obj) -> Amounts:
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(given: Mapping[str, str] | None) -> Amounts:
    return {name: amount(value) for name, value in (given or {}).items()}
