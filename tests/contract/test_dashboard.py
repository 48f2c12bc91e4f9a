"""What Manta relies on in Ray's job API: the stub and a real Ray behave the same."""

import secrets
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.parts.eventually import eventually
from tests.parts.patience import patient

FINAL = ("SUCCEEDED", "FAILED", "STOPPED")
JOB_LIMIT_SECONDS = 60
FIELDS = {
    "type",
    "job_id",
    "submission_id",
    "driver_info",
    "status",
    "entrypoint",
    "message",
    "error_type",
    "start_time",
    "end_time",
    "metadata",
    "runtime_env",
    "driver_agent_http_address",
    "driver_node_id",
    "driver_exit_code",
}


class Dashboard:
    """A client of the API under test."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status, and the JSON or text of the answer."""
        async with self._session.request(method, path, json=body) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, await answer.json() if is_json else await answer.text()

    async def submit(self, entrypoint: str, **fields: Any) -> str:
        """Submit a job under a name of its own; the name."""
        name = f"contract-{secrets.token_hex(4)}"
        body = {"entrypoint": entrypoint, "submission_id": name, **fields}
        assert await self.call("POST", "/api/jobs/", body) == (200, {"job_id": name, "submission_id": name})
        return name

    async def reached(self, name: str, *statuses: str) -> dict[str, Any]:
        """The job once it has one of these statuses."""

        async def find() -> dict[str, Any] | None:
            status, job = await self.call("GET", f"/api/jobs/{name}")
            assert status == 200
            return job if job["status"] in statuses else None

        return await eventually(f"{name} is {' or '.join(statuses)}", find, limit_seconds=JOB_LIMIT_SECONDS)


@pytest.fixture(params=["stub_dashboard", "ray"])
async def dashboard(request: pytest.FixtureRequest) -> AsyncIterator[Dashboard]:
    """The stub, then a real Ray."""
    url = request.getfixturevalue(request.param).dashboard_url
    async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(total=patient(30))) as session:
        yield Dashboard(session)


async def test_the_version_is_told(dashboard: Dashboard) -> None:
    status, version = await dashboard.call("GET", "/api/version")
    assert status == 200
    assert version.keys() == {"version", "ray_version", "ray_commit", "session_name"}
    assert (version["version"], version["ray_version"]) == ("4", "2.60.0")


async def test_a_job_succeeds_and_is_listed_and_deleted(dashboard: Dashboard) -> None:
    name = await dashboard.submit("echo hello", metadata={"key": "value"}, runtime_env={"env_vars": {"A": "b"}})
    job = await dashboard.reached(name, *FINAL)
    assert job.keys() == FIELDS
    expected = {
        "type": "SUBMISSION",
        "submission_id": name,
        "status": "SUCCEEDED",
        "entrypoint": "echo hello",
        "message": "Job finished successfully.",
        "error_type": None,
        "metadata": {"key": "value"},
        "runtime_env": {"env_vars": {"A": "b"}},
        "driver_exit_code": 0,
    }
    assert {field: job[field] for field in expected} == expected
    assert job["start_time"] <= job["end_time"]
    status, listed = await dashboard.call("GET", "/api/jobs/")
    assert (status, [found for found in listed if found["submission_id"] == name]) == (200, [job])
    status, logs = await dashboard.call("GET", f"/api/jobs/{name}/logs")
    assert (status, logs.keys()) == (200, {"logs"})
    assert "hello" in logs["logs"].splitlines()
    assert await dashboard.call("POST", f"/api/jobs/{name}/stop") == (200, {"stopped": False})
    assert await dashboard.call("DELETE", f"/api/jobs/{name}") == (200, {"deleted": True})
    assert await dashboard.call("GET", f"/api/jobs/{name}") == (404, f"Job {name} does not exist")


async def test_a_job_that_exits_with_an_error_fails_with_its_output_in_the_message(dashboard: Dashboard) -> None:
    name = await dashboard.submit("echo oops; exit 3")
    job = await dashboard.reached(name, *FINAL)
    assert (job["status"], job["driver_exit_code"]) == ("FAILED", 3)
    assert job["error_type"] == "JOB_ENTRYPOINT_COMMAND_ERROR"
    assert job["message"].startswith("Job entrypoint command failed with exit code 3, last available logs")
    assert "oops\n" in job["message"]


async def test_a_running_job_is_stopped_but_not_deleted(dashboard: Dashboard) -> None:
    name = await dashboard.submit("sleep 600")
    job = await dashboard.reached(name, "RUNNING")
    assert (job["end_time"], job["driver_exit_code"]) == (None, None)
    status, text = await dashboard.call("DELETE", f"/api/jobs/{name}")
    assert status == 500
    assert f"Attempted to delete job '{name}', but it is in a non-terminal state RUNNING." in text
    assert await dashboard.call("POST", f"/api/jobs/{name}/stop") == (200, {"stopped": True})
    job = await dashboard.reached(name, *FINAL)
    assert (job["status"], job["message"]) == ("STOPPED", "Job was intentionally stopped.")
    assert (job["error_type"], job["driver_exit_code"]) == (None, None)


async def test_a_submission_id_is_taken_once(dashboard: Dashboard) -> None:
    name = await dashboard.submit("echo first")
    status, text = await dashboard.call("POST", "/api/jobs/", {"entrypoint": "echo second", "submission_id": name})
    assert status == 500  # not 409: the head wraps the 400 of its agent
    assert "Request failed with status code 400" in text
    assert f"Job with submission_id {name} already exists. Please use a different submission_id." in text
    assert (await dashboard.reached(name, *FINAL))["entrypoint"] == "echo first"


async def test_a_job_without_a_submission_id_gets_one(dashboard: Dashboard) -> None:
    status, answer = await dashboard.call("POST", "/api/jobs/", {"entrypoint": "echo unnamed"})
    assert status == 200
    assert answer["submission_id"].startswith("raysubmit_")
    await dashboard.reached(answer["submission_id"], *FINAL)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/api/jobs/nobody", id="get"),
        pytest.param("GET", "/api/jobs/nobody/logs", id="logs"),
        pytest.param("POST", "/api/jobs/nobody/stop", id="stop"),
        pytest.param("DELETE", "/api/jobs/nobody", id="delete"),
    ],
)
async def test_an_unknown_job_is_not_found(dashboard: Dashboard, method: str, path: str) -> None:
    assert await dashboard.call(method, path) == (404, "Job nobody does not exist")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param({}, "missing 1 required positional argument: 'entrypoint'", id="no entrypoint"),
        pytest.param({"entrypoint": 5}, "entrypoint must be a string", id="entrypoint is a number"),
        pytest.param({"entrypoint": "x", "bad": 1}, "unexpected keyword argument 'bad'", id="unknown field"),
    ],
)
async def test_a_wrong_submission_is_refused(dashboard: Dashboard, body: dict[str, Any], reason: str) -> None:
    status, text = await dashboard.call("POST", "/api/jobs/", body)
    assert status == 400
    assert reason in text
