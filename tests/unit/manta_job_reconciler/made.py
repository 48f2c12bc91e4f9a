"""Jobs and what belongs to them, made short for tables."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from manta_common.api import annotations, labels
from manta_common.api.core import (
    ContainerState,
    ContainerStatus,
    Job,
    JobStatus,
    Pod,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
    StateOfContainer,
    StatusCondition,
)
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster, RayClusterStatus
from manta_common.api.rayjob import RayJob, RayJobStatus
from manta_common.dashboard.reports import JobReport, Trouble, TroubleKind
from manta_job_reconciler.observed import Observed

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SPEC: dict[str, Any] = {
    "headGroupSpec": {
        "rayStartParams": {},
        "template": {"spec": {"containers": [{"name": "ray-head", "image": "ray:1"}]}},
    }
}
URL = "demo-c-head-svc.ns.svc.cluster.local:8265"


def ago(seconds: float) -> datetime:
    """So many seconds before now."""
    return NOW - timedelta(seconds=seconds)


def job(mode: str = "HTTPMode", *, meta: dict[str, Any] | None = None, **spec: Any) -> RayJob:
    """A RayJob that has its finalizer; `spec` as it stands in a manifest."""
    about: dict[str, Any] = {
        "name": "demo",
        "namespace": "ns",
        "uid": "job-uid",
        "generation": 1,
        "finalizers": [annotations.JOB_FINALIZER],
        **(meta or {}),
    }
    body = {"rayClusterSpec": SPEC, "submissionMode": mode, "entrypoint": "run", **spec}
    return msgspec.json.decode(msgspec.json.encode({"metadata": about, "spec": body}), type=RayJob)


def status(state: str, **changes: Any) -> RayJobStatus:
    """The status of a job in a state, with its names."""
    names: dict[str, Any] = {
        "job_deployment_status": state,
        "job_id": "demo-1",
        "ray_cluster_name": "demo-c",
        "start_time": ago(10),
        "failed": 0,
        "succeeded": 0,
    }
    return RayJobStatus(**(names | changes))


def running(**changes: Any) -> RayJobStatus:
    """The status of a job whose cluster is ready."""
    return status("Running", **({"dashboard_url": URL} | changes))


def cluster(state: str = "ready", **meta: Any) -> RayCluster:
    """The cluster of a job."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "demo", "uid": "job-uid"}
    about = {"name": "demo-c", "namespace": "ns", "uid": "cluster-uid", "ownerReferences": [owner], **meta}
    made = msgspec.json.decode(msgspec.json.encode({"metadata": about, "spec": SPEC}), type=RayCluster)
    return msgspec.structs.replace(made, status=RayClusterStatus(state=state))


def service(name: str, cluster_name: str = "demo-c", port: str = "dashboard") -> Service:
    """A Service in front of the head."""
    return Service(
        metadata=ObjectMeta(name=name, namespace="ns", resource_version="7"),
        spec=ServiceSpec(selector={labels.CLUSTER: cluster_name}, ports=(ServicePort(name=port, port=8265),)),
    )


def report(status: str = "", *, trouble: TroubleKind | None = None, since: datetime = NOW, **said: Any) -> JobReport:
    """What Ray said of the job."""
    found = Trouble(kind=trouble, since=since) if trouble else None
    about: dict[str, Any] = {"job_uid": "job-uid", "cluster_uid": "cluster-uid", "job_id": "demo-1", "asked_at": NOW}
    return JobReport(**(about | said), status=status, trouble=found)


def submitter(finished: str = "", at: datetime = NOW, **meta: Any) -> Job:
    """The submitting Job; `finished` is Complete or Failed."""
    ended = StatusCondition(
        type=finished, status="True", reason="BackoffLimitExceeded", message="too often", last_transition_time=at
    )
    about = ObjectMeta(name="demo", namespace="ns", uid="submitter-uid", **meta)
    return Job(metadata=about, status=JobStatus(conditions=(ended,) if finished else ()))


def head(
    uid: str = "head-uid",
    *,
    exit_code: int | None = None,
    at: datetime | None = NOW,
    restarts: int = 0,
    last: int | None = None,
) -> Pod:
    """The head pod with a submitter beside it that may have ended."""
    container = ContainerStatus(
        name="ray-job-submitter",
        restart_count=restarts,
        state=_ended(exit_code, at),
        last_state=_ended(last, NOW),
    )
    about = ObjectMeta(name="demo-c-head", namespace="ns", uid=uid, labels={labels.NODE_TYPE: labels.HEAD})
    return Pod(metadata=about, status=PodStatus(container_statuses=(container,)))


def observed(about: RayJob, said: RayJobStatus | None = None, **found: Any) -> Observed:
    """What is known of a job in a state."""
    made = msgspec.structs.replace(about, status=said) if said else about
    return Observed(job=made, **found)


def settled(about: RayJob, said: RayJobStatus, **found: Any) -> Observed:
    """The same with a ready cluster and both Services."""
    there: dict[str, Any] = {
        "cluster": cluster(),
        "cluster_service": service("demo-c-head-svc"),
        "own_service": service("demo-head-svc"),
        "pods": (head(),),
    }
    return observed(about, said, **(there | found))


def _ended(exit_code: int | None, at: datetime | None) -> ContainerState:
    if exit_code is None:
        return ContainerState()
    return ContainerState(terminated=StateOfContainer(exit_code=exit_code, reason="Error", finished_at=at))
