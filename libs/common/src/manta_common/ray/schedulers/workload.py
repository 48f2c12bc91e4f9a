"""Kubernetes' own gang scheduling: a Workload that describes the gang and a PodGroup that its pods name."""

from typing import Final

from manta_common.api import labels, names
from manta_common.ray.cluster import Manifest
from manta_common.ray.schedulers.mark import Mark
from manta_common.ray.schedulers.parent import Parent
from manta_common.ray.sums import desired_workers

_API_VERSION: Final = "scheduling.k8s.io/v1alpha2"
_TEMPLATE: Final = "cluster"


def is_gang(parent: Parent) -> bool:
    """Whether a cluster's pods start together: by its label, and only where their number is fixed."""
    asked = parent.label(labels.GANG_SCHEDULING).lower() == labels.TRUE
    return parent.kind == "RayCluster" and asked and not parent.autoscaling


def mark(parent: Parent) -> Mark:
    """The PodGroup that a pod is scheduled with."""
    if not is_gang(parent):
        return Mark()
    group = {"podGroupName": names.workload_pod_group(parent.name)}
    return Mark(spec={"schedulerName": "default-scheduler", "schedulingGroup": group})


def gang_objects(parent: Parent) -> list[Manifest]:
    """The Workload and its PodGroup, in the order in which they are made."""
    policy = {"gang": {"minCount": desired_workers(parent.spec) + 1}}
    controller = {"apiGroup": names.API_GROUP, "kind": "RayCluster", "name": parent.name}
    template = {"name": _TEMPLATE, "schedulingPolicy": policy}
    reference = {"workload": {"workloadName": parent.name, "podGroupTemplateName": _TEMPLATE}}
    return [
        _object(parent, "Workload", parent.name)
        | {"spec": {"controllerRef": controller, "podGroupTemplates": [template]}},
        _object(parent, "PodGroup", names.workload_pod_group(parent.name))
        | {"spec": {"podGroupTemplateRef": reference, "schedulingPolicy": policy}},
    ]


def _object(parent: Parent, kind: str, name: str) -> Manifest:
    metadata = {
        "name": name,
        "namespace": parent.metadata.namespace,
        "labels": {labels.CLUSTER: parent.name},
        "ownerReferences": [parent.owner_reference()],
    }
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata}
