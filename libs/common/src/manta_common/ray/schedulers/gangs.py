"""The objects that a batch scheduler needs before a cluster's pods are made."""

from collections.abc import Mapping
from typing import Any

from manta_common.api import labels
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest
from manta_common.ray.schedulers import volcano, workload
from manta_common.ray.schedulers.parent import Parent, cluster_parent, plain_reference
from manta_common.ray.settings import RaySettings
from manta_common.ray.sums import desired_resources, desired_workers


def gang_objects(cluster: RayCluster, settings: RaySettings) -> list[Manifest]:
    """What must be there before the pods, in the order in which it is made; nothing for most schedulers."""
    parent = cluster_parent(cluster)
    if settings.gates.workload_scheduling:
        return workload.gang_objects(parent) if workload.is_gang(parent) else []
    match settings.batch_scheduler:
        case "volcano":
            # A job's cluster is scheduled with the job's PodGroup.
            return [] if parent.label(labels.ORIGINATED_FROM_KIND) == "RayJob" else [volcano.pod_group(parent)]
        case "scheduler-plugins":
            return [_plugins_pod_group(parent)] if parent.wants_gang else []
    return []


def gang_changes(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Manifest:
    """The merge patch for an object that is there; empty where it is right, or where its kind is never changed."""
    if wanted["apiVersion"].startswith("scheduling.volcano.sh/"):
        return volcano.changes(wanted, found)
    return {}


def is_stale(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether an object of Kubernetes' own gang scheduling, which cannot be changed, must be made anew."""
    return bool(wanted["apiVersion"].startswith("scheduling.k8s.io/")) and not _covers(found["spec"], wanted["spec"])


def _covers(found: Any, wanted: Any) -> bool:
    """Whether what is wanted stands in what was found; the API server may have added to it."""
    match found, wanted:
        case dict(), dict():
            return all(name in found and _covers(found[name], value) for name, value in wanted.items())
        case list(), list():
            return len(found) == len(wanted) and all(map(_covers, found, wanted))
    return bool(found == wanted)


def _plugins_pod_group(parent: Parent) -> Manifest:
    amounts = desired_resources(parent.spec)
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": parent.name,
            "namespace": parent.metadata.namespace,
            "ownerReferences": [plain_reference(parent)],
        },
        "spec": {
            "minMember": desired_workers(parent.spec) + 1,
            "minResources": {name: str(amount) for name, amount in sorted(amounts.items())},
        },
    }
