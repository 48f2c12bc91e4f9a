"""The way to the dashboard from outside: an Ingress, or a Route on OpenShift."""

from collections.abc import Mapping
from typing import Any

from manta_common.api import annotations, labels, names
from manta_common.api.documents import merge_patch
from manta_common.api.raycluster import RayCluster
from manta_common.api.raygroups import IngressOptions
from manta_common.ray.cluster import Manifest, app_labels, child, dashboard_port, head_service_name
from manta_common.ray.draft import decoded


def ingress(cluster: RayCluster) -> Manifest:
    """The dashboard's Ingress."""
    options = cluster.spec.head_group_spec.ingress_options or IngressOptions()
    carried = dict(cluster.metadata.annotations)
    ingress_class = carried.pop(annotations.INGRESS_CLASS, None)
    made = child(
        cluster,
        "networking.k8s.io/v1",
        "Ingress",
        name=names.ingress(cluster.metadata.name),
        labelled=_labels(cluster),
    )
    made["metadata"]["annotations"] = carried
    made["spec"] = {
        **({} if ingress_class is None else {"ingressClassName": ingress_class}),
        "rules": [_rule(cluster, options)],
        **({"tls": decoded(options.tls)} if options.tls else {}),
    }
    return made


def ingress_changes(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Manifest:
    """The merge patch that makes an Ingress of ours as it should be; empty where it is.

    Labels and annotations are compared as wholes; a class that nobody asked for is the cluster's own choice.
    """
    chosen = {field: found["spec"][field] for field in ("ingressClassName",) if field in found["spec"]}
    return merge_patch(_compared(found, found["spec"]), _compared(wanted, chosen | wanted["spec"]))


def route(cluster: RayCluster) -> Manifest:
    """The dashboard's Route on OpenShift."""
    made = child(
        cluster,
        "route.openshift.io/v1",
        "Route",
        name=names.route(cluster.metadata.name, cluster.metadata.namespace),
        labelled=_labels(cluster),
    )
    made["metadata"]["annotations"] = dict(cluster.metadata.annotations)
    made["spec"] = {
        "to": {"kind": "Service", "name": head_service_name(cluster), "weight": 100},
        "port": {"targetPort": dashboard_port(cluster)},
        "wildcardPolicy": "None",
    }
    return made


def _labels(cluster: RayCluster) -> dict[str, str]:
    return app_labels(cluster) | {labels.IDENTIFIER: names.identifier(cluster.metadata.name, labels.HEAD)}


def _compared(made: Mapping[str, Any], spec: Manifest) -> Manifest:
    metadata = made["metadata"]
    return {"metadata": {field: metadata.get(field) or {} for field in ("labels", "annotations")}, "spec": spec}


def _rule(cluster: RayCluster, options: IngressOptions) -> Manifest:
    service = {"name": head_service_name(cluster), "port": {"number": dashboard_port(cluster)}}
    path = {
        "path": "/" if options.path is None else options.path,
        "pathType": options.path_type or "Prefix",
        "backend": {"service": service},
    }
    return {**({"host": options.host} if options.host else {}), "http": {"paths": [path]}}
