"""From Ray's answers to reports; pure."""

from datetime import UTC, datetime, timedelta

import msgspec

from manta_common.dashboard.calls import UNAUTHORISED, Applications, JobDetails
from manta_common.dashboard.reports import JobReport, ProxyReport, ServeReport, Trouble, TroubleKind
from manta_common.errors import MantaError, NotFound, Refused
from manta_dashboard_gateway.follow import FollowedJob
from manta_dashboard_gateway.places import Target

MESSAGE_CHARACTERS = 64 * 1024  # Ray itself cuts the log in a message to 20,000
TROUBLE_CHARACTERS = 500
SINCE_1970 = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MILLISECONDS = 250_000_000_000_000.0  # in the year 9892; calendars end soon after


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one question, and when it was asked."""

    asked_at: datetime
    details: JobDetails | None = None
    applications: Applications | None = None
    error: MantaError | None = None


def job_report(job: FollowedJob, cluster_uid: str, said: Said, before: JobReport | None) -> JobReport:
    """The report of a job; in trouble, what Ray said last of this very job is kept."""
    blank = JobReport(job_uid=job.uid, cluster_uid=cluster_uid, job_id=job.job_id, asked_at=said.asked_at)
    if said.details is None:
        kept = before if before and is_about(before, job, cluster_uid) else blank
        return msgspec.structs.replace(kept, asked_at=said.asked_at, trouble=_trouble(said, kept.trouble))
    details = said.details
    return msgspec.structs.replace(
        blank,
        status=details.status,
        message=shortened(details.message, MESSAGE_CHARACTERS),
        error_type=details.error_type,
        started_at=details.started_at,
        ended_at=details.ended_at,
        driver_exit_code=details.driver_exit_code,
    )


def serve_report(
    cluster_uid: str, said: Said, before: ServeReport | None, proxy: ProxyReport | None = None
) -> ServeReport:
    """The report of a cluster's applications and of its proxy; in trouble, what Serve said last is kept."""
    kept = before if before and before.cluster_uid == cluster_uid else None
    found = said.applications
    if found is None:
        kept = kept or ServeReport(cluster_uid=cluster_uid, asked_at=said.asked_at)
        trouble = _trouble(said, kept.trouble)
        return msgspec.structs.replace(kept, asked_at=said.asked_at, trouble=trouble, proxy=proxy)
    return ServeReport(
        cluster_uid=cluster_uid,
        asked_at=said.asked_at,
        applications=found.applications,
        target_capacity=found.target_capacity,
        proxy=proxy,
    )


def proxy_report(target: Target, problem: str, asked_at: datetime, before: ProxyReport | None) -> ProxyReport:
    """The report of the proxy in a head pod, which is well when it has no problem; it goes on since it began."""
    found = ProxyReport(
        pod=target.pod,
        address=target.host,
        healthy=not problem,
        since=asked_at,
        message=shortened(problem, TROUBLE_CHARACTERS),
    )
    if before and is_of(before, target) and before.healthy == found.healthy:
        return msgspec.structs.replace(found, since=before.since)
    return found


def is_of(report: ProxyReport, target: Target) -> bool:
    """Whether a report speaks of this very proxy."""
    return (report.pod, report.address) == (target.pod, target.host)


def is_about(report: JobReport, job: FollowedJob, cluster_uid: str) -> bool:
    """Whether a report speaks of this very job on this very cluster, and not of a predecessor of the same name."""
    return (report.job_uid, report.cluster_uid, report.job_id) == (job.uid, cluster_uid, job.job_id)


def trouble_kind(error: MantaError | None) -> TroubleKind:
    """Which of the three facts an error stands for."""
    match error:
        case NotFound():
            return "not_found"
        case Refused(reason=reason) if reason == UNAUTHORISED:
            return "unauthorised"
    return "unreachable"


def moment(milliseconds: float | None) -> datetime | None:
    """A time of Ray's; None when there is none, or when it is none that a calendar has."""
    if not milliseconds or not 0 < milliseconds < LATEST_MILLISECONDS:
        return None
    return SINCE_1970 + timedelta(milliseconds=milliseconds)


def shortened(text: str, characters: int) -> str:
    """The text, or its beginning and a sign that there is more."""
    return text if len(text) <= characters else f"{text[: characters - 3]}..."


def version_of(asked_at: datetime, before: int) -> int:
    """The version of a report: later ones are larger, also when clocks of two replicas differ a little."""
    return max(before + 1, int((asked_at - SINCE_1970) / timedelta(microseconds=1)))


def _trouble(said: Said, before: Trouble | None) -> Trouble:
    """Trouble of the same kind goes on since it began."""
    kind = trouble_kind(said.error)
    if before and before.kind == kind:
        return before
    return Trouble(kind=kind, since=said.asked_at, message=shortened(str(said.error), TROUBLE_CHARACTERS))
