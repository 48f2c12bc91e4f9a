"""When a status is written, and what Ray's first answer adds to it."""

from datetime import datetime, timedelta

import msgspec
import pytest

from manta_common.api.raycluster import RayClusterStatus
from manta_common.dashboard.calls import JobDetails
from manta_job_reconciler.actions import WriteStatus
from manta_job_reconciler.decide import decide
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.status import CLUSTER_PAUSE, LONGEST_PAUSE, answered, waits_until
from tests.unit.manta_job_reconciler.made import NOW, ago, cluster, job, report, running, settled, status


def writes(about: Observed) -> list[WriteStatus]:
    found = decide(about, JobSettings(), NOW)
    return [action for phase in found for action in phase if isinstance(action, WriteStatus)]


def test_who_submits_asks_at_once_how_it_goes() -> None:
    (write,) = writes(settled(job(), status("Initializing")))
    assert write.with_answer


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode"])
def test_that_the_cluster_is_ready_is_not_told_before_ray_has_said_something_of_the_job(mode: str) -> None:
    before = status("Initializing", ray_cluster_status=RayClusterStatus(reason="so far"))
    (write,) = writes(settled(job(mode), before))
    assert write.status.dashboard_url
    assert write.status.ray_cluster_status == before.ray_cluster_status


def test_whoever_does_not_submit_does_not_ask() -> None:
    assert [write.with_answer for write in writes(settled(job("K8sJobMode"), status("Initializing")))] == [False]
    assert [write.with_answer for write in writes(settled(job(), running(), report=report("RUNNING")))] == [False]


@pytest.mark.parametrize("said", ["PENDING", "RUNNING"])
def test_the_first_answer_is_part_of_the_status(said: str) -> None:
    about = settled(job(), status("Initializing"))
    (write,) = writes(about)
    found = JobDetails(job_id="demo-1", status=said, message="so it goes", started_at=ago(1))
    after = answered(about, write.status, found, JobSettings(), NOW)
    assert (after.job_status, after.message, after.ray_job_info.start_time) == (said, "so it goes", ago(1))
    assert after.ray_cluster_status.state == "ready"
    runs = next(condition for condition in after.conditions if condition.type == "Running")
    assert runs.status == ("True" if said == "RUNNING" else "False")


@pytest.mark.parametrize("said", ["", "SUCCEEDED", "FAILED", "STOPPED"])
def test_an_end_is_left_to_its_report(said: str) -> None:
    about = settled(job(), status("Initializing"))
    (write,) = writes(about)
    assert answered(about, write.status, JobDetails(job_id="demo-1", status=said), JobSettings(), NOW) == write.status


@pytest.mark.parametrize(
    ("told_at", "changed_at", "expected"),
    [
        pytest.param(ago(9), ago(1), ago(1) + CLUSTER_PAUSE, id="more may come"),
        pytest.param(ago(25), ago(1), ago(25) + LONGEST_PAUSE, id="it changes again and again"),
        pytest.param(None, ago(1), ago(1) + CLUSTER_PAUSE, id="nothing was told since the start"),
    ],
)
def test_news_of_the_cluster_alone_wait(told_at: datetime | None, changed_at: datetime, expected: datetime) -> None:
    before = running(ray_cluster_status=RayClusterStatus(state="ready", last_update_time=told_at))
    after = msgspec.structs.replace(
        before, ray_cluster_status=RayClusterStatus(state="ready", reason="x", last_update_time=changed_at)
    )
    assert waits_until(before, after) == expected


def test_news_of_the_job_do_not_wait() -> None:
    before = running()
    after = msgspec.structs.replace(before, job_status="RUNNING", ray_cluster_status=RayClusterStatus(state="ready"))
    assert waits_until(before, after) is None


@pytest.mark.parametrize("state", ["suspended", "failed"])
def test_that_the_cluster_has_come_to_another_state_does_not_wait(state: str) -> None:
    before = status("Initializing")
    after = msgspec.structs.replace(before, ray_cluster_status=RayClusterStatus(state=state, last_update_time=NOW))
    assert waits_until(before, after) is None


def test_news_of_a_cluster_that_does_not_become_ready_are_told_when_they_are_old_enough() -> None:
    changed = RayClusterStatus(state="", reason="stuck", last_update_time=NOW - CLUSTER_PAUSE - timedelta(seconds=1))
    found = msgspec.structs.replace(cluster(""), status=changed)
    (write,) = writes(settled(job(), status("Initializing", start_time=ago(100)), cluster=found))
    assert write.status.ray_cluster_status.reason == "stuck"
