"""The children beside pods, in KubeRay's order: each is made once, few are ever changed, none is deleted."""

from typing import Any

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Create, CreateToken, Halt, Patch, Phase, Tell
from manta_cluster_reconciler.observed import Found, Observed
from manta_cluster_reconciler.policies import needs, storage
from manta_cluster_reconciler.rules import Rules
from manta_common.api import names
from manta_common.keys import Key
from manta_common.kinds import INGRESS, ROLE, ROLEBINDING, ROUTE, SECRET, SERVICE, SERVICEACCOUNT, Kind
from manta_common.ray import ingress, rbac, services
from manta_common.ray.cluster import (
    Unbuildable,
    is_autoscaling,
    needs_auth_secret,
    needs_headless_service,
    needs_ingress,
    needs_serve_service,
)


def phases(observed: Observed, rules: Rules) -> list[Phase]:
    """What is missing; every kind waits for the one before it, as a failure stops all that follows."""
    return [
        *_autoscaler(observed),
        _way_in(observed, rules),
        _token(observed),
        _head_service(observed, rules),
        _headless_service(observed),
        _serve_service(observed),
        storage.actions(observed),
    ]


def _autoscaler(observed: Observed) -> list[Phase]:
    """The autoscaler's account, role and binding."""
    cluster = observed.cluster
    if not is_autoscaling(cluster):
        return []
    account = _found(observed, SERVICEACCOUNT, needs.account(cluster))
    if account is None and rbac.names_own_account(cluster):
        return [[_account_missing(observed)]]
    return [
        [] if account else [_create(observed, SERVICEACCOUNT, rbac.service_account(cluster))],
        _unless_found(observed, ROLE, rbac.role(cluster)),
        _unless_found(observed, ROLEBINDING, rbac.role_binding(cluster)),
    ]


def _account_missing(observed: Observed) -> Halt:
    name = needs.account(observed.cluster)
    note = (
        f"Failed to reconcile RayCluster {observed.key}. If users specify ServiceAccountName for the head Pod, they "
        f"need to create a ServiceAccount themselves. However, ServiceAccount {name} is not found. Please create one."
    )
    notice = reasons.warning("AutoscalerServiceAccountNotFound", "Validate", note)
    return Halt(message=f"ServiceAccount {name} is not found", notice=notice)


def _way_in(observed: Observed, rules: Rules) -> Phase:
    """The dashboard's Ingress, or its Route on OpenShift."""
    if not needs_ingress(observed.cluster):
        return []
    if rules.ray.uses_routes:
        return _unless_found(observed, ROUTE, ingress.route(observed.cluster))
    wanted = ingress.ingress(observed.cluster)
    found = _found(observed, INGRESS, names.ingress(observed.cluster.metadata.name))
    return [_create(observed, INGRESS, wanted)] if found is None else _update_ingress(observed, wanted, found)


def _update_ingress(observed: Observed, wanted: dict[str, Any], found: Found) -> Phase:
    key = Key(observed.key.namespace, found["metadata"]["name"])
    if not is_controlled(observed, found):
        note = f"Ingress {key} already exists and is not owned by this RayCluster; not modifying it"
        notice = reasons.warning("FailedToCreateIngress", "Create", note)
        return [Tell(notice)] if observed.fetched.fresh else []
    changes = ingress.ingress_changes(wanted, found)
    if not changes:
        return []
    told = reasons.updating("Ingress", "ingress", key)
    version = found["metadata"]["resourceVersion"]
    return [Patch(kind=INGRESS, name=key.name, body=changes, version=version, told=told)]


def _token(observed: Observed) -> Phase:
    if not needs_auth_secret(observed.cluster):
        return []
    name = names.auth_secret(observed.cluster.metadata.name)
    return [] if _found(observed, SECRET, name) else [CreateToken(name)]


def _head_service(observed: Observed, rules: Rules) -> Phase:
    count = len(observed.head_services)
    if count > 1:
        return [Halt(message=f"{count} head service found for RayCluster {observed.key}; delete all but one")]
    if count:
        return []
    body = services.head_service(observed.cluster, rules.ray)
    return [_create(observed, SERVICE, body, exclusive=True)]


def _headless_service(observed: Observed) -> Phase:
    if not needs_headless_service(observed.cluster):
        return []
    return _unless_found(observed, SERVICE, services.headless_service(observed.cluster))


def _serve_service(observed: Observed) -> Phase:
    cluster = observed.cluster
    if not needs_serve_service(cluster) or _found(observed, SERVICE, names.serve_service(cluster.metadata.name)):
        return []
    try:
        return [Create(kind=SERVICE, body=services.serve_service(cluster))]
    except Unbuildable as error:
        return [Halt(message=str(error))]


def _unless_found(observed: Observed, kind: Kind, body: dict[str, Any]) -> Phase:
    return [] if _found(observed, kind, body["metadata"]["name"]) else [_create(observed, kind, body)]


def _create(observed: Observed, kind: Kind, body: dict[str, Any], *, exclusive: bool = False) -> Create:
    what, spoken = SPOKEN[kind.name]
    told = reasons.creating(what, spoken, Key(observed.key.namespace, body["metadata"]["name"]))
    return Create(kind=kind, body=body, told=told, exclusive=exclusive)


def _found(observed: Observed, kind: Kind, name: str) -> Found | None:
    return observed.fetched.get(kind, name)


def is_controlled(observed: Observed, found: Found) -> bool:
    """Whether an object has the cluster as its controller."""
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == observed.cluster.metadata.uid for owner in owners)


SPOKEN = {
    SERVICEACCOUNT.name: ("ServiceAccount", "service account"),
    ROLE.name: ("Role", "role"),
    ROLEBINDING.name: ("RoleBinding", "role binding"),
    INGRESS.name: ("Ingress", "ingress"),
    ROUTE.name: ("Route", "route"),
    SERVICE.name: ("Service", "service"),
}
