"""What follows from a RayCluster before anything is built: its addresses, its switches, and what it needs."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from manta_common.api import annotations, containers, labels, names
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.api.templates import Container, PodTemplate, pod_template
from manta_common.api.wire import Wire
from manta_common.ray.settings import RaySettings

Manifest = dict[str, Any]
ROCKSDB: Final = "rocksdb"


class Unbuildable(ValueError):
    """The spec does not say enough to build an object; the message is KubeRay's."""


class _Named(Wire, frozen=True, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


_NAMED: Final = msgspec.json.Decoder(_Named)


def controller_reference(kind: str, owner: ObjectMeta) -> Manifest:
    """The reference by which a child of a Ray object names its controller."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_reference(cluster: RayCluster) -> Manifest:
    """The controller reference that every child carries."""
    return controller_reference("RayCluster", cluster.metadata)


def child(cluster: RayCluster, api_version: str, kind: str, *, name: str, labelled: dict[str, str]) -> Manifest:
    """The beginning of an object that belongs to a cluster."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": cluster.metadata.namespace,
            "labels": labelled,
            "ownerReferences": [owner_reference(cluster)],
        },
    }


def app_labels(cluster: RayCluster) -> dict[str, str]:
    """The labels of what is made beside pods and Services."""
    return {
        labels.CLUSTER: cluster.metadata.name,
        labels.APP_NAME: labels.APP_NAME_VALUE,
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
    }


def head_template(cluster: RayCluster) -> PodTemplate:
    """What there is to read in the head's pod template."""
    return pod_template(cluster.spec.head_group_spec.template)


def head_container(cluster: RayCluster) -> Container:
    """The head's container that runs Ray."""
    found = head_template(cluster).spec.containers
    if not found:
        raise Unbuildable("headGroupSpec should have at least one container")
    return found[0]


def origin(cluster: RayCluster) -> str:
    """The kind that the cluster was made for: RayJob, RayService or itself."""
    return labels.origin(cluster.metadata.labels.get(labels.ORIGINATED_FROM_KIND))


def head_service_name(cluster: RayCluster) -> str:
    """The name of the head Service."""
    custom = cluster.spec.head_group_spec.head_service
    chosen = "" if custom is UNSET else _NAMED.decode(custom).metadata.name
    return names.head_service(cluster.metadata.name, chosen)


def head_address(cluster: RayCluster, settings: RaySettings) -> str:
    """The head's name in DNS."""
    return names.service_address(head_service_name(cluster), cluster.metadata.namespace, settings.cluster_domain)


def head_port(cluster: RayCluster) -> str:
    """The port of the head's GCS, as the user wrote it."""
    return cluster.spec.head_group_spec.ray_start_params.get("port", str(containers.GCS_PORT))


def head_ports(cluster: RayCluster) -> dict[str, int]:
    """The ports of the head Service by name; metrics are always among them."""
    ports = {port.name or f"{port.container_port}-port": port.container_port for port in head_container(cluster).ports}
    return {containers.METRICS_PORT_NAME: containers.METRICS_PORT} | (ports or dict(containers.DEFAULT_PORTS))


def dashboard_port(cluster: RayCluster) -> int:
    """The port of the dashboard among the head's container ports."""
    return head_ports(cluster).get(containers.DASHBOARD_PORT_NAME, containers.DASHBOARD_PORT)


def is_autoscaling(cluster: RayCluster) -> bool:
    """Whether Ray's autoscaler runs beside the head."""
    return cluster.spec.enable_in_tree_autoscaling is True


def autoscaler_version(cluster: RayCluster) -> str | None:
    """The autoscaler's version that the spec names."""
    return cluster.spec.autoscaler_options.version if cluster.spec.autoscaler_options else None


def runs_autoscaler_v2(cluster: RayCluster) -> bool:
    """Whether the autoscaler runs in version 2 by the spec; then pods are never restarted in place."""
    return is_autoscaling(cluster) and autoscaler_version(cluster) == "v2"


def is_fault_tolerant(cluster: RayCluster) -> bool:
    """Whether the GCS' state outlives the head."""
    by_annotation = cluster.metadata.annotations.get(annotations.FT_ENABLED, "").lower() == labels.TRUE
    return by_annotation or cluster.spec.gcs_fault_tolerance_options is not None


def has_embedded_storage(cluster: RayCluster) -> bool:
    """Whether the GCS keeps its state on a volume of the head."""
    options = cluster.spec.gcs_fault_tolerance_options
    return options is not None and options.backend == ROCKSDB


def has_redis(cluster: RayCluster) -> bool:
    """Whether the GCS keeps its state in Redis, which is to be cleaned up in the end."""
    return is_fault_tolerant(cluster) and not has_embedded_storage(cluster)


def storage_namespace(cluster: RayCluster) -> str:
    """What the cluster's keys in Redis begin with."""
    options = cluster.spec.gcs_fault_tolerance_options
    if options and options.external_storage_namespace:
        return options.external_storage_namespace
    return cluster.metadata.annotations.get(annotations.EXTERNAL_STORAGE_NAMESPACE, cluster.metadata.uid)


def asks_for_token(cluster: RayCluster) -> bool:
    """Whether Ray asks its clients for a token."""
    return cluster.spec.auth_options is not None and cluster.spec.auth_options.mode == "token"


def needs_auth_secret(cluster: RayCluster) -> bool:
    """Whether the operator makes the token; also where the mode is left out, though nobody asks for it then."""
    options = cluster.spec.auth_options
    if options is None or options.mode == "disabled":
        return False
    return options.enable_k8s_token_auth is not True and not options.secret_name


def has_tls(cluster: RayCluster, settings: RaySettings) -> bool:
    """Whether the nodes talk to each other by TLS."""
    options = cluster.spec.tls_options
    return settings.gates.mtls and options is not None and options.enabled is True


def has_collector(cluster: RayCluster, settings: RaySettings) -> bool:
    """Whether every pod gets a collector for the history server."""
    options = cluster.spec.history_server_options
    return settings.gates.history_server and options is not None and options.collector_options is not None


def needs_headless_service(cluster: RayCluster) -> bool:
    """Whether some worker spans several hosts, which find each other by a headless Service."""
    return any(group.num_of_hosts > 1 for group in cluster.spec.worker_group_specs)


def needs_serve_service(cluster: RayCluster) -> bool:
    """Whether a cluster on its own asks for a Service in front of Ray Serve."""
    return cluster.metadata.annotations.get(annotations.ENABLE_SERVE_SERVICE) == labels.TRUE


def needs_ingress(cluster: RayCluster) -> bool:
    """Whether the dashboard is to be reached from outside."""
    return cluster.spec.head_group_spec.enable_ingress is True
