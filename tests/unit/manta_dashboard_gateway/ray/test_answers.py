"""What Ray's answers say, and that nothing else is taken for one."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from manta_common.dashboard.reports import ApplicationReport, DeploymentReport
from manta_common.errors import Unreachable
from manta_dashboard_gateway.ray import answers


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_job_is_read() -> None:
    body = as_json(
        {
            "type": "SUBMISSION",
            "submission_id": "id",
            "status": "FAILED",
            "message": "exit 3",
            "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR",
            "entrypoint": "python x.py",
            "metadata": {"a": "b", "c": 5},
            "start_time": 1_767_225_600_000,
            "end_time": None,
            "driver_exit_code": 3,
            "something_new": [],
        }
    )
    job = answers.job(body, "id")
    assert (job.status, job.message, job.error_type) == ("FAILED", "exit 3", "JOB_ENTRYPOINT_COMMAND_ERROR")
    assert (job.entrypoint, job.metadata, job.driver_exit_code) == ("python x.py", {"a": "b"}, 3)
    assert (job.started_at, job.ended_at) == (datetime(2026, 1, 1, tzinfo=UTC), None)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>502 Bad Gateway</html>", id="a page"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"status": "RUNN', id="cut off"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"error": "no leader"}', id="an error that is JSON"),
        pytest.param(b'{"status": 5}', id="a status that is a number"),
        pytest.param(b'{"status": "RUNNING", "start_time": "noon"}', id="a time that is a text"),
        pytest.param(b'{"status": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"status": "\\ud800"}', id="half a character"),
        pytest.param(b'{"a":' * 100_000, id="deep"),
    ],
)
def test_what_is_no_job_is_no_answer(body: bytes) -> None:
    with pytest.raises(Unreachable, match="not what Ray would say"):
        answers.job(body, "id")


def test_an_unknown_status_is_kept_as_it_is() -> None:
    assert answers.job(as_json({"status": "PAUSED ☕"}), "id").status == "PAUSED ☕"


def test_a_list_leaves_out_what_it_cannot_read() -> None:
    body = as_json(
        [
            {"submission_id": "a", "status": "RUNNING"},
            {"submission_id": "b", "status": None},
            "what",
            {"submission_id": None, "job_id": "02000000", "status": "RUNNING"},
            {"submission_id": "c", "status": "SUCCEEDED"},
        ]
    )
    assert {name: job.status for name, job in answers.jobs(body).items()} == {"a": "RUNNING", "c": "SUCCEEDED"}


def test_ten_thousand_jobs_are_read() -> None:
    body = as_json([{"submission_id": f"job-{number}", "status": "RUNNING"} for number in range(10_000)])
    assert len(answers.jobs(body)) == 10_000


@pytest.mark.parametrize("body", [b"{}", b"[{", b"5", b"", b"[[[[["])
def test_what_is_no_list_is_no_answer(body: bytes) -> None:
    with pytest.raises(Unreachable):
        answers.jobs(body)


def test_what_an_application_was_told_is_read() -> None:
    config = {"name": "a", "import_path": "m:a", "deployments": [{"name": "d", "num_replicas": 2}]}
    shown = {"status": "RUNNING", "deployed_app_config": config, "last_deployed_time_s": 1_767_225_600.5}
    deleting = {"status": "DELETING", "deployed_app_config": None, "last_deployed_time_s": 0}
    found = answers.applications(as_json({"applications": {"a": shown, "b": deleting}})).applications
    assert (found["a"].config, found["a"].deployed_at) == (
        config,
        datetime(2026, 1, 1, microsecond=500_000, tzinfo=UTC),
    )
    assert (found["b"].config, found["b"].deployed_at) == (None, None)


def test_applications_are_read() -> None:
    deployments = {"d": {"status": "HEALTHY", "message": "", "replicas": []}}
    body = as_json({"applications": {"": {"status": "RUNNING", "message": None, "deployments": deployments}}})
    found = answers.applications(body)
    assert found.applications == {
        "default": ApplicationReport(status="RUNNING", deployments={"d": DeploymentReport(status="HEALTHY")})
    }
    assert found.target_capacity is None


@pytest.mark.parametrize(
    ("tail", "text"),
    [
        pytest.param(rb'rest of a line\nsecond\nthird\n"}', "second\nthird\n", id="from the first whole line"),
        pytest.param(rb'C:\\new\nsecond"}', "second", id="a backslash and an n are no end of a line"),
        pytest.param(rb'no end of a line"}', "", id="one long line"),
        pytest.param(rb'\u00e4\nw\u00f6rd \"quoted\""}', 'wörd "quoted"', id="characters that are written otherwise"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_the_end_of_a_log_is_read(tail: bytes, text: str) -> None:
    assert answers.log_tail(tail) == text
