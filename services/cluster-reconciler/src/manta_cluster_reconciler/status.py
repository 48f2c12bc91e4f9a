"""The status of a cluster after a pass, and the patch that writes it. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from manta_cluster_reconciler import conditions, reasons
from manta_cluster_reconciler.conditions import Failure
from manta_cluster_reconciler.observed import Observed, is_running, is_worker, ready_status
from manta_cluster_reconciler.policies.refusals import Refusal
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Service, ServicePort
from manta_common.api.labels import ORIGINATED_FROM_KIND
from manta_common.api.raycluster import HeadInfo, RayClusterSpec, RayClusterStatus
from manta_common.api.wire import to_builtins
from manta_common.ray import sums

READY, SUSPENDED = "ready", "suspended"
EXTERNAL_NAME: Final = "ExternalName"  # the type of a Service that never gets an address
COUNTS: Final = (
    "ready_worker_replicas",
    "available_worker_replicas",
    "desired_worker_replicas",
    "min_worker_replicas",
    "max_worker_replicas",
)
# KubeRay does not compare the others: they are brought up to date when one of these changes.
COMPARED: Final = ("state", "reason", "endpoints", "head", "conditions", *COUNTS)
# Between two writes by which the cluster has come to nothing. Each costs the API server as much as three pods, so all
# clusters that start at once share ten of them a second.
PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(seconds=60)
PAUSE_FOR_EACH: Final = timedelta(milliseconds=100)


def blocked(observed: Observed) -> str:
    """Why no status can be told, if it can't: the head or its Service is missing or not the only one."""
    if len(observed.heads) > 1:
        return f"found multiple heads: {' '.join(pod.metadata.name for pod in observed.heads)}"
    if len(observed.head_services) != 1:
        return f"unable to find head service: {len(observed.head_services)} found"
    spec = observed.head_services[0].spec
    return "" if spec.cluster_ip or spec.type == EXTERNAL_NAME else "head service IP is empty"


def status(observed: Observed, rules: Rules, failure: Failure | None, now: datetime) -> RayClusterStatus:
    """What is to stand in the status of a cluster that can be served; `totalled` adds the sums when it is written."""
    before = observed.cluster.status
    state = _state(observed, failure)
    workers = [pod for pod in observed.pods if is_worker(pod) and is_running(pod)]
    return msgspec.structs.replace(
        before,
        state=state,
        reason="" if _is_ready(observed, failure) else before.reason,
        observed_generation=observed.cluster.metadata.generation,
        ready_worker_replicas=sum(ready_status(pod) == "True" for pod in workers),
        available_worker_replicas=len(workers),
        desired_worker_replicas=sums.desired_workers(observed.cluster.spec),
        min_worker_replicas=sums.min_workers(observed.cluster.spec),
        max_worker_replicas=sums.max_workers(observed.cluster.spec),
        endpoints={**before.endpoints, **_endpoints(observed.head_services[0])},
        head=_head(observed),
        last_update_time=now,
        state_transition_times=before.state_transition_times | ({state: now} if state != before.state else {}),
        conditions=conditions.conditions(observed, rules, failure, now),
    )


def totalled(status_: RayClusterStatus, spec: RayClusterSpec) -> RayClusterStatus:
    """The status with what the cluster asks for in all. It is not compared, and takes longer than all the rest."""
    totals = sums.resource_totals(spec)
    return msgspec.structs.replace(
        status_,
        desired_cpu=totals.cpu,
        desired_memory=totals.memory,
        desired_gpu=totals.gpu,
        desired_tpu=totals.tpu,
    )


def refused(observed: Observed, refusal: Refusal, now: datetime) -> RayClusterStatus:
    """The status of a cluster that cannot be served as it is: what was said before, and why nothing is done."""
    return msgspec.structs.replace(
        observed.cluster.status,
        observed_generation=observed.cluster.metadata.generation,
        last_update_time=now,
        conditions=conditions.refused(observed, refusal.reason, f"{refusal.note}. {refusal.fix}", now),
    )


def accepted(observed: Observed, now: datetime) -> RayClusterStatus:
    """The status of a cluster that can be served again: what was said before, without why it was not."""
    return msgspec.structs.replace(
        observed.cluster.status,
        observed_generation=observed.cluster.metadata.generation,
        last_update_time=now,
        conditions=conditions.accepted(observed, now),
    )


