"""What a batch scheduler wants to see on pods, on a submitter's template and on a RayJob's cluster."""

from collections.abc import Mapping
from typing import Any

from manta_common.api import labels
from manta_common.ray.cluster import Manifest
from manta_common.ray.schedulers import volcano, workload, yunikorn
from manta_common.ray.schedulers.mark import Mark
from manta_common.ray.schedulers.parent import Parent
from manta_common.ray.settings import RaySettings


def mark_of(parent: Parent, group: str, settings: RaySettings) -> Mark:
    """The mark on what a parent makes for one of its groups; the group is empty for a RayJob's cluster."""
    if settings.gates.workload_scheduling:
        return workload.mark(parent)
    match settings.batch_scheduler:
        case "volcano":
            return volcano.mark(parent, group)
        case "yunikorn":
            return yunikorn.mark(parent, group)
        case "kai-scheduler":
            return _kai(parent)
        case "scheduler-plugins":
            return _plugins(parent)
    return Mark()


def marked(pod: Mapping[str, Any], parent: Parent, group: str, settings: RaySettings) -> Manifest:
    """A pod, or a template of one, with its scheduler's mark."""
    mark = mark_of(parent, group, settings)
    return {**pod, "metadata": marked_metadata(pod.get("metadata") or {}, mark), "spec": {**pod["spec"], **mark.spec}}


def marked_metadata(metadata: Mapping[str, Any], mark: Mark) -> Manifest:
    """An object's metadata with the scheduler's labels and annotations."""
    changed = dict(metadata)
    for field in ("labels", "annotations"):
        added = getattr(mark, field)
        if added:
            changed[field] = {**(metadata.get(field) or {}), **added}
    return changed


def _kai(parent: Parent) -> Mark:
    queue = parent.label(labels.KAI_QUEUE)
    return Mark(labels={labels.KAI_QUEUE: queue} if queue else {}, spec={"schedulerName": "kai-scheduler"})


def _plugins(parent: Parent) -> Mark:
    gang = {labels.SCHEDULER_PLUGINS_POD_GROUP: parent.name} if parent.wants_gang else {}
    return Mark(labels=gang, spec={"schedulerName": "scheduler-plugins-scheduler"})
