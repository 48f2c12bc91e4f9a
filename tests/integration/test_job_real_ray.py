"""RayJobs with a real Ray: all four modes run a job to success and to failure; the pods are kwok's."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.integration.job_world import NOWHERE, JobWorld, Json
from tests.parts.control_plane import ControlPlane
from tests.parts.ray import LocalRay

WELL, BADLY = "python -c 'print(6 * 7)'", "python -c 'raise SystemExit(3)'"
OUTCOMES = pytest.mark.parametrize(
    ("entrypoint", "state"), [(WELL, "Complete"), (BADLY, "Failed")], ids=["well", "badly"]
)
SUBMIT_LIMIT_SECONDS = 180


@pytest.fixture(scope="module")
def jobs(
    control_plane: ControlPlane, ray_crds: None, ray: LocalRay, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JobWorld]:
    folder: pathlib.Path = tmp_path_factory.mktemp("real-jobs")
    with control_plane.fresh_namespace("real-jobs") as name:
        world = JobWorld(control_plane, name, ray.dashboard_url, folder)
        yield world
        world.end()


def run_submitter(container: Json, status: Json, ray: LocalRay) -> int:
    """Run what a submitter's container runs, at the address where this Ray is; its exit code."""
    command = " ".join(container["args"])
    for address in (f"http://{status['dashboardURL']}", "http://127.0.0.1:8265", "http://localhost:8265"):
        command = command.replace(address, ray.dashboard_url)
    folder = str(pathlib.Path(sys.executable).parent)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run([*container["command"], command], env=environment, timeout=SUBMIT_LIMIT_SECONDS, check=False)
    return done.returncode


@OUTCOMES
def test_over_http(jobs: JobWorld, entrypoint: str, state: str) -> None:
    name = f"http-{state.lower()}"
    jobs.make(name, entrypoint=entrypoint)
    status = jobs.reach(name, state)
    assert status["jobStatus"] == ("SUCCEEDED" if state == "Complete" else "FAILED")
    assert status["rayJobInfo"]["endTime"]


@OUTCOMES
def test_by_a_submitting_job(jobs: JobWorld, ray: LocalRay, entrypoint: str, state: str) -> None:
    name = f"k8s-{state.lower()}"
    jobs.make(name, mode="K8sJobMode", entrypoint=entrypoint, submitterPodTemplate=NOWHERE)
    status = jobs.reach(name, "Running")
    jobs.until("there is a submitter", lambda: jobs.pods(f"job-name={name}"))
    (pod,) = jobs.pods(f"job-name={name}")
    code = run_submitter(pod["spec"]["containers"][0], status, ray)
    jobs.finish_submitter(name, "Failed" if code else "Succeeded")
    assert jobs.reach(name, state)["jobStatus"] == ("SUCCEEDED" if state == "Complete" else "FAILED")


@OUTCOMES
def test_by_a_submitter_beside_the_head(jobs: JobWorld, ray: LocalRay, entrypoint: str, state: str) -> None:
    name = f"sidecar-{state.lower()}"
    jobs.make(name, mode="SidecarMode", entrypoint=entrypoint)
    status = jobs.reach(name, "Running")
    (pod,) = jobs.pods(f"ray.io/cluster={status['rayClusterName']}")
    (container,) = [one for one in pod["spec"]["containers"] if one["name"] == "ray-job-submitter"]
    code = run_submitter(container, status, ray)
    jobs.until("Ray has ended", lambda: jobs.status(name).get("jobStatus") in ("SUCCEEDED", "FAILED"))
    jobs.finish_sidecar(name, code)
    assert jobs.reach(name, state)["jobStatus"] == ("SUCCEEDED" if state == "Complete" else "FAILED")


@OUTCOMES
def test_by_a_person(jobs: JobWorld, ray: LocalRay, entrypoint: str, state: str) -> None:
    name = f"person-{state.lower()}"
    jobs.make(name, mode="InteractiveMode", entrypoint="")
    status = jobs.reach(name, "Waiting")
    line = f"ray job submit --no-wait --address {ray.dashboard_url} --submission-id {name}-1 -- {entrypoint}"
    assert run_submitter({"command": ["/bin/bash", "-ce", "--"], "args": [line]}, status, ray) == 0
    jobs.change(name, jobId=f"{name}-1")
    jobs.reach(name, state)
