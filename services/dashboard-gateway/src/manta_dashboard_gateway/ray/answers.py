"""What Ray's answers say; whatever else they are is Unreadable, which is as good as no answer."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from manta_common.dashboard.calls import Applications, JobDetails, Version
from manta_common.dashboard.reports import ApplicationReport, DeploymentReport
from manta_common.errors import Unreachable
from manta_dashboard_gateway.ray.transport import TooLarge
from manta_dashboard_gateway.sayings import moment, shortened

MESSAGE_CHARACTERS = 64 * 1024  # Ray itself cuts the log in a message to 20,000
WORD_CHARACTERS = 200  # of a status or the name of an error, which are written where others read them
MOST_PARTS = 500_000  # of an answer: one of the largest size may take thirty times as much memory when it is read
DEEPEST = 64  # levels of what an application was told: what goes deeper can be read, but neither compared nor written

T = TypeVar("T")
ExitCode = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Unreadable(Unreachable):
    """An answer that is none of Ray's."""


class Job(msgspec.Struct, frozen=True):
    """A job as Ray tells of it; one that was not submitted has no submission id."""

    status: str
    submission_id: str | None = None
    message: str | None = None
    error_type: str | None = None
    entrypoint: str | None = None
    metadata: dict[str, Any] | None = None
    start_time: float | None = None
    end_time: float | None = None
    driver_exit_code: ExitCode | None = None


class Taken(msgspec.Struct, frozen=True):
    """The answer to a submission."""

    submission_id: str | None = None
    job_id: str | None = None


class Stop(msgspec.Struct, frozen=True):
    """The answer to a stop."""

    stopped: bool


class Logs(msgspec.Struct, frozen=True):
    """The answer to a question for a log."""

    logs: str | None


class Deployment(msgspec.Struct, frozen=True):
    """A deployment as Serve tells of it."""

    status: str = ""
    message: str | None = None


class Application(msgspec.Struct, frozen=True):
    """An application as Serve tells of it."""

    status: str
    message: str | None = None
    deployments: dict[str, Deployment] | None = None
    deployed_app_config: dict[str, Any] | None = None
    last_deployed_time_s: float | None = None


class Serve(msgspec.Struct, frozen=True):
    """All applications."""

    applications: dict[str, Application]
    target_capacity: float | None = None


class RayVersion(msgspec.Struct, frozen=True):
    """Which Ray it is."""

    ray_version: str
    ray_commit: str | None = None
    session_name: str | None = None


def read(body: bytes, into: type[T]) -> T:
    """An answer as what it should be."""
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the answer is not what Ray would say: {error}") from error


def job(body: bytes, job_id: str) -> JobDetails:
    """One job."""
    return details(read(_bounded(body), Job), job_id)


def jobs(body: bytes) -> dict[str, JobDetails]:
    """All submitted jobs by their ids; those that cannot be read are left out, as if they were not there."""
    try:
        found = msgspec.json.decode(_bounded(body), type=list[Job])
    except msgspec.ValidationError:
        found = [job for raw in read(body, list[msgspec.Raw]) if (job := _readable(raw))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the answer is not what Ray would say: {error}") from error
    return {job.submission_id: details(job, job.submission_id) for job in found if job.submission_id}


def details(job: Job, job_id: str) -> JobDetails:
    """A job in our own words."""
    return JobDetails(
        job_id=job_id,
        status=shortened(job.status, WORD_CHARACTERS),
        message=shortened(job.message or "", MESSAGE_CHARACTERS),
        error_type=shortened(job.error_type or "", WORD_CHARACTERS),
        entrypoint=job.entrypoint or "",
        metadata=_texts(job.metadata or {}),
        started_at=moment(job.start_time),
        ended_at=moment(job.end_time),
        driver_exit_code=job.driver_exit_code,
    )


def applications(body: bytes) -> Applications:
    """Serve's applications; one without a name is called `default`."""
    found = read(_bounded(body), Serve)
    return Applications(
        applications={name or "default": _application(one) for name, one in found.applications.items()},
        target_capacity=found.target_capacity,
    )


def version(body: bytes) -> Version:
    """Which Ray it is."""
    found = read(body, RayVersion)
    return Version(
        ray_version=found.ray_version, ray_commit=found.ray_commit or "", session_name=found.session_name or ""
    )


def log_tail(body: bytes) -> str:
    """The end of a log of which the beginning is missing: from its first whole line on."""
    start = body.find(b"\\n")
    while start > 0 and body[start - 1 : start] == b"\\":  # that is a backslash and the letter n
        start = body.find(b"\\n", start + 2)
    end = body.rfind(b'"')
    return read(b'"' + body[start + 2 : end] + b'"', str) if 0 <= start < end else ""


def _bounded(body: bytes) -> bytes:
    """An answer that is read at no great cost; TooLarge when it has too many parts."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") > MOST_PARTS:
        raise TooLarge(f"the answer has more than {MOST_PARTS} parts")
    return body


def _is_deep(value: object, levels: int = DEEPEST) -> bool:
    if levels == 0:
        return True
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_deep(one, levels - 1) for one in below)


def _application(one: Application) -> ApplicationReport:
    found = one.deployments or {}
    if _is_deep(one.deployed_app_config):
        raise Unreadable(f"the answer is not what Ray would say: a config of more than {DEEPEST} levels")
    return ApplicationReport(
        status=shortened(one.status, WORD_CHARACTERS),
        message=shortened(one.message or "", MESSAGE_CHARACTERS),
        deployments={name: _deployment(it) for name, it in found.items()},
        config=one.deployed_app_config,
        deployed_at=moment(1000 * (one.last_deployed_time_s or 0)),
    )


def _deployment(one: Deployment) -> DeploymentReport:
    status, message = shortened(one.status, WORD_CHARACTERS), shortened(one.message or "", MESSAGE_CHARACTERS)
    return DeploymentReport(status=status, message=message)


def _readable(raw: msgspec.Raw) -> Job | None:
    try:
        return msgspec.json.decode(raw, type=Job)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _texts(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in metadata.items() if isinstance(value, str)}
