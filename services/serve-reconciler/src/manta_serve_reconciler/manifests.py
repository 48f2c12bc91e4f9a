"""The objects that a RayService makes, ready to be sent, and what Serve is told to run. Pure."""

import json
from typing import Any, Final

import msgspec
from msgspec import UNSET

from manta_common import gojson, goyaml
from manta_common.api import labels, names
from manta_common.api.documents import without_nulls
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService
from manta_common.api.wire import to_builtins
from manta_common.dashboard.reports import ServeReport
from manta_common.gotext import GoError
from manta_common.ray.cluster import Unbuildable, child, controller_reference
from manta_common.ray.services import head_service, serve_ports
from manta_common.ray.settings import RaySettings
from manta_serve_reconciler.policies.goals import marks
from manta_serve_reconciler.reasons import DEFAULT_APPLICATION

Manifest = dict[str, Any]
NO_SERVE_PORT: Final = (
    "Please specify a port named 'serve' (or with the prefix 'serve-', e.g. 'serve-grpc') in the Ray head container; "
    "otherwise, the Kubernetes service for Ray Serve will not be created."
)


def origin(owner: str) -> dict[str, str]:
    """The labels of what is made for a RayService, or for a cluster of one."""
    return {labels.ORIGINATED_FROM_NAME: owner, labels.ORIGINATED_FROM_KIND: "RayService"}


def ray_cluster(service: RayService, name: str, *, without_replicas: bool) -> Manifest:
    """A cluster of a RayService; `without_replicas` lets it begin with as few workers as it may."""
    spec = dict(to_builtins(service.spec.ray_cluster_config))
    for group in spec.get("workerGroupSpecs", ()) if without_replicas else ():
        group.pop("replicas", None)
    about: Manifest = {
        "name": name,
        "namespace": service.metadata.namespace,
        "labels": {**service.metadata.labels, **origin(service.metadata.name)},
        "annotations": {**service.metadata.annotations, **marks(service.spec.ray_cluster_config)},
        "ownerReferences": [controller_reference("RayService", service.metadata)],
    }
    return {"apiVersion": names.API_VERSION, "kind": "RayCluster", "metadata": about, "spec": spec}


def service_head_service(service: RayService, cluster: RayCluster, settings: RaySettings) -> Manifest:
    """The Service that a RayService keeps in front of the head of the cluster that serves."""
    # Of annotations only those of the user's template count here.
    bare = msgspec.structs.replace(cluster, spec=msgspec.structs.replace(cluster.spec, head_service_annotations={}))
    made = head_service(bare, settings)
    own, kept = service.metadata.name, made["metadata"]["annotations"]
    about: Manifest = {
        "name": names.head_service(own),
        "namespace": service.metadata.namespace,
        "labels": {
            **origin(own),
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: names.identifier(own, labels.HEAD),
        },
        "ownerReferences": [controller_reference("RayService", service.metadata)],
    }
    return {**made, "metadata": about | ({"annotations": kept} if kept else {})}


def serve_service(service: RayService, cluster: RayCluster) -> Manifest:
    """The Service in front of Serve: the user's own with the operator's parts, or one of the operator's."""
    raw = service.spec.serve_service
    template = {} if raw is UNSET else without_nulls(msgspec.json.decode(raw))
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    own = service.metadata.name
    about = {
        **metadata,
        "name": serve_service_name(service),
        "namespace": service.metadata.namespace,
        "labels": {**metadata.get("labels", {}), **origin(own), labels.SERVE: names.serve_label(own)},
        "ownerReferences": [controller_reference("RayService", service.metadata)],
    }
    kind = spec.get("type") or service.spec.ray_cluster_config.head_group_spec.service_type
    parts = {"selector": serve_selector(cluster), "ports": _ports(cluster, spec.get("ports") or [])}
    body = {**spec, **parts, **({"type": kind} if kind else {})}
    return {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": body}


def cluster_serve_service(service: RayService, cluster: RayCluster) -> Manifest:
    """The Service in front of Serve on one cluster, where a route divides the traffic; it goes with the cluster."""
    own = cluster.metadata.name
    kind = service.spec.ray_cluster_config.head_group_spec.service_type
    labelled = {**origin(own), labels.SERVE: names.serve_label(own)}
    made = child(cluster, "v1", "Service", name=names.serve_service(own), labelled=labelled)
    parts = {"selector": serve_selector(cluster), "ports": _ports(cluster, [])}
    return made | {"spec": {**parts, **({"type": kind} if kind else {})}}


def serve_service_name(service: RayService) -> str:
    """The name of the serve Service where traffic is not split."""
    raw = service.spec.serve_service
    chosen = "" if raw is UNSET else (msgspec.json.decode(raw).get("metadata") or {}).get("name", "")
    return chosen or names.serve_service(service.metadata.name)


def serve_selector(cluster: RayCluster) -> dict[str, str]:
    """The labels of the pods that answer requests."""
    return {labels.CLUSTER: cluster.metadata.name, labels.SERVE: labels.TRUE}


def serve_config(text: str, capacity: int | None) -> Manifest:
    """What Serve is told to run; Unbuildable when the text cannot be read."""
    try:
        found = json.loads(gojson.encode(goyaml.read(text)))
    except GoError as error:
        raise Unbuildable(f"spec.serveConfigV2 cannot be read as YAML: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise Unbuildable(f"spec.serveConfigV2 must be a mapping with `applications`, not {type(found).__name__}")
    target = {} if capacity is None else {"target_capacity": capacity}
    return {**(found or {}), **target}


def running_config(report: ServeReport, capacity: int | None) -> Manifest:
    """What Serve runs already, by its own words, with another capacity."""
    found = [each.config for _, each in sorted(report.applications.items()) if each.config is not None]
    return {"applications": found} | ({} if capacity is None else {"target_capacity": capacity})


def applications(text: str) -> dict[str, Any]:
    """The applications in a configuration by their names."""
    found = serve_config(text, None).get("applications") or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unbuildable("spec.serveConfigV2: applications must be a list of mappings")
    return {each.get("name") or DEFAULT_APPLICATION: each for each in found}


def _ports(cluster: RayCluster, own: list[Manifest]) -> list[Manifest]:
    """The head's ports for Serve, as the user describes them; without any, the user's alone."""
    mine = {port.get("name"): port for port in own}
    found = [mine.get(port["name"], port) for port in serve_ports(cluster)]
    if not found and not own:
        raise Unbuildable(NO_SERVE_PORT)
    return found or own
