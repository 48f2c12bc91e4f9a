"""Volcano: every cluster or job has a PodGroup, and its pods name it."""

from collections.abc import Mapping
from typing import Any, Final

from manta_common.api import annotations, labels, names
from manta_common.api.documents import merge_patch
from manta_common.gotext import GoError, parse_int
from manta_common.ray.cluster import Manifest, Unbuildable
from manta_common.ray.quantities import Quantity, canonical, total
from manta_common.ray.schedulers.mark import Mark
from manta_common.ray.schedulers.parent import Parent
from manta_common.ray.sums import desired_resources, desired_workers, min_resources, min_workers, template_resources

_COPIED: Final = (labels.VOLCANO_QUEUE, labels.PRIORITY_CLASS)


def mark(parent: Parent, group: str) -> Mark:
    """The group that a pod is scheduled with, and its task in it."""
    return Mark(
        labels={key: parent.label(key) for key in _COPIED if parent.label(key)},
        annotations={annotations.VOLCANO_GROUP: pod_group_name(parent), annotations.VOLCANO_TASK: group},
        spec={"schedulerName": "volcano"},
    )


def pod_group_name(parent: Parent) -> str:
    """The name of the PodGroup; a job's cluster shares the job's."""
    by_job = parent.label(labels.ORIGINATED_FROM_KIND) == "RayJob"
    return names.volcano_pod_group((by_job and parent.label(labels.ORIGINATED_FROM_NAME)) or parent.name)


def pod_group(parent: Parent) -> Manifest:
    """The PodGroup of a cluster or job: as many pods as should be there, or the fewest with the autoscaler."""
    spec = parent.spec
    members, amounts = (
        (min_workers(spec), min_resources(spec))
        if parent.autoscaling
        else (desired_workers(spec), desired_resources(spec))
    )
    submitter = template_resources(parent.submitter) if parent.submitter else {}
    return _pod_group(parent, members + 1, total([amounts, submitter]))


def released_pod_group(parent: Parent) -> Manifest:
    """The PodGroup of a job whose cluster is gone: it holds nothing back."""
    return _pod_group(parent, 0, {})


def changes(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Manifest:
    """The merge patch that brings a PodGroup up to date; only its size ever changes."""
    return merge_patch({"spec": _size(found.get("spec") or {})}, {"spec": _size(wanted["spec"])})


def _size(spec: Mapping[str, Any]) -> Manifest:
    amounts = spec.get("minResources") or {}
    written = {name: canonical(amount) for name, amount in amounts.items()}
    return {"minMember": spec.get("minMember", 0), "minResources": written}


def _pod_group(parent: Parent, members: int, amounts: Mapping[str, Quantity]) -> Manifest:
    metadata = {
        "name": pod_group_name(parent),
        "namespace": parent.metadata.namespace,
        "annotations": dict(parent.metadata.annotations),
        "ownerReferences": [parent.owner_reference()],
    }
    spec = {
        "minMember": members,
        "minResources": {name: str(amount) for name, amount in sorted(amounts.items())},
        **_chosen(parent),
    }
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _chosen(parent: Parent) -> Manifest:
    queue, priority = parent.label(labels.VOLCANO_QUEUE), parent.label(labels.PRIORITY_CLASS)
    return {
        **({"queue": queue} if queue else {}),
        **({"priorityClassName": priority} if priority else {}),
        **_topology(parent),
    }


def _topology(parent: Parent) -> Manifest:
    if labels.VOLCANO_TOPOLOGY_MODE not in parent.metadata.labels:
        return {}
    tier = parent.metadata.labels.get(labels.VOLCANO_TOPOLOGY_TIER)
    try:
        limit = {} if tier is None else {"highestTierAllowed": parse_int(tier)}
    except GoError as error:
        raise Unbuildable(f"label {labels.VOLCANO_TOPOLOGY_TIER} must be a whole number: {error}") from error
    return {"networkTopology": {"mode": parent.label(labels.VOLCANO_TOPOLOGY_MODE), **limit}}
