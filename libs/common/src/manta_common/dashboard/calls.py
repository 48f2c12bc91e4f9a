"""The calls that the dashboard-gateway answers: `manta.v1.call.dashboard.<verb>`.

Errors of every call: NotFound (Ray knows no such job), Unreachable (no answer of Ray's in time; a submission may or may
not have been taken, so repeat it with the same job id), Refused with reason `UnknownCluster`, `Unauthorised` or
`RayRefused` (Ray's own words follow), Throttled (too many calls at once).
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from manta_common.bus.channel import Call
from manta_common.dashboard.reports import ApplicationReport
from manta_common.keys import Key

SERVICE: Final = "dashboard"
UNKNOWN_CLUSTER: Final = "UnknownCluster"
UNAUTHORISED: Final = "Unauthorised"
RAY_REFUSED: Final = "RayRefused"
LONGEST_SECONDS: Final = 60.0
SHORT_SECONDS: Final = 10.0


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked of a cluster's dashboard; with a uid only that very cluster will do."""

    cluster: Key
    cluster_uid: str = ""
    limit_seconds: float = SHORT_SECONDS


class AboutCluster(Question, frozen=True, kw_only=True):
    """A question about a cluster as a whole: `list`, `version`, `get-applications`."""


class AboutJob(Question, frozen=True, kw_only=True):
    """A question about one job: `get`, `stop`, `delete`; `get` may be answered by what is known if that is so young."""

    job_id: str
    max_age_seconds: float = 0.0


class Submission(Question, frozen=True, kw_only=True):
    """A job to submit under an id of ours, so that it can be repeated."""

    job_id: str
    entrypoint: str
    runtime_env: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    entrypoint_num_cpus: float = 0.0
    entrypoint_num_gpus: float = 0.0
    entrypoint_memory: int = 0
    entrypoint_resources: dict[str, float] = {}


class LogRange(Question, frozen=True, kw_only=True):
    """A part of a job's log: from a character on, and of that the last characters."""

    job_id: str
    start: int = 0
    tail: int = 100_000


class ServeConfig(Question, frozen=True, kw_only=True):
    """The applications that Serve shall run, as Ray's REST API takes them."""

    config: dict[str, Any]


class JobDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job as Ray knows it; `age_seconds` is how long ago Ray said so."""

    job_id: str
    status: str = ""
    message: str = ""
    error_type: str = ""
    entrypoint: str = ""
    metadata: dict[str, str] = {}
    started_at: datetime | None = None
    ended_at: datetime | None = None
    driver_exit_code: int | None = None
    age_seconds: float = 0.0


class Jobs(msgspec.Struct, frozen=True):
    """All submitted jobs of a cluster; their messages are left out."""

    jobs: tuple[JobDetails, ...]


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """The job is Ray's; `existed` says that it was already, with the same entrypoint and metadata."""

    job_id: str
    existed: bool = False


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """Whether Ray stops the job now; if not, it has ended already, with this status."""

    stopped: bool
    status: str = ""


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """Ray has forgotten the job."""

    deleted: bool = True


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a log. `start` is where it begins, in characters; -1 when the log is too long to count them."""

    text: str
    start: int = 0


class Applications(msgspec.Struct, frozen=True, kw_only=True):
    """Serve's applications by their names."""

    applications: dict[str, ApplicationReport] = {}
    target_capacity: float | None = None


class Deployed(msgspec.Struct, frozen=True):
    """Serve has taken the configuration."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """Which Ray this is."""

    ray_version: str
    ray_commit: str = ""
    session_name: str = ""


SUBMIT: Final = Call(SERVICE, "submit", question=Submission, answer=Submitted)
GET: Final = Call(SERVICE, "get", question=AboutJob, answer=JobDetails)
LIST: Final = Call(SERVICE, "list", question=AboutCluster, answer=Jobs)
STOP: Final = Call(SERVICE, "stop", question=AboutJob, answer=Stopped)
DELETE: Final = Call(SERVICE, "delete", question=AboutJob, answer=Deleted)
LOGS: Final = Call(SERVICE, "logs", question=LogRange, answer=Log)
GET_APPLICATIONS: Final = Call(SERVICE, "get-applications", question=AboutCluster, answer=Applications)
PUT_APPLICATIONS: Final = Call(SERVICE, "put-applications", question=ServeConfig, answer=Deployed)
VERSION: Final = Call(SERVICE, "version", question=AboutCluster, answer=Version)
