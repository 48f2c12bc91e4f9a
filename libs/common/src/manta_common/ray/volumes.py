"""Volumes that Ray's containers share: memory for the object store, and the folder of logs."""

from manta_common.api import containers
from manta_common.ray.cluster import Manifest, has_collector, is_autoscaling
from manta_common.ray.draft import Draft, add_volume, has_mount, mount


def add_shared_memory(draft: Draft) -> None:
    """Give Ray's object store memory that the kernel's small default does not limit."""
    if "plasma-directory" in draft.params or has_mount(draft.ray, containers.SHARED_MEMORY_PATH):
        return
    resources = draft.resources
    limit = resources.limits.get("memory", resources.requests.get("memory"))
    medium: Manifest = {"medium": "Memory"} | ({} if limit is None else {"sizeLimit": limit})
    add_volume(draft.spec, {"name": containers.SHARED_MEMORY_VOLUME, "emptyDir": medium})
    shared = {"name": containers.SHARED_MEMORY_VOLUME, "mountPath": containers.SHARED_MEMORY_PATH}
    mount(draft.ray, shared)


def add_logs(draft: Draft) -> None:
    """Let the autoscaler and the history collector see Ray's logs."""
    if draft.is_head and is_autoscaling(draft.cluster):
        _share_logs(draft, draft.container(containers.AUTOSCALER))
    if has_collector(draft.cluster, draft.settings):
        _share_logs(draft, draft.container(containers.HISTORY_COLLECTOR))


def _share_logs(draft: Draft, reader: Manifest | None) -> None:
    for container in (draft.ray, reader):
        if container is not None and not has_mount(container, containers.LOGS_PATH):
            add_volume(draft.spec, {"name": containers.LOGS_VOLUME, "emptyDir": {}})
            mount(container, {"name": containers.LOGS_VOLUME, "mountPath": containers.LOGS_PATH})
