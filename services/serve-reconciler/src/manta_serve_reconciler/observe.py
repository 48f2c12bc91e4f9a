"""From the view of the feed to what a decision about a RayService may know."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from manta_common.api import labels, names
from manta_common.api.core import EndpointSlice, Pod, Service
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService, RayServiceStatus
from manta_common.bus.channel import OF_SERVE
from manta_common.dashboard.reports import ServeReport
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.plane import Item
from manta_serve_reconciler import manifests
from manta_serve_reconciler.observed import READY, Observed, Role, Side, Submitted


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """What no feed shows: the Gateway and the HTTPRoute, as the API server has them now."""

    gateway: dict[str, Any] | None = None
    route: dict[str, Any] | None = None


def service_of(child: Service | RayCluster) -> Iterable[Key]:
    """The RayService that something was made for."""
    marks = child.metadata.labels
    name = marks.get(labels.ORIGINATED_FROM_NAME)
    is_ours = marks.get(labels.ORIGINATED_FROM_KIND) == "RayService"
    return [Key(child.metadata.namespace, name)] if name and is_ours else []


def cluster_of(pod: Pod) -> Iterable[Key]:
    """The cluster that a pod says it belongs to."""
    name = pod.metadata.labels.get(labels.CLUSTER)
    return [Key(pod.metadata.namespace, name)] if name else []


def selected_by(slice_: EndpointSlice) -> Iterable[Key]:
    """The Service whose pods a slice lists."""
    name = slice_.metadata.labels.get(labels.ENDPOINT_SLICE_SERVICE)
    return [Key(slice_.metadata.namespace, name)] if name else []


SERVICES = Source("rayservice", RayService, family=OF_SERVE)
CLUSTERS = Source("raycluster", RayCluster, {"service": service_of}, family=OF_SERVE)
KUBE_SERVICES = Source("service", Service, {"service": service_of}, family=OF_SERVE)
PODS = Source("pod", Pod, {"cluster": cluster_of}, family=OF_SERVE)
SLICES = Source("endpointslice", EndpointSlice, {"of": selected_by}, family=OF_SERVE)
REPORTS = Source("serveinfo", ServeReport)


def observe(
    view: View, item: Item, *, submitted: Mapping[str, Submitted], doomed: Mapping[str, datetime], routing: Routing
) -> Observed | None:
    """What is known of a RayService; `submitted` and `doomed` are what we remember of its clusters, by uid."""
    service = view.of(SERVICES).get(item.key)
    if service is None:
        return None
    status = service.status
    services = _services(view, service)
    return Observed(
        service=service,
        active=_side(view, item, "active", status=status.active_service_status, submitted=submitted),
        pending=_side(view, item, "pending", status=status.pending_service_status, submitted=submitted),
        clusters=tuple(view.of(CLUSTERS).find("service", item.key)),
        services=services,
        endpoints=_endpoints(view, item.key.namespace, services),
        doomed=doomed,
        gateway=routing.gateway,
        route=routing.route,
    )


def _side(view: View, item: Item, role: Role, *, status: RayServiceStatus, submitted: Mapping[str, Submitted]) -> Side:
    place = Key(item.key.namespace, status.ray_cluster_name)
    cluster = view.of(CLUSTERS).get(place) if place.name else None
    if cluster is None:
        return Side(role=role, status=status)
    pods = view.of(PODS).find("cluster", place)
    report = view.of(REPORTS).get(place)
    return Side(
        role=role,
        status=status,
        cluster=cluster,
        heads=tuple(pod for pod in pods if _is_head(pod)),
        servers=sum(1 for pod in pods if _is_serving(pod)),
        report=report if report and report.cluster_uid == cluster.metadata.uid else None,
        submitted=submitted.get(cluster.metadata.uid, Submitted()),
    )


def _services(view: View, service: RayService) -> dict[str, Service]:
    """Those of the RayService itself, and whatever stands where one of them is to be."""
    meta = service.metadata
    status = service.status
    clusters = status.active_service_status.ray_cluster_name, status.pending_service_status.ray_cluster_name
    of_clusters = (names.serve_service(name) for name in clusters if name)
    wanted = names.head_service(meta.name), manifests.serve_service_name(service), *of_clusters
    standing = (view.of(KUBE_SERVICES).get(Key(meta.namespace, name)) for name in wanted)
    own = view.of(KUBE_SERVICES).find("service", Key(meta.namespace, meta.name))
    return {each.metadata.name: each for each in (*own, *standing) if each}


def _endpoints(view: View, namespace: str, services: Iterable[str]) -> dict[str, int]:
    """The pods behind each Service that are ready, each counted once; nothing of one whose slices were not seen."""
    found: dict[str, int] = {}
    for name in services:
        slices = list(view.of(SLICES).find("of", Key(namespace, name)))
        ready = [each.target_ref for slice_ in slices for each in slice_.endpoints or () if each.conditions.ready]
        if slices:
            found[name] = len({target.uid for target in ready if target and target.uid})
    return found


def _is_head(pod: Pod) -> bool:
    return pod.metadata.labels.get(labels.NODE_TYPE) == labels.HEAD and pod.metadata.deletion_timestamp is None


def _is_serving(pod: Pod) -> bool:
    is_meant = pod.metadata.labels.get(labels.SERVE) == labels.TRUE and pod.metadata.deletion_timestamp is None
    return is_meant and any(each.type == READY and each.status == "True" for each in pod.status.conditions)
