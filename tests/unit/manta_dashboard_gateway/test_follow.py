"""What is polled, by what the feed shows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.core import StatusCondition
from manta_common.api.raycluster import HeadInfo
from manta_common.keys import Key
from manta_common.store import Held
from manta_dashboard_gateway.follow import Followed, FollowedJob, Serving, followed, is_followed
from manta_dashboard_gateway.seen import (
    Cluster,
    ClusterStatus,
    Job,
    JobSpec,
    JobStatus,
    Meta,
    Outline,
    RayService,
    RayServiceCluster,
    RayServiceSpec,
    RayServiceStatus,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATUS = JobStatus(
    job_id="id", ray_cluster_name="ray", dashboard_url="ray:8265", job_deployment_status="Running", start_time=NOW
)


def job(name: str = "job", *, meta: dict[str, Any] | None = None, spec: JobSpec | None = None, **status: Any) -> Job:
    metadata = Meta(name=name, namespace="team", uid=f"{name}-uid", **(meta or {}))
    return Job(metadata=metadata, spec=spec or JobSpec(), status=msgspec.structs.replace(STATUS, **status))


def held(found: Job, partition: int = 0) -> Held[Job]:
    return Held(found.metadata.key, found.metadata.uid, 1, found, partition)


def cluster(
    *,
    labels: dict[str, str] | None = None,
    ready_at: datetime | None = None,
    ready: str = "True",
    pod_ip: str = "",
    **meta: Any,
) -> Cluster:
    condition = StatusCondition(type="HeadPodReady", status=ready, last_transition_time=ready_at)
    return Cluster(
        metadata=Meta(name="ray", namespace="team", uid="u", labels=labels or {}, **meta),
        status=ClusterStatus(conditions=(condition,) if ready_at else (), head=HeadInfo(pod_ip=pod_ip)),
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(job(), True, id="running"),
        pytest.param(job(job_deployment_status="Initializing"), True, id="its cluster is there already"),
        pytest.param(job(job_deployment_status="Waiting"), True, id="a user submits it"),
        pytest.param(job(job_id=""), False, id="no job id yet"),
        pytest.param(job(ray_cluster_name=""), False, id="no cluster yet"),
        pytest.param(job(dashboard_url=""), False, id="no dashboard yet"),
        pytest.param(job(job_deployment_status=""), False, id="new"),
        pytest.param(job(job_deployment_status="Complete"), False, id="complete"),
        pytest.param(job(job_deployment_status="Failed"), False, id="failed"),
        pytest.param(job(job_deployment_status="Suspended"), False, id="suspended"),
        pytest.param(job(job_deployment_status="Retrying"), False, id="its cluster goes"),
        pytest.param(job(job_deployment_status="ValidationFailed"), False, id="wrong"),
        pytest.param(job(meta={"deletion_timestamp": NOW}), False, id="being deleted"),
        pytest.param(job(spec=JobSpec(managed_by="kueue.x-k8s.io/multikueue")), False, id="another controller's"),
        pytest.param(job(spec=JobSpec(managed_by="ray.io/kuberay-operator")), True, id="ours by name"),
    ],
)
def test_a_job_is_followed_by_its_state(found: Job, expected: bool) -> None:
    assert is_followed(found) is expected


def test_all_jobs_of_a_cluster_are_followed_with_their_partitions() -> None:
    found = followed(
        cluster(), [held(job("b"), 2), held(job("a"), 7), held(job("done", job_deployment_status="Failed"))]
    )
    assert found.jobs == (
        FollowedJob(Key("team", "a"), "a-uid", "id", 7),
        FollowedJob(Key("team", "b"), "b-uid", "id", 2),
    )
    assert not found.serve


def test_a_cluster_that_goes_is_left_alone() -> None:
    assert not followed(cluster(deletion_timestamp=NOW), [held(job())])


@pytest.mark.parametrize(
    ("found", "new_until"),
    [
        pytest.param(followed(cluster(), [held(job())]), NOW + timedelta(seconds=30), id="since the job began"),
        pytest.param(
            followed(cluster(ready_at=NOW + timedelta(seconds=60)), [held(job())]),
            NOW + timedelta(seconds=90),
            id="since the head became ready",
        ),
        pytest.param(followed(cluster(), [held(job(start_time=None))]), None, id="nobody knows since when"),
    ],
)
def test_it_is_new_for_a_while(found: Followed, new_until: datetime | None) -> None:
    assert found.new_until == new_until


SERVES = {"ray.io/originated-from-crd": "RayService"}


@pytest.mark.parametrize(
    ("found", "serve"),
    [
        pytest.param(cluster(labels=SERVES, ready_at=NOW), Serving(ready=True), id="ready"),
        pytest.param(cluster(labels=SERVES), None, id="no head yet"),
        pytest.param(cluster(labels=SERVES, pod_ip="10.0.0.7"), Serving(ready=True), id="a head without conditions"),
        pytest.param(
            cluster(labels=SERVES, pod_ip="10.0.0.7", ready_at=NOW, ready="False"),
            Serving(ready=False),
            id="a head that is not ready (any more)",
        ),
        pytest.param(cluster(labels={"ray.io/originated-from-crd": "RayJob"}, ready_at=NOW), None, id="a RayJob's"),
        pytest.param(cluster(ready_at=NOW), None, id="a cluster of its own"),
        pytest.param(cluster(labels=SERVES, ready_at=NOW, deletion_timestamp=NOW), None, id="one that goes"),
    ],
)
def test_the_applications_of_a_rayservice_are_followed(found: Cluster, serve: Serving | None) -> None:
    assert followed(found, []).serve == serve


def test_what_its_rayservice_wants_is_known() -> None:
    status = RayServiceStatus(
        active_service_status=RayServiceCluster(ray_cluster_name="old", target_capacity=80),
        pending_service_status=RayServiceCluster(ray_cluster_name="ray", target_capacity=20),
    )
    spec = RayServiceSpec(serve_config_v2="applications: []", exclude_head_pod_from_serve_svc=True)
    service = RayService(metadata=Meta(name="service", namespace="team"), spec=spec, status=status)
    assert [*service.clusters] == [Key("team", "old"), Key("team", "ray")]
    found = followed(cluster(labels=SERVES, ready_at=NOW), [], [service])
    assert found.serve == Serving(ready=True, proxy=False, config="applications: []", capacity=20)


def serving(**parts: Any) -> RayService:
    """A RayService whose first cluster is to come."""
    pending = RayServiceCluster(ray_cluster_name="ray", **parts)
    return RayService(
        metadata=Meta(name="service", namespace="team"), status=RayServiceStatus(pending_service_status=pending)
    )


@pytest.mark.parametrize(
    ("services", "jobs", "untold"),
    [
        pytest.param([serving()], [], True, id="its status knows no application"),
        pytest.param([serving(application_statuses={"one": Outline()})], [], False, id="its status knows one"),
        pytest.param([], [], False, id="nobody knows of its RayService"),
        pytest.param([serving()], [held(job())], False, id="a job is waited for"),
    ],
)
def test_serve_that_nobody_has_told_what_to_run(
    services: list[RayService], jobs: list[Held[Job]], untold: bool
) -> None:
    assert followed(cluster(labels=SERVES, ready_at=NOW), jobs, services).untold is untold
