"""Which objects must be asked for by name before a cluster is decided on, because no feed shows them."""

import contextlib
from collections.abc import Iterator
from typing import Any

from manta_cluster_reconciler.rules import Rules
from manta_common.api import labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.kinds import (
    CERTIFICATE,
    INGRESS,
    ISSUER,
    PLUGINS_PODGROUP,
    PVC,
    ROLE,
    ROLEBINDING,
    ROUTE,
    SECRET,
    SERVICE,
    SERVICEACCOUNT,
    VOLCANO_PODGROUP,
    WORKLOAD,
    WORKLOAD_PODGROUP,
    Kind,
)
from manta_common.ray import certificates, claims, rbac
from manta_common.ray.cluster import (
    Unbuildable,
    has_embedded_storage,
    has_tls,
    is_autoscaling,
    needs_auth_secret,
    needs_headless_service,
    needs_ingress,
    needs_serve_service,
)
from manta_common.ray.schedulers.gangs import gang_objects

Need = tuple[Kind, str]
_MADE_KINDS = {
    (kind.api_version, kind.kind): kind
    for kind in (CERTIFICATE, ISSUER, PLUGINS_PODGROUP, VOLCANO_PODGROUP, WORKLOAD, WORKLOAD_PODGROUP)
}


def needs(cluster: RayCluster, rules: Rules) -> list[Need]:
    """Kind and name of each."""
    return [*_autoscaler(cluster), *_named(cluster, rules), *_certificates(cluster, rules), *_gang(cluster, rules)]


def needs_policies(rules: Rules) -> bool:
    """Whether the network policies of clusters are looked at."""
    return rules.ray.gates.network_policy


def account(cluster: RayCluster) -> str:
    """The name of the autoscaler's account: the user's as it is, ours shortened as it is made."""
    lookup = rbac.service_account_lookup(cluster)
    return lookup if rbac.names_own_account(cluster) else names.autoscaler_account(lookup)


def claim(cluster: RayCluster) -> str:
    """The name of the claim for the GCS' storage."""
    return names.gcs_claim(cluster.metadata.name, claims.embedded_storage(cluster).claim_name)


def kind_of(made: dict[str, Any]) -> Kind:
    """The kind of an object that was made for cert-manager or for a batch scheduler."""
    return _MADE_KINDS[made["apiVersion"], made["kind"]]


def _autoscaler(cluster: RayCluster) -> Iterator[Need]:
    if is_autoscaling(cluster):
        yield SERVICEACCOUNT, account(cluster)
        yield ROLE, names.autoscaler_role(cluster.metadata.name)
        yield ROLEBINDING, names.autoscaler_role(cluster.metadata.name)


def _named(cluster: RayCluster, rules: Rules) -> Iterator[Need]:
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    if needs_ingress(cluster):
        yield (ROUTE, names.route(name, namespace)) if rules.ray.uses_routes else (INGRESS, names.ingress(name))
    if needs_auth_secret(cluster):
        yield SECRET, names.auth_secret(name)
    if needs_headless_service(cluster):
        yield SERVICE, names.headless_service(name)
    if needs_serve_service(cluster):
        yield SERVICE, names.serve_service(name)
    if has_embedded_storage(cluster):
        yield PVC, claim(cluster)


def _certificates(cluster: RayCluster, rules: Rules) -> Iterator[Need]:
    if not has_tls(cluster, rules.ray):
        return
    for made in certificates.issuers_and_ca(cluster):
        yield kind_of(made), made["metadata"]["name"]
    yield SECRET, names.ca_secret(cluster.metadata.name, cluster.metadata.uid)
    for node in (labels.HEAD, labels.WORKER):
        yield CERTIFICATE, names.node_certificate(cluster.metadata.name, node)
        yield SECRET, names.node_secret(cluster.metadata.name, node)


def _gang(cluster: RayCluster, rules: Rules) -> Iterator[Need]:
    """What the batch scheduler has; with Kubernetes' own also what a cluster has left over that is no gang any more."""
    if rules.ray.gates.workload_scheduling:
        yield from workload_needs(cluster)
        return
    with contextlib.suppress(Unbuildable):  # then there is nothing to look for; the policy says why
        for made in gang_objects(cluster, rules.ray):
            yield kind_of(made), made["metadata"]["name"]


def workload_needs(cluster: RayCluster) -> list[Need]:
    """The objects of Kubernetes' own gang scheduling, in the order in which they are made."""
    name = cluster.metadata.name
    return [(WORKLOAD, name), (WORKLOAD_PODGROUP, names.workload_pod_group(name))]
