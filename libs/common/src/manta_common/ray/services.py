"""The Services of a cluster: in front of the head, between hosts of one worker, and in front of Ray Serve."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from manta_common.api import containers, labels, names
from manta_common.api.documents import without_nulls
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.ray.cluster import (
    Manifest,
    Unbuildable,
    child,
    controller_reference,
    head_ports,
    head_service_name,
    head_template,
    owner_reference,
)
from manta_common.ray.settings import RaySettings

_HEADLESS: Final = {"clusterIP": "None", "publishNotReadyAddresses": True}
_NO_SERVE_PORT: Final = (
    "Please specify a port named 'serve' (or with the prefix 'serve-', e.g. 'serve-grpc') in the Ray head container; "
    "otherwise, the Kubernetes service for Ray Serve will not be created"
)


def head_service(cluster: RayCluster, settings: RaySettings) -> Manifest:
    """The Service in front of the head: the user's own with the operator's parts, or one of the operator's."""
    own = cluster.spec.head_group_spec.head_service
    template = {} if own is UNSET else without_nulls(msgspec.json.decode(own))
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    selector = head_selector(cluster)
    about = {
        "name": head_service_name(cluster),
        "namespace": cluster.metadata.namespace,
        "labels": {**metadata.get("labels", {}), **selector},
        "annotations": {**metadata.get("annotations", {}), **cluster.spec.head_service_annotations},
        "ownerReferences": [owner_reference(cluster)],
    }
    ports = {"ports": [*spec.get("ports", ()), *_generated_ports(cluster)], "selector": selector}
    kind = _service_type(spec.get("type") or cluster.spec.head_group_spec.service_type)
    address = _HEADLESS if own is UNSET and _is_headless(cluster, settings) else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, **about},
        "spec": {**spec, **ports, **kind, **address},
    }


def job_head_service(job: RayJob, cluster: RayCluster, settings: RaySettings) -> Manifest:
    """The Service that a job keeps in front of whichever cluster it runs on now."""
    # Of annotations only those of the user's template count here.
    bare = msgspec.structs.replace(cluster, spec=msgspec.structs.replace(cluster.spec, head_service_annotations={}))
    made = head_service(bare, settings)
    labelled = {
        labels.ORIGINATED_FROM_NAME: job.metadata.name,
        labels.ORIGINATED_FROM_KIND: "RayJob",
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: names.identifier(job.metadata.name, labels.HEAD),
    }
    about = {
        "name": names.head_service(job.metadata.name),
        "namespace": job.metadata.namespace,
        "labels": labelled,
        "ownerReferences": [controller_reference("RayJob", job.metadata)],
    }
    return {**made, "metadata": {**made["metadata"], **about}}


def head_selector(cluster: RayCluster) -> dict[str, str]:
    """The labels by which the head Service finds the head; of the user's only the app's name in the template counts."""
    app = head_template(cluster).metadata.labels.get(labels.APP_NAME, labels.APP_NAME_VALUE)
    return {
        labels.CLUSTER: cluster.metadata.name,
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: names.identifier(cluster.metadata.name, labels.HEAD),
        labels.APP_NAME: app,
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
    }


def headless_service(cluster: RayCluster) -> Manifest:
    """The Service by which the hosts of one worker find each other."""
    name = names.headless_service(cluster.metadata.name)
    labelled = {labels.HEADLESS_WORKER_SERVICE: cluster.metadata.name}
    selector = {labels.CLUSTER: cluster.metadata.name, labels.NODE_TYPE: labels.WORKER}
    made = child(cluster, "v1", "Service", name=name, labelled=labelled)
    return made | {"spec": {"type": "ClusterIP", **_HEADLESS, "selector": selector}}


def serve_service(cluster: RayCluster) -> Manifest:
    """The Service in front of Ray Serve for a cluster on its own."""
    ports = serve_ports(cluster)
    if not ports:
        raise Unbuildable(_NO_SERVE_PORT)
    labelled = {
        labels.ORIGINATED_FROM_NAME: cluster.metadata.name,
        labels.ORIGINATED_FROM_KIND: "RayCluster",
        labels.SERVE: names.serve_label(cluster.metadata.name),
    }
    name = names.serve_service(cluster.metadata.name)
    made = child(cluster, "v1", "Service", name=name, labelled=labelled)
    kind = _service_type(cluster.spec.head_group_spec.service_type)
    return made | {"spec": {"selector": {labels.CLUSTER: cluster.metadata.name}, "ports": ports, **kind}}


def serve_ports(cluster: RayCluster) -> list[dict[str, Any]]:
    """The head's ports that Ray Serve answers on."""
    return [
        {"name": name, "port": port}
        for name, port in sorted(head_ports(cluster).items())
        if name == containers.SERVE_PORT_NAME or name.startswith(containers.SERVE_PORT_PREFIX)
    ]


def _generated_ports(cluster: RayCluster) -> list[dict[str, Any]]:
    ports = sorted(head_ports(cluster).items())
    return [{"name": name, "port": port, "appProtocol": "tcp"} for name, port in ports]


def _service_type(chosen: str) -> dict[str, str]:
    return {"type": chosen} if chosen else {}


def _is_headless(cluster: RayCluster, settings: RaySettings) -> bool:
    return not settings.head_cluster_ip and cluster.spec.head_group_spec.service_type in {"", "ClusterIP"}
