"""RayServices and what belongs to them, made short for tables."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from manta_common.api import annotations, labels
from manta_common.api.core import Pod, PodStatus, Service, ServiceSpec, StatusCondition
from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService, RayServiceStatus, RayServiceStatuses
from manta_common.dashboard.reports import ApplicationReport, ProxyReport, ServeReport, Trouble
from manta_serve_reconciler import manifests
from manta_serve_reconciler.observed import Observed, Role, Side, Submitted
from tests.examples import manifests as examples
from tests.examples.example import Json, merged

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CONFIG = "applications:\n- name: one\n  import_path: a.b:app\n"
APPLICATION: Json = {"name": "one", "import_path": "a.b:app"}


def ago(seconds: float) -> datetime:
    """So many seconds before now."""
    return NOW - timedelta(seconds=seconds)


def service(
    patch: Json | None = None, *, meta: Json | None = None, status: RayServiceStatuses | None = None
) -> RayService:
    """A RayService that has its finalizer; the patch is of its spec."""
    about: Json = {
        "name": "demo",
        "namespace": "ns",
        "uid": "service-uid",
        "generation": 1,
        "resourceVersion": "7",
        "finalizers": [annotations.SERVICE_FINALIZER],
        **(meta or {}),
    }
    spec = merged({"rayClusterConfig": examples.CLUSTER, "serveConfigV2": CONFIG}, patch or {})
    found = msgspec.json.decode(msgspec.json.encode({"metadata": about, "spec": spec}), type=RayService)
    return msgspec.structs.replace(found, status=status or RayServiceStatuses())


def cluster(name: str, of: RayService | None = None, *, ready: bool = True, **meta: Any) -> RayCluster:
    """A cluster as it was made from a RayService."""
    made = manifests.ray_cluster(of or service(), name, without_replicas=False)
    found = msgspec.json.decode(msgspec.json.encode(made), type=RayCluster)
    truth: Any = "True" if ready else "False"
    head = Condition(type="HeadPodReady", status=truth, reason="Told", message="", last_transition_time=ago(60))
    about = msgspec.structs.replace(
        found.metadata, **{"uid": f"{name}-uid", "resource_version": "3", "creation_timestamp": ago(60), **meta}
    )
    status = msgspec.structs.replace(found.status, conditions=(head,))
    return msgspec.structs.replace(found, metadata=about, status=status)


def report(status: str = "RUNNING", *, of: str = "new", **changes: Any) -> ServeReport:
    """What Serve says of its one application."""
    told = {"one": ApplicationReport(status=status, config=APPLICATION)} if status else {}
    return ServeReport(**{"cluster_uid": f"{of}-uid", "asked_at": ago(1), "applications": told, **changes})


def proxy(name: str, *, healthy: bool = True) -> ProxyReport:
    """What the proxy of a head says."""
    return ProxyReport(pod=name, address="10.0.0.1:8000", healthy=healthy, since=ago(5))


def trouble() -> Trouble:
    """A dashboard that does not answer."""
    return Trouble(kind="unreachable", since=ago(5), message="connection refused")


def head(name: str, serve: str = "false") -> Pod:
    """The head pod of a cluster."""
    marks = {labels.CLUSTER: name, labels.NODE_TYPE: labels.HEAD, labels.SERVE: serve}
    about = ObjectMeta(name=f"{name}-head", namespace="ns", uid=f"{name}-head-uid", labels=marks)
    return Pod(metadata=about, status=PodStatus(conditions=(StatusCondition(type="Ready", status="True"),)))


def kube_service(name: str, leads_to: str, **meta: Any) -> Service:
    """A Service of the RayService."""
    known = {"name": name, "namespace": "ns", "uid": f"{name}-uid", "resource_version": "5", **meta}
    about = ObjectMeta(labels=manifests.origin("demo"), **known)
    return Service(metadata=about, spec=ServiceSpec(selector={labels.CLUSTER: leads_to}))


def services(leads_to: str, *, made_at: datetime | None = None) -> dict[str, Service]:
    """Both Services."""
    names = ("demo-head-svc", "demo-serve-svc")
    return {name: kube_service(name, leads_to, creation_timestamp=made_at or ago(60)) for name in names}


def side(role: Role, name: str = "", **parts: Any) -> Side:
    """One of the two clusters; it was told what the spec says unless something else is given."""
    status = parts.pop("status", RayServiceStatus(ray_cluster_name=name))
    if "cluster" in parts and "submitted" not in parts:
        parts["submitted"] = Submitted(config=CONFIG, at=ago(60))
    return Side(role=role, status=status, **parts)


def condition(kind: str, status: Any, reason: str = "Told", message: str = "", seconds: float = 30) -> Condition:
    """A condition since some seconds."""
    return Condition(type=kind, status=status, reason=reason, message=message, last_transition_time=ago(seconds))


def observed(
    of: RayService | None = None, *, active: Side | None = None, pending: Side | None = None, **parts: Any
) -> Observed:
    """A RayService whose status names the clusters of both sides."""
    of, active, pending = of or service(), active or side("active"), pending or side("pending")
    status = msgspec.structs.replace(
        of.status,
        active_service_status=active.status,
        pending_service_status=pending.status,
        observed_generation=parts.pop("generation", of.metadata.generation),
    )
    own = tuple(each.cluster for each in (active, pending) if each.cluster)
    parts = {"clusters": own, **parts}
    return Observed(service=msgspec.structs.replace(of, status=status), active=active, pending=pending, **parts)
