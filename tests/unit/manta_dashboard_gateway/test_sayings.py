"""From Ray's answers to reports."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from manta_common.dashboard.calls import Applications, JobDetails
from manta_common.dashboard.reports import (
    ApplicationReport,
    JobReport,
    ProxyReport,
    ServeReport,
    Trouble,
    TroubleKind,
)
from manta_common.errors import MantaError, NotFound, Refused, Unreachable
from manta_common.keys import Key
from manta_dashboard_gateway.credentials import Unauthorised
from manta_dashboard_gateway.follow import FollowedJob
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.sayings import (
    Said,
    job_report,
    moment,
    proxy_report,
    serve_report,
    shortened,
    trouble_kind,
    version_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=3)
JOB = FollowedJob(Key("team", "job"), "job-uid", "id")
RUNNING = JobReport(job_uid="job-uid", cluster_uid="ray-uid", job_id="id", asked_at=NOW, status="RUNNING")
SILENT = Said(asked_at=LATER, error=Unreachable("no answer"))


def test_what_ray_says_is_reported() -> None:
    details = JobDetails(job_id="id", status="FAILED", message="m", error_type="e", started_at=NOW, driver_exit_code=3)
    found = job_report(JOB, "ray-uid", Said(asked_at=LATER, details=details), RUNNING)
    assert found == JobReport(
        job_uid="job-uid",
        cluster_uid="ray-uid",
        job_id="id",
        asked_at=LATER,
        status="FAILED",
        message="m",
        error_type="e",
        started_at=NOW,
        driver_exit_code=3,
    )


def test_in_trouble_the_last_answer_is_kept() -> None:
    found = job_report(JOB, "ray-uid", SILENT, RUNNING)
    trouble = Trouble(kind="unreachable", since=LATER, message="no answer")
    assert found == msgspec.structs.replace(RUNNING, asked_at=LATER, trouble=trouble)


def test_trouble_goes_on_since_it_began() -> None:
    first = job_report(JOB, "ray-uid", Said(asked_at=NOW, error=Unreachable("first")), None)
    second = job_report(JOB, "ray-uid", SILENT, first)
    assert (second.trouble, second.asked_at) == (first.trouble, LATER)


def test_another_trouble_begins_anew() -> None:
    first = job_report(JOB, "ray-uid", Said(asked_at=NOW, error=NotFound("no such job")), RUNNING)
    found = job_report(JOB, "ray-uid", SILENT, first)
    assert found.trouble == Trouble(kind="unreachable", since=LATER, message="no answer")


@pytest.mark.parametrize(
    ("job", "cluster_uid"),
    [
        pytest.param(FollowedJob(JOB.key, "another-uid", "id"), "ray-uid", id="a RayJob made anew"),
        pytest.param(FollowedJob(JOB.key, "job-uid", "next-id"), "ray-uid", id="the next try"),
        pytest.param(JOB, "another-uid", id="a cluster made anew"),
    ],
)
def test_a_predecessor_is_not_believed(job: FollowedJob, cluster_uid: str) -> None:
    assert job_report(job, cluster_uid, SILENT, RUNNING).status == ""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NotFound("no such job"), "not_found"),
        (Unauthorised("no"), "unauthorised"),
        (Refused(500, "RayRefused", "broken"), "unreachable"),
        (Unreachable("silence"), "unreachable"),
    ],
)
def test_there_are_three_kinds_of_trouble(error: MantaError, kind: TroubleKind) -> None:
    assert trouble_kind(error) == kind


def test_applications_are_reported_and_kept_in_trouble() -> None:
    applications = Applications(applications={"a": ApplicationReport(status="RUNNING")}, target_capacity=50)
    found = serve_report("ray-uid", Said(asked_at=NOW, applications=applications), None)
    assert found == ServeReport(
        cluster_uid="ray-uid", asked_at=NOW, applications=applications.applications, target_capacity=50
    )
    assert serve_report("ray-uid", SILENT, found).applications == applications.applications
    assert serve_report("another-uid", SILENT, found).applications == {}


PROXY = Target(cluster=Key("team", "ray"), uid="ray-uid", address="a", host="10.0.0.7:8000", pod="ray-head")
WELL = ProxyReport(pod="ray-head", address="10.0.0.7:8000", healthy=True, since=NOW)


@pytest.mark.parametrize(
    ("problem", "before", "expected"),
    [
        pytest.param("", None, msgspec.structs.replace(WELL, since=LATER), id="the first word"),
        pytest.param("", WELL, WELL, id="still well"),
        pytest.param(
            "refused", WELL, msgspec.structs.replace(WELL, healthy=False, since=LATER, message="refused"), id="no more"
        ),
        pytest.param(
            "late",
            msgspec.structs.replace(WELL, healthy=False, message="refused"),
            msgspec.structs.replace(WELL, healthy=False, message="late"),
            id="still not",
        ),
        pytest.param(
            "",
            msgspec.structs.replace(WELL, address="10.0.0.6:8000"),
            msgspec.structs.replace(WELL, since=LATER),
            id="a head made anew",
        ),
    ],
)
def test_a_proxy_is_reported_since_it_is_so(problem: str, before: ProxyReport | None, expected: ProxyReport) -> None:
    assert proxy_report(PROXY, problem, LATER, before) == expected


def test_the_proxy_is_reported_whatever_the_dashboard_does() -> None:
    assert serve_report("ray-uid", SILENT, None, WELL).proxy == WELL
    assert serve_report("ray-uid", Said(asked_at=NOW, applications=Applications()), None, WELL).proxy == WELL


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        pytest.param(1_767_225_600_000, NOW, id="a moment"),
        pytest.param(1_767_225_600_000.0, NOW, id="a moment as a number with a point"),
        pytest.param(None, None, id="none"),
        pytest.param(0, None, id="zero is none"),
        pytest.param(-5, None, id="before all time"),
        pytest.param(2**64 - 1, None, id="after all calendars"),
        pytest.param(float("inf"), None, id="never"),
    ],
)
def test_times_of_ray_become_moments(milliseconds: float | None, expected: datetime | None) -> None:
    assert moment(milliseconds) == expected


def test_a_later_report_has_a_larger_version() -> None:
    first = version_of(NOW, 0)
    assert version_of(LATER, first) == first + 3_000_000
    assert version_of(NOW - timedelta(seconds=1), first) == first + 1


def test_long_texts_are_cut() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abc..."
