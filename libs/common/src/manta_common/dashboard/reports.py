"""What the dashboard-gateway says on the bus of Ray's jobs and of Serve's applications.

A report is written anew only when something that a reader can see has changed; `asked_at` is the time of the question
whose answer brought the change. While there is trouble, what Ray said last stays in the report.
"""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from manta_common.bus.channel import Channel

TroubleKind = Literal["unreachable", "unauthorised", "not_found"]
SUCCEEDED: Final = "SUCCEEDED"
FAILED: Final = "FAILED"
STOPPED: Final = "STOPPED"
TERMINAL: Final = frozenset({SUCCEEDED, FAILED, STOPPED})  # any other status, known or not, may still change


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How reports are written; they only grow, and every new field has a default."""


class Trouble(Report, frozen=True, kw_only=True):
    """Why Ray's answer is not known, and since when without a break.

    `unreachable`: no answer, or none of Ray's; it says nothing about the job. `unauthorised`: the dashboard does not
    take our token, or there is none to be had. `not_found`: Ray answered that it knows no such job.
    """

    kind: TroubleKind
    since: datetime
    message: str = ""


class JobReport(Report, frozen=True, kw_only=True):
    """What Ray said of one RayJob's job; it counts only for this RayJob, this cluster and this job id."""

    job_uid: str
    cluster_uid: str
    job_id: str
    asked_at: datetime
    status: str = ""  # as Ray spells it; empty until Ray knows the job
    message: str = ""
    error_type: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    driver_exit_code: int | None = None
    trouble: Trouble | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended."""
        return self.status in TERMINAL


class DeploymentReport(Report, frozen=True, kw_only=True):
    """What Serve said of one deployment."""

    status: str = ""
    message: str = ""


class ApplicationReport(Report, frozen=True, kw_only=True):
    """What Serve said of one application.

    `config` is what it was last told to run, as it was put (Ray leaves out what was not set); None when it was not put
    or is being deleted. `deployed_at` is when that was, by the head's clock; it moves with every put, equal ones too.
    """

    status: str = ""
    message: str = ""
    deployments: dict[str, DeploymentReport] = {}
    config: dict[str, Any] | None = None
    deployed_at: datetime | None = None


class ProxyReport(Report, frozen=True, kw_only=True):
    """Whether Serve's proxy in the head pod takes requests, and since when without a break; `message` is why not.

    It counts only for the pod at this address: a head that was made anew has another.
    """

    pod: str
    address: str  # host:port
    healthy: bool
    since: datetime
    message: str = ""


class ServeReport(Report, frozen=True, kw_only=True):
    """What Serve said of the applications of one RayCluster, by their names, and of the proxy in its head pod.

    The two are asked separately: `trouble` is about the applications alone. No `proxy` means that it was not asked yet.
    """

    cluster_uid: str
    asked_at: datetime
    applications: dict[str, ApplicationReport] = {}
    target_capacity: float | None = None
    trouble: Trouble | None = None
    proxy: ProxyReport | None = None


JOB_INFO: Final[Channel[JobReport]] = Channel("jobinfo", JobReport)
SERVE_INFO: Final[Channel[ServeReport]] = Channel("serveinfo", ServeReport)


def is_same(before: JobReport | ServeReport | None, after: JobReport | ServeReport) -> bool:
    """Whether a reader could not tell the two apart, but for when they were asked for and how trouble is worded."""
    return before is not None and _in_the_words_of(before, after) == before


def _in_the_words_of(before: JobReport | ServeReport, after: JobReport | ServeReport) -> JobReport | ServeReport:
    changes: dict[str, object] = {"asked_at": before.asked_at}
    if before.trouble and after.trouble:
        changes["trouble"] = msgspec.structs.replace(after.trouble, message=before.trouble.message)
    if isinstance(before, ServeReport) and isinstance(after, ServeReport) and before.proxy and after.proxy:
        changes["proxy"] = msgspec.structs.replace(after.proxy, message=before.proxy.message)
    return msgspec.structs.replace(after, **changes)
