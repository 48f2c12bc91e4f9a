"""Every state of a RayJob: from what is known to what is done and said."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.deeds import Tell
from manta_common.ray.settings import RaySettings
from manta_job_reconciler.actions import AddFinalizer, DeleteCluster, DeleteSubmitter, RemoveFinalizer, StopJob, Submit
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.phases import next_step
from manta_job_reconciler.step import Step, find
from tests.unit.manta_job_reconciler.made import (
    NOW,
    URL,
    ago,
    cluster,
    head,
    job,
    observed,
    report,
    running,
    service,
    settled,
    status,
    submitter,
)

SETTINGS = JobSettings()
SUSPENDED: dict[str, Any] = {"suspend": True, "shutdownAfterJobFinishes": True}
SELECTOR: dict[str, Any] = {"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": None}


def step(about: Observed, settings: JobSettings = SETTINGS) -> Step:
    return next_step(about, settings, NOW)


def acts(found: Step) -> list[str]:
    return [type(action).__name__ for phase in found.phases for action in phase]


def said(found: Step, *fields: str) -> tuple[Any, ...]:
    return tuple(getattr(found.status, name) for name in fields)


def test_a_new_job_gets_its_finalizer_before_anything_else() -> None:
    about = observed(job(meta={"finalizers": []}))
    assert step(about).phases == ((AddFinalizer(),),)
    assert step(about).status.job_deployment_status == "Initializing"


def test_names_are_written_before_they_are_used() -> None:
    found = step(observed(job()))
    assert found.phases == ()
    assert said(found, "job_deployment_status", "start_time") == ("Initializing", NOW)
    assert found.status.job_id.startswith("demo-")
    assert found.status.ray_cluster_name.startswith("demo-")
    assert found.status.job_id != found.status.ray_cluster_name


@pytest.mark.parametrize(
    "before",
    [
        pytest.param({"failed": 1}, id="another try"),
        pytest.param({"start_time": ago(60)}, id="a resumption"),
    ],
)
def test_another_attempt_has_other_names(before: dict[str, Any]) -> None:
    first = step(observed(job())).status
    again = msgspec.structs.replace(observed(job()).status, **before)
    second = step(observed(job(), again)).status
    assert {first.job_id, first.ray_cluster_name}.isdisjoint({second.job_id, second.ray_cluster_name})


@pytest.mark.parametrize(
    ("about", "job_id", "cluster_name"),
    [
        pytest.param(job(jobId="mine"), "mine", None, id="a job id of the user's"),
        pytest.param(job("InteractiveMode"), "", None, id="no job id until a person gives it"),
        pytest.param(job(**SELECTOR), None, "shared", id="a cluster that is there already"),
    ],
)
def test_names_that_users_choose(about: Any, job_id: str | None, cluster_name: str | None) -> None:
    found = step(observed(about)).status
    assert job_id is None or found.job_id == job_id
    assert cluster_name is None or found.ray_cluster_name == cluster_name


@pytest.mark.parametrize(
    ("about", "does", "says"),
    [
        pytest.param(observed(job(), status("Initializing")), ["CreateCluster"], "Initializing", id="no cluster yet"),
        pytest.param(
            observed(job(**SELECTOR), status("Initializing")), ["Tell"], "Initializing", id="no selected cluster"
        ),
        pytest.param(
            observed(job(), status("Initializing"), cluster=cluster("")), [], "Initializing", id="a cluster not ready"
        ),
        pytest.param(
            observed(job(), status("Initializing"), cluster=cluster()), [], "Initializing", id="no head Service seen"
        ),
        pytest.param(settled(job("InteractiveMode"), status("Initializing")), [], "Waiting", id="a person submits"),
        pytest.param(settled(job(), status("Initializing")), ["Submit"], "Running", id="submitted over HTTP"),
        pytest.param(
            settled(job("K8sJobMode"), status("Initializing")), ["CreateSubmitter"], "Running", id="a submitting Job"
        ),
        pytest.param(
            settled(job("K8sJobMode"), status("Initializing"), submitter=submitter()),
            [],
            "Running",
            id="a submitting Job that is there already",
        ),
        pytest.param(settled(job("SidecarMode"), status("Initializing")), [], "Running", id="a submitter in the head"),
        pytest.param(settled(job(**SUSPENDED), status("Initializing")), [], "Suspending", id="suspended"),
        pytest.param(
            observed(job("SidecarMode"), status("Initializing"), cluster=cluster(""), pods=(head(exit_code=1),)),
            [],
            "Failed",
            id="the submitter in the head died first",
        ),
        pytest.param(
            settled(job("SidecarMode"), status("Initializing"), cluster=cluster(""), pods=(head(exit_code=0),)),
            [],
            "Running",
            id="the submitter in the head was done first",
        ),
    ],
)
def test_initializing(about: Observed, does: list[str], says: str) -> None:
    found = step(about)
    assert acts(found) == does
    assert found.status.job_deployment_status == says


def test_the_dashboard_is_known_when_the_job_begins() -> None:
    assert step(settled(job(), status("Initializing"))).status.dashboard_url == URL


def test_a_cluster_that_is_not_ready_is_shown() -> None:
    found = step(observed(job(), status("Initializing"), cluster=cluster("unready")))
    assert found.status.ray_cluster_status.state == "unready"


def test_a_failed_submission_is_remembered() -> None:
    found = step(settled(job(), status("Initializing")))
    ((action,),) = found.phases
    assert isinstance(action, Submit)
    assert action.otherwise.job_status_check_failure_start_time == NOW
    assert action.otherwise.job_deployment_status == "Running"


@pytest.mark.parametrize(
    ("about", "reason", "message"),
    [
        pytest.param(
            observed(job(activeDeadlineSeconds=10), status("Initializing")),
            "DeadlineExceeded",
            "The RayJob has passed the activeDeadlineSeconds. StartTime: 2026-01-02 03:03:55 +0000 UTC. "
            "ActiveDeadlineSeconds: 10",
            id="too long at all",
        ),
        pytest.param(
            settled(job(activeDeadlineSeconds=10), running()),
            "DeadlineExceeded",
            "The RayJob has passed the activeDeadlineSeconds. StartTime: 2026-01-02 03:03:55 +0000 UTC. "
            "ActiveDeadlineSeconds: 10",
            id="too long while it ran",
        ),
        pytest.param(
            observed(job(preRunningDeadlineSeconds=10), status("Initializing")),
            "PreRunningDeadlineExceeded",
            "The RayJob has passed the preRunningDeadlineSeconds. StartTime: 2026-01-02 03:03:55 +0000 UTC. "
            "PreRunningDeadlineSeconds: 10",
            id="too long until it ran",
        ),
        pytest.param(
            settled(job("InteractiveMode", preRunningDeadlineSeconds=10), status("Waiting")),
            "PreRunningDeadlineExceeded",
            "The RayJob has passed the preRunningDeadlineSeconds. StartTime: 2026-01-02 03:03:55 +0000 UTC. "
            "PreRunningDeadlineSeconds: 10",
            id="too long until a person came",
        ),
        pytest.param(
            settled(job(), running(job_status_check_failure_start_time=ago(300))),
            "JobStatusCheckTimeoutExceeded",
            "Job status checks have been failing since 2026-01-02 02:59:05; exceeded timeout of 300s",
            id="no answer for too long",
        ),
    ],
)
def test_deadlines(about: Observed, reason: str, message: str) -> None:
    found = step(about)
    assert said(found, "job_deployment_status", "reason", "message") == ("Failed", reason, message)


def test_deadlines_that_are_to_come_are_looked_at_in_time() -> None:
    about = settled(job(activeDeadlineSeconds=25), running(job_status_check_failure_start_time=ago(100)))
    assert set(step(about).due) == {NOW + timedelta(seconds=15), NOW + timedelta(seconds=200)}


@pytest.mark.parametrize(
    ("job_id", "says"),
    [pytest.param("", "Waiting", id="nobody came yet"), pytest.param("mine", "Running", id="a person submitted")],
)
def test_waiting(job_id: str, says: str) -> None:
    found = step(settled(job("InteractiveMode", jobId=job_id), status("Waiting", job_id="", dashboard_url=URL)))
    assert said(found, "job_deployment_status", "job_id") == (says, job_id)


@pytest.mark.parametrize(
    ("about", "does", "says"),
    [
        pytest.param(settled(job(), running(), report=report("RUNNING")), [], ("Running", "RUNNING", ""), id="it runs"),
        pytest.param(
            settled(job(), running(), report=report("SUCCEEDED")), [], ("Complete", "SUCCEEDED", ""), id="it succeeded"
        ),
        pytest.param(
            settled(job(), running(), report=report("STOPPED")), [], ("Complete", "STOPPED", ""), id="it was stopped"
        ),
        pytest.param(
            settled(job(), running(), report=report("FAILED")), [], ("Failed", "FAILED", "AppFailed"), id="it failed"
        ),
        pytest.param(settled(job(), running()), [], ("Running", "", ""), id="nothing was said yet"),
        pytest.param(
            settled(job(), running(), report=report("ODD")), [], ("Running", "ODD", ""), id="a status nobody knows"
        ),
        pytest.param(
            settled(job(), running(), report=report(trouble="not_found")), ["Submit"], ("Running", "", ""), id="not had"
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter(), report=report("SUCCEEDED")),
            [],
            ("Running", "SUCCEEDED", ""),
            id="it succeeded, the submitter still follows",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Complete"), report=report("SUCCEEDED")),
            [],
            ("Complete", "SUCCEEDED", ""),
            id="both have ended",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), report=report("SUCCEEDED")),
            [],
            ("Complete", "SUCCEEDED", ""),
            id="it succeeded, the submitter was deleted",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Complete", ago(60)), report=report("SUCCEEDED")),
            [],
            ("Complete", "SUCCEEDED", ""),
            id="it succeeded long ago, and nobody looked",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Complete"), report=report("RUNNING")),
            [],
            ("Running", "RUNNING", ""),
            id="the submitter ended first",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Complete", ago(30)), report=report("RUNNING")),
            ["Confirm"],
            ("Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded"),
            id="the submitter ended long ago",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Failed"), report=report("RUNNING")),
            [],
            ("Failed", "RUNNING", "SubmissionFailed"),
            id="the submitter failed",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Failed"), report=report("FAILED")),
            [],
            ("Failed", "FAILED", "AppFailed"),
            id="the submitter failed because the job did",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Failed", ago(30)), report=report("RUNNING")),
            [],
            ("Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded"),
            id="the submitter failed long ago",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Failed", ago(30)), report=report("FAILED")),
            [],
            ("Failed", "FAILED", "AppFailed"),
            id="the submitter failed long ago because the job did",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Failed", ago(30)), report=report("SUCCEEDED")),
            [],
            ("Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded"),
            id="the submitter failed long ago though the job did not",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter("Complete"), report=report(trouble="not_found")),
            ["Confirm"],
            ("Failed", "", "AppFailed"),
            id="the submitter ended, and Ray knows nothing",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), submitter=submitter(), report=report(trouble="not_found")),
            [],
            ("Running", "", ""),
            id="the submitter has not come to it yet",
        ),
        pytest.param(
            settled(job("K8sJobMode"), running(), report=report(trouble="not_found")),
            ["Confirm"],
            ("Failed", "", "SubmissionFailed"),
            id="the submitter was deleted before it came to it",
        ),
        pytest.param(
            settled(job("SidecarMode"), running(), pods=(head(exit_code=3),), report=report("RUNNING")),
            [],
            ("Failed", "RUNNING", "SubmissionFailed"),
            id="the submitter in the head failed",
        ),
        pytest.param(
            settled(job("SidecarMode"), running(), pods=(head(exit_code=0),), report=report("SUCCEEDED")),
            [],
            ("Complete", "SUCCEEDED", ""),
            id="the submitter in the head ended",
        ),
        pytest.param(
            settled(
                job("SidecarMode"), running(), pods=(head(exit_code=137, at=None),), report=report(trouble="not_found")
            ),
            [],
            ("Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded"),
            id="the submitter in the head failed, nobody knows when",
        ),
        pytest.param(
            settled(job("SidecarMode"), running(), pods=(head(exit_code=0, at=None),), report=report("SUCCEEDED")),
            [],
            ("Complete", "SUCCEEDED", ""),
            id="the submitter in the head ended, nobody knows when",
        ),
        pytest.param(
            settled(job("SidecarMode"), running(), pods=(), report=report("RUNNING")),
            ["RequireNoHead"],
            ("Failed", "RUNNING", "AppFailed"),
            id="the head is gone with its submitter",
        ),
        pytest.param(
            settled(job(), running(), cluster=None, pods=()),
            ["CreateCluster"],
            ("Running", "", ""),
            id="the cluster is gone",
        ),
        pytest.param(
            settled(job(), running(), own_service=None),
            ["CreateService"],
            ("Running", "", ""),
            id="no Service of the job's own yet",
        ),
        pytest.param(
            settled(job(), running(), own_service=service("demo-head-svc", "old")),
            ["MoveService"],
            ("Running", "", ""),
            id="the Service leads to an older cluster",
        ),
        pytest.param(
            settled(
                job("HTTPMode"), running(), own_service=service("demo-head-svc", "old"), report=report("SUCCEEDED")
            ),
            ["MoveService"],
            ("Complete", "SUCCEEDED", ""),
            id="ended before anybody saw that the Service leads to an older cluster",
        ),
        pytest.param(
            settled(job(**SELECTOR), running(), own_service=None),
            [],
            ("Running", "", ""),
            id="no Service for a shared cluster",
        ),
        pytest.param(settled(job(**SUSPENDED), running()), [], ("Suspending", "", ""), id="suspended"),
        pytest.param(
            settled(
                job(),
                running(
                    job_status="SUCCEEDED",
                    ray_job_info=msgspec.convert({"endTime": ago(300)}, type(running().ray_job_info)),
                ),
            ),
            [],
            ("Complete", "SUCCEEDED", "JobDeploymentStatusTransitionGracePeriodExceeded"),
            id="ended long ago and never told",
        ),
    ],
)
def test_running(about: Observed, does: list[str], says: tuple[str, str, str]) -> None:
    found = step(about)
    assert acts(found) == does
    assert said(found, "job_deployment_status", "job_status", "reason") == says


@pytest.mark.parametrize(
    ("at", "shown"),
    [pytest.param(ago(60), "2026-01-02 03:03:05", id="known"), pytest.param(None, "0001-01-01 00:00:00", id="unknown")],
)
def test_when_a_submitter_ended_is_told(at: Any, shown: str) -> None:
    found = step(settled(job("SidecarMode"), running(), pods=(head(exit_code=1, at=at),), report=report("RUNNING")))
    assert found.status.message == (
        f"The RayJob submitter finished at {shown} but the ray job did not reach terminal state within 30s"
    )


@pytest.mark.parametrize(
    ("pod", "says"),
    [
        pytest.param(head(exit_code=1), "Running", id="it is started again"),
        pytest.param(head(restarts=2, last=1), "Failed", id="it was started too often"),
        pytest.param(head(restarts=2, last=1, exit_code=0), "Running", id="it succeeded in the end"),
    ],
)
def test_a_submitter_in_the_head_that_may_be_started_again(pod: Any, says: str) -> None:
    settings = JobSettings(ray=RaySettings(gates=Gates(sidecar_restart=True)))
    found = step(settled(job("SidecarMode"), running(), pods=(pod,), report=report("RUNNING")), settings)
    assert found.status.job_deployment_status == says


@pytest.mark.parametrize("trouble", ["unreachable", "unauthorised"])
def test_silence_of_the_dashboard_is_timed_once(trouble: Any) -> None:
    about = settled(job(), running(), report=report(trouble=trouble, since=ago(7)))
    first = step(about)
    assert first.status.job_status_check_failure_start_time == ago(7)
    later = settled(job(), first.status, report=report(trouble=trouble, since=ago(2)))
    assert step(later).status == first.status


def test_an_answer_ends_the_timing() -> None:
    about = settled(job(), running(job_status_check_failure_start_time=ago(7)), report=report("RUNNING"))
    assert step(about).status.job_status_check_failure_start_time is None


def test_what_ray_said_is_shown() -> None:
    answer = report("RUNNING", message="busy", started_at=ago(3))
    found = step(settled(job(), running(), report=answer)).status
    assert (found.message, found.ray_job_info.start_time, found.ray_cluster_status.state) == ("busy", ago(3), "ready")


def test_a_head_that_had_the_job_is_not_given_it_again() -> None:
    first = step(settled(job(), status("Initializing"))).status
    lost = settled(job(), first, report=report(trouble="not_found", since=ago(1)))
    found = step(lost)
    assert acts(found) == []
    assert found.status.job_status_check_failure_start_time == ago(1)


def test_another_head_is_given_the_job_again() -> None:
    first = step(settled(job(), status("Initializing"))).status
    lost = settled(job(), first, pods=(head("other-uid"),), report=report(trouble="not_found"))
    found = step(lost)
    assert acts(found) == ["Submit"]
    assert "other-uid" in (find(found.status, "Submitted") or pytest.fail("not remembered")).message


def test_the_missing_cluster_of_a_selector_is_told() -> None:
    found = step(observed(job(**SELECTOR), status("Initializing", ray_cluster_name="shared")))
    (told,) = [action for phase in found.phases for action in phase]
    assert isinstance(told, Tell)
    assert (told.reason, told.note) == (
        "RayClusterNotFound",
        "RayCluster ns/shared set in the clusterSelector is not found. It must be created manually",
    )


@pytest.mark.parametrize("state", ["Suspending", "Retrying"])
def test_an_attempt_that_is_over_is_cleared_away(state: str) -> None:
    about = observed(job(**SUSPENDED), running(job_deployment_status=state), cluster=cluster(), submitter=submitter())
    ((gone, submitted),) = step(about).phases
    assert isinstance(gone, DeleteCluster)
    assert isinstance(submitted, DeleteSubmitter)
    assert (gone.uid, submitted.uid) == ("cluster-uid", "submitter-uid")


def test_what_goes_already_is_waited_for() -> None:
    about = observed(job(), running(job_deployment_status="Retrying"), cluster=cluster(deletionTimestamp=ago(1)))
    found = step(about)
    assert acts(found) == []
    assert found.status == about.status


@pytest.mark.parametrize(
    ("state", "says"), [pytest.param("Suspending", "Suspended", id="suspended"), pytest.param("Retrying", "", id="new")]
)
def test_then_the_status_begins_anew(state: str, says: str) -> None:
    found = step(
        observed(job(**SUSPENDED), running(job_deployment_status=state, job_status="RUNNING", failed=2))
    ).status
    assert (found.job_deployment_status, found.job_id, found.ray_cluster_name, found.dashboard_url) == (
        says,
        "",
        "",
        "",
    )
    assert (found.job_status, found.failed, found.start_time) == ("", 2, ago(10))


@pytest.mark.parametrize(
    ("spec", "says"), [pytest.param(SUSPENDED, "Suspended", id="stays"), pytest.param({}, "", id="resumes")]
)
def test_suspended(spec: dict[str, Any], says: str) -> None:
    assert step(observed(job(**spec), status("Suspended"))).status.job_deployment_status == says


@pytest.mark.parametrize("state", ["Complete", "Failed"])
def test_a_job_that_has_ended_is_left_alone(state: str) -> None:
    about = settled(job(), running(job_deployment_status=state), report=report("RUNNING"))
    found = step(about)
    assert (found.status, [action for phase in found.phases for action in phase]) == (about.status, [])


def test_a_job_that_cannot_be_served_is_told_why() -> None:
    found = step(observed(job(backoffLimit=-1), running()))
    message = "The RayJob spec is invalid: backoffLimit must be a positive integer"
    assert said(found, "job_deployment_status", "reason", "message") == (
        "ValidationFailed",
        "ValidationFailed",
        message,
    )
    assert found.told == (Tell("Warning", "InvalidRayJobSpec", "Validate", f"ns/demo: {message}"),)


@pytest.mark.parametrize(
    ("about", "says"),
    [
        pytest.param(status("", job_id="", ray_cluster_name=""), "", id="it had not begun"),
        pytest.param(status(""), "Initializing", id="its cluster was coming up"),
        pytest.param(running(), "Running", id="it was running"),
        pytest.param(running(end_time=ago(1), job_status="SUCCEEDED", succeeded=1), "Complete", id="it had succeeded"),
        pytest.param(running(end_time=ago(1), job_status="STOPPED"), "Complete", id="it had been stopped"),
        pytest.param(running(end_time=ago(1), job_status="FAILED"), "Failed", id="it had failed"),
        pytest.param(running(end_time=ago(1), job_status="RUNNING"), "Failed", id="it had failed by a deadline"),
    ],
)
def test_a_corrected_job_goes_on_where_it_was(about: Any, says: str) -> None:
    wrong = msgspec.structs.replace(about, job_deployment_status="ValidationFailed", reason="ValidationFailed")
    found = step(observed(job(), wrong))
    assert said(found, "job_deployment_status", "reason") == (says, "")


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        pytest.param("HTTPMode", "ValidationFailed", id="another mode"),
        pytest.param("InteractiveMode", "Waiting", id="the mode that it had"),
    ],
)
def test_a_job_that_waited_for_a_person_goes_on_in_its_own_mode_only(mode: str, says: str) -> None:
    waiting = status("Waiting", job_id="", dashboard_url=URL)
    wrong = step(settled(job("HTTPMode"), waiting))
    assert (wrong.status.job_deployment_status, len(wrong.told)) == ("ValidationFailed", 1)
    found = step(settled(job(mode), wrong.status))
    assert found.status.job_deployment_status == says
    assert (found.status == wrong.status) is (says == "ValidationFailed")


@pytest.mark.parametrize(
    ("about", "does"),
    [
        pytest.param(running(job_status="RUNNING"), [StopJob(required=False), RemoveFinalizer()], id="while it runs"),
        pytest.param(running(job_status="SUCCEEDED"), [RemoveFinalizer()], id="after its end"),
        pytest.param(status("Initializing"), [RemoveFinalizer()], id="before it ran"),
    ],
)
def test_a_job_that_is_deleted(about: Any, does: list[Any]) -> None:
    gone = job(meta={"deletionTimestamp": ago(1)})
    found = step(settled(gone, about))
    assert [action for phase in found.phases for action in phase] == does


@pytest.mark.parametrize(
    ("seconds", "required"), [pytest.param(1, True, id="soon"), pytest.param(61, False, id="not for ever")]
)
def test_a_job_on_a_shared_cluster_is_stopped_before_it_goes(seconds: int, required: bool) -> None:
    gone = job(meta={"deletionTimestamp": ago(seconds)}, **SELECTOR)
    found = step(settled(gone, running(job_status="RUNNING")))
    assert found.phases[0] == (StopJob(required=required),)
