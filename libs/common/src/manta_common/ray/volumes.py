"""Volumes that Ray's containers share: memory for the object store, and the folder of logs."""

from collections.abc import Iterable

from manta_common.api import containers
from manta_common.ray.cluster import Manifest, has_collector, is_autoscaling
from manta_common.ray.draft import Draft, add_volume, append, mount


def add_shared_memory(draft: Draft) -> None:
    """Give Ray's object store memory that the kernel's small default does not limit."""
    mounts = draft.ray.get("volumeMounts", ())
    if "plasma-directory" in draft.params or any(one["mountPath"] == containers.SHARED_MEMORY_PATH for one in mounts):
        return
    resources = draft.resources
    limit = resources.limits.get("memory", resources.requests.get("memory"))
    medium: Manifest = {"medium": "Memory"} | ({} if limit is None else {"sizeLimit": limit})
    add_volume(draft.spec, {"name": containers.SHARED_MEMORY_VOLUME, "emptyDir": medium})
    shared = {"name": containers.SHARED_MEMORY_VOLUME, "mountPath": containers.SHARED_MEMORY_PATH}
    append(draft.ray, "volumeMounts", [shared])


def add_logs(draft: Draft) -> None:
    """Let the autoscaler and the history collector see Ray's logs."""
    if draft.is_head and is_autoscaling(draft.cluster):
        _share_logs(draft, draft.container(containers.AUTOSCALER))
    if has_collector(draft.cluster, draft.settings):
        _share_logs(draft, draft.container(containers.HISTORY_COLLECTOR))


def _share_logs(draft: Draft, reader: Manifest | None) -> None:
    for container in _present(draft.ray, reader):
        mounted = any(one["mountPath"] == containers.LOGS_PATH for one in container.get("volumeMounts", ()))
        if not mounted:
            add_volume(draft.spec, {"name": containers.LOGS_VOLUME, "emptyDir": {}})
            mount(container, {"name": containers.LOGS_VOLUME, "mountPath": containers.LOGS_PATH})


def _present(*found: Manifest | None) -> Iterable[Manifest]:
    return (container for container in found if container is not None)
