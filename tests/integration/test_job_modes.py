"""RayJobs on a real control plane and NATS, with a scripted dashboard: every mode, and what users do with jobs."""

import functools
import json
import pathlib
import urllib.request
from collections.abc import Iterator

import pytest

from tests.integration.job_world import CLUSTER, NOWHERE, JobWorld
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.stub_dashboard import StubDashboard

LASTS = "sleep 100000"


@pytest.fixture(scope="module")
def jobs(
    control_plane: ControlPlane, ray_crds: None, stub: StubDashboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JobWorld]:
    folder: pathlib.Path = tmp_path_factory.mktemp("jobs")
    with control_plane.fresh_namespace("jobs") as name:
        world = JobWorld(control_plane, name, stub.dashboard_url, folder)
        yield world
        world.end()


def submit(stub: StubDashboard, job_id: str, entrypoint: str) -> None:
    """What a submitter, or a person, does."""
    body = json.dumps({"submission_id": job_id, "entrypoint": entrypoint}).encode()
    request = urllib.request.Request(f"{stub.dashboard_url}/api/jobs/", data=body, method="POST")
    request.add_header("Content-Type", "application/json")
    urllib.request.urlopen(request, timeout=patient(10)).close()


def test_over_http_a_job_succeeds(jobs: JobWorld) -> None:
    jobs.make("http-well")
    status = jobs.reach("http-well", "Complete")
    assert (status["jobStatus"], status["succeeded"], status["failed"]) == ("SUCCEEDED", 1, 0)
    true = {condition["type"] for condition in status["conditions"] if condition["status"] == "True"}
    assert {"Initialized", "Submitted", "Complete"} == true
    for mark in ("kuberay_job_execution_duration_seconds{", 'deployment_status="Complete"'):
        jobs.until(f"a metric tells: {mark}", functools.partial(is_measured, jobs, "http-well", mark))


def is_measured(jobs: JobWorld, name: str, mark: str) -> bool:
    """Whether a metric of a job has this in it."""
    return any(mark in line for line in jobs.metrics().splitlines() if f'name="{name}"' in line)


def test_over_http_a_job_fails_twice_and_tells_why(jobs: JobWorld, stub: StubDashboard) -> None:
    jobs.make("http-badly", entrypoint="echo no such file; sleep 1; exit 3", backoffLimit=1)
    status = jobs.reach("http-badly", "Failed")
    assert (status["reason"], status["failed"]) == ("AppFailed", 2)
    assert "no such file" in status["message"]
    assert len([job for job in stub.jobs if job.startswith("http-badly-")]) == 2


def test_a_submitting_job_succeeds(jobs: JobWorld, stub: StubDashboard) -> None:
    jobs.make("k8s-well", mode="K8sJobMode", submitterPodTemplate=NOWHERE)
    status = jobs.reach("k8s-well", "Running")
    jobs.until("there is a submitter", lambda: jobs.pods("job-name=k8s-well"))
    submit(stub, status["jobId"], "sleep 0")
    jobs.until("Ray has succeeded", lambda: jobs.status("k8s-well").get("jobStatus") == "SUCCEEDED")
    assert jobs.status("k8s-well")["jobDeploymentStatus"] == "Running"
    jobs.finish_submitter("k8s-well", "Succeeded")
    assert jobs.reach("k8s-well", "Complete")["succeeded"] == 1


def test_a_submitting_job_that_cannot_submit_fails(jobs: JobWorld) -> None:
    jobs.make("k8s-badly", mode="K8sJobMode", submitterPodTemplate=NOWHERE, submitterConfig={"backoffLimit": 0})
    jobs.until("there is a submitter", lambda: jobs.pods("job-name=k8s-badly"))
    jobs.until("the condition tells that no node takes it", lambda: "Unschedulable" in str(jobs.status("k8s-badly")))
    jobs.finish_submitter("k8s-badly", "Failed")
    assert jobs.reach("k8s-badly", "Failed")["reason"] == "SubmissionFailed"


