"""YuniKorn: pods name their application and queue, and for gangs the sizes of all groups."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from manta_common.api import annotations, labels
from manta_common.api.documents import without_nulls
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.gojson import encode
from manta_common.ray.cluster import Manifest
from manta_common.ray.schedulers.mark import Mark
from manta_common.ray.schedulers.parent import Parent
from manta_common.ray.sums import template_resources

_COPIED: Final = {
    labels.YUNIKORN_APP_ID: labels.YUNIKORN_POD_APP_ID,
    labels.YUNIKORN_QUEUE: labels.YUNIKORN_POD_QUEUE,
}


def mark(parent: Parent, group: str) -> Mark:
    """Application and queue, and for a gang what its groups need and which one this is."""
    copied = {there: parent.label(here) for here, there in _COPIED.items() if parent.label(here)}
    gang: dict[str, str] = {}
    if parent.wants_gang:
        given = parent.metadata.annotations.get(annotations.YUNIKORN_TASK_GROUPS)
        gang[annotations.YUNIKORN_TASK_GROUPS] = given or task_groups(parent)
    if gang and group:
        gang[annotations.YUNIKORN_TASK_GROUP] = group
    return Mark(labels=copied, annotations=gang, spec={"schedulerName": "yunikorn"})


def task_groups(parent: Parent) -> str:
    """The sizes of all groups as JSON: the head, the workers and a job's submitter."""
    head = msgspec.json.decode(parent.spec.head_group_spec.template)
    groups = [
        _task_group(labels.HEAD_GROUP, head, 1),
        *(_worker_group(group) for group in parent.spec.worker_group_specs),
        *([_task_group(labels.SUBMITTER_GROUP, parent.submitter, 1)] if parent.submitter else []),
    ]
    return f"[{','.join(groups)}]"


def _worker_group(group: WorkerGroupSpec) -> str:
    template = msgspec.json.decode(group.template)
    return _task_group(group.group_name, template, (group.min_replicas or 0) * group.num_of_hosts)


def _task_group(name: str, template: Mapping[str, Any], members: int) -> str:
    """One group; the order of its fields is that of KubeRay's."""
    spec: Manifest = without_nulls(template).get("spec") or {}
    fields = {
        "minResource": {key: str(amount) for key, amount in template_resources(template).items()},
        "nodeSelector": spec.get("nodeSelector") or None,
        "affinity": spec.get("affinity"),
        "name": name,
        "tolerations": spec.get("tolerations") or None,
        "minMember": members,
    }
    return "{" + ",".join(f'"{key}":{encode(value)}' for key, value in fields.items() if value is not None) + "}"