def differs(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether a status is worth a write."""
    return any(getattr(before, field) != getattr(after, field) for field in COMPARED)


def due_at(observed: Observed, after: RayClusterStatus, now: datetime, *, others: int = 0) -> datetime:
    """When to write: at once where the cluster has come to something, else now and then while pods start.

    So a cluster that is ready soon is told of once. The more others are on their way, the longer it may take.
    """
    before, pause = observed.cluster.status, _pause(observed, others)
    if before.last_update_time is None:
        return now if after.state or _true(after) else max(now, _begun_at(observed, now) + pause)
    has_grown = _is_complete(after) and not _is_complete(before)
    is_news = has_grown or _milestones(before) != _milestones(after)
    return now if is_news else max(now, before.last_update_time + pause)


def _pause(observed: Observed, others: int) -> timedelta:
    """How long to wait for more to tell; a RayService waits for the head of its cluster, which is no milestone."""
    if observed.cluster.metadata.labels.get(ORIGINATED_FROM_KIND) == "RayService":
        return PAUSE
    return min(max(PAUSE, others * PAUSE_FOR_EACH), LONGEST_PAUSE)


def _begun_at(observed: Observed, now: datetime) -> datetime:
    """When the first pod was made; without pods it is long ago."""
    made = (pod.metadata.creation_timestamp for pod in observed.pods)
    return min((at for at in made if at), default=now - LONGEST_PAUSE)


def became_provisioned(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether all pods are ready for the first time."""
    return _is_provisioned(after) and not _is_provisioned(before)


def patch(before: RayClusterStatus, after: RayClusterStatus, version: str) -> dict[str, Any]:
    """The merge patch from one status to the next, for one version of the object."""
    return {"metadata": {"resourceVersion": version}, "status": _changes(to_builtins(before), to_builtins(after))}


def refusal_patch(after: RayClusterStatus, version: str) -> dict[str, Any]:
    """The merge patch that only says why a cluster is not served; what was seen of it before stays."""
    told = to_builtins(after)
    fields = ("conditions", "observedGeneration", "lastUpdateTime")
    return {"metadata": {"resourceVersion": version}, "status": {name: told[name] for name in fields}}


def _milestones(status_: RayClusterStatus) -> tuple[object, ...]:
    """What others wait for: the state, what is wanted, and which conditions hold."""
    return status_.state, status_.desired_worker_replicas, _true(status_)


def _is_complete(status_: RayClusterStatus) -> bool:
    """Whether a cluster that has been ready has all the workers again that it shall have."""
    return status_.state == READY and status_.ready_worker_replicas == status_.desired_worker_replicas


def _true(status_: RayClusterStatus) -> set[str]:
    """The conditions that hold but for the head's, which may come and go."""
    return {known.type for known in status_.conditions if known.status == "True"} - {reasons.HEAD_READY}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that are new or different; a field that is gone is null. Go always writes some, so equal ones stay in."""
    gone = dict.fromkeys(name for name in before if name not in after)
    return gone | {name: _change(before.get(name), value) for name, value in after.items()}


def _change(before: object, after: Any) -> Any:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _changes(before, after)
    return after


def _state(observed: Observed, failure: Failure | None) -> str:
    """Ready is never taken back because of a pod; only suspension ends it."""
    if observed.cluster.spec.suspend and not observed.pods:
        return SUSPENDED
    return READY if _is_ready(observed, failure) else observed.cluster.status.state


def _is_ready(observed: Observed, failure: Failure | None) -> bool:
    """Whether exactly the pods that are wanted are there, and all run."""
    wanted = sums.desired_workers(observed.cluster.spec) + 1
    return failure is None and len(observed.pods) == wanted and conditions.all_running(observed.pods)


def _endpoints(service: Service) -> dict[str, str]:
    return {port.name: _endpoint(port) for port in service.spec.ports if port.name}


def _endpoint(port: ServicePort) -> str:
    return str(port.node_port or port.target_port)


def _head(observed: Observed) -> HeadInfo:
    service = observed.head_services[0]
    pod = observed.heads[0] if observed.heads else None
    address = pod.status.pod_ip if pod else ""
    return HeadInfo(
        pod_ip=address,
        pod_name=pod.metadata.name if pod else "",
        service_name=service.metadata.name,
        service_ip=address if service.spec.cluster_ip == "None" else service.spec.cluster_ip,
    )


def _is_provisioned(status_: RayClusterStatus) -> bool:
    found = (known for known in status_.conditions if known.type == reasons.PROVISIONED)
    return any(known.status == "True" for known in found)