@pytest.mark.parametrize(("exit_code", "state"), [(0, "Complete"), (1, "Failed")], ids=["well", "badly"])
def test_a_submitter_beside_the_head(jobs: JobWorld, stub: StubDashboard, exit_code: int, state: str) -> None:
    name = f"sidecar-{exit_code}"
    jobs.make(name, mode="SidecarMode")
    status = jobs.reach(name, "Running")
    if exit_code == 0:
        submit(stub, status["jobId"], "sleep 0")
        jobs.until("Ray has succeeded", lambda: jobs.status(name).get("jobStatus") == "SUCCEEDED")
    jobs.finish_sidecar(name, exit_code)
    assert jobs.reach(name, state).get("reason", "") == ("SubmissionFailed" if exit_code else "")


def test_a_person_submits(jobs: JobWorld, stub: StubDashboard) -> None:
    jobs.make("interactive", mode="InteractiveMode", entrypoint="")
    jobs.reach("interactive", "Waiting")
    submit(stub, "by-hand", "sleep 1")
    jobs.change("interactive", jobId="by-hand")
    jobs.reach("interactive", "Complete")


def test_a_job_is_suspended_and_resumed(jobs: JobWorld) -> None:
    jobs.make("pausing", entrypoint=LASTS, shutdownAfterJobFinishes=True)
    first = jobs.reach("pausing", "Running")["rayClusterName"]
    jobs.change("pausing", suspend=True)
    assert "rayClusterName" not in jobs.reach("pausing", "Suspended")
    assert jobs.find("rayclusters", first) is None
    jobs.change("pausing", suspend=False)
    assert jobs.reach("pausing", "Running")["rayClusterName"] != first


def test_a_deadline_ends_a_job(jobs: JobWorld) -> None:
    jobs.make("late", entrypoint=LASTS, activeDeadlineSeconds=15)
    status = jobs.reach("late", "Failed")
    assert (status["reason"], status["failed"]) == ("DeadlineExceeded", 1)


def test_a_job_that_is_deleted_is_stopped_and_leaves_nothing(jobs: JobWorld, stub: StubDashboard) -> None:
    jobs.make("deleted", entrypoint=LASTS)
    jobs.until("it runs", lambda: jobs.status("deleted").get("jobStatus") == "RUNNING")
    status = jobs.status("deleted")
    jobs.delete("deleted")
    jobs.until("it is gone", lambda: jobs.find("rayjobs", "deleted") is None)
    jobs.until("its cluster is gone", lambda: jobs.find("rayclusters", status["rayClusterName"]) is None)
    assert stub.jobs[status["jobId"]].status == "STOPPED"


def test_a_job_on_somebody_elses_cluster_is_stopped_when_it_is_deleted(jobs: JobWorld, stub: StubDashboard) -> None:
    jobs.create("rayclusters", "shared", CLUSTER)
    jobs.make("guest", clusterSelector={"ray.io/cluster": "shared"}, entrypoint=LASTS)
    jobs.until("it runs", lambda: jobs.status("guest").get("jobStatus") == "RUNNING")
    job_id = jobs.status("guest")["jobId"]
    jobs.delete("guest")
    jobs.until("it is gone", lambda: jobs.find("rayjobs", "guest") is None)
    assert stub.jobs[job_id].status == "STOPPED"
    assert jobs.find("rayclusters", "shared") is not None


def test_a_job_that_is_corrected_runs(jobs: JobWorld) -> None:
    jobs.make("wrong", ttlSecondsAfterFinished=10)
    assert "TTLSecondsAfterFinished" in jobs.reach("wrong", "ValidationFailed")["message"]
    jobs.change("wrong", ttlSecondsAfterFinished=0)
    jobs.reach("wrong", "Complete")


def test_a_schedule_makes_jobs(jobs: JobWorld) -> None:
    template = {"submissionMode": "HTTPMode", "entrypoint": "sleep 1", "rayClusterSpec": CLUSTER}
    kept = {"successfulJobsHistoryLimit": 1000}  # else the first is gone when its turn to be looked at comes
    jobs.create("raycronjobs", "often", {"schedule": "@every 1s", "jobTemplate": template, **kept})
    jobs.until("a tick is written", lambda: "lastScheduleTime" in str(jobs.find("raycronjobs", "often")))
    found = jobs.plane.request("GET", f"{jobs.path('rayjobs')}?labelSelector=ray.io/cronjob-name=often")["items"]
    name = found[0]["metadata"]["name"]
    assert name.startswith("often-")
    jobs.reach(name, "Complete")
    jobs.plane.request("DELETE", jobs.path("raycronjobs", "often"))
    jobs.until("its jobs go with it", lambda: jobs.find("rayjobs", name) is None)
