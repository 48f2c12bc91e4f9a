"""Due times that come from the spec and the status alone; nothing is counted in memory."""

from datetime import datetime, timedelta

from manta_common.dashboard.reports import FAILED as RAY_FAILED
from manta_common.dashboard.reports import TERMINAL
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import causes
from manta_job_reconciler.step import Step, failed, said

SUBMITTER_PATIENCE = timedelta(seconds=30)
_GRACE_MESSAGE = (
    "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus reaches "
    "a terminal state."
)


def active(observed: Observed) -> datetime | None:
    """When the job has taken too long."""
    return _after_start(observed, observed.spec.active_deadline_seconds)


def pre_running(observed: Observed) -> datetime | None:
    """When the job has taken too long to run at all."""
    return _after_start(observed, observed.spec.pre_running_deadline_seconds)


def grace(observed: Observed, settings: JobSettings) -> datetime | None:
    """When a Ray job that has ended must have ended the RayJob too."""
    ended_at = observed.status.ray_job_info.end_time
    is_over = observed.status.job_status in TERMINAL and ended_at is not None
    return ended_at + timedelta(seconds=settings.grace_seconds) if is_over and ended_at else None


def status_check(observed: Observed, settings: JobSettings) -> datetime | None:
    """When Ray has not answered for too long."""
    since = observed.status.job_status_check_failure_start_time
    return since + timedelta(seconds=settings.status_check_seconds) if since else None


def passed_active(observed: Observed, now: datetime) -> Step | None:
    """The failure when the active deadline has passed."""
    seconds = observed.spec.active_deadline_seconds
    if not _is_past(active(observed), now):
        return None
    start = _go_time(observed)
    message = f"The RayJob has passed the activeDeadlineSeconds. StartTime: {start}. ActiveDeadlineSeconds: {seconds}"
    return failed(observed.status, reasons.DEADLINE_EXCEEDED, causes.told(observed, message))


def passed_pre_running(observed: Observed, now: datetime) -> Step | None:
    """The failure when the job should run by now."""
    seconds = observed.spec.pre_running_deadline_seconds
    if not _is_past(pre_running(observed), now):
        return None
    message = (
        f"The RayJob has passed the preRunningDeadlineSeconds. StartTime: {_go_time(observed)}. "
        f"PreRunningDeadlineSeconds: {seconds}"
    )
    return failed(observed.status, reasons.PRE_RUNNING_DEADLINE_EXCEEDED, causes.told(observed, message))


def passed_grace(observed: Observed, settings: JobSettings, now: datetime) -> Step | None:
    """The end when the Ray job ended long ago."""
    if not _is_past(grace(observed, settings), now):
        return None
    is_failed = observed.status.job_status == RAY_FAILED
    state = reasons.FAILED if is_failed else reasons.COMPLETE
    status = said(
        observed.status,
        job_deployment_status=state,
        reason=reasons.GRACE_PERIOD_EXCEEDED,
        message=_GRACE_MESSAGE,
    )
    return Step(status=status)


def passed_status_check(observed: Observed, settings: JobSettings, now: datetime) -> Step | None:
    """The failure when Ray has not answered for too long."""
    since = observed.status.job_status_check_failure_start_time
    if since is None or not _is_past(status_check(observed, settings), now):
        return None
    message = (
        f"Job status checks have been failing since {since:%Y-%m-%d %H:%M:%S}; "
        f"exceeded timeout of {settings.status_check_seconds}s"
    )
    return failed(observed.status, reasons.STATUS_CHECK_TIMEOUT, message)


def _after_start(observed: Observed, seconds: int | None) -> datetime | None:
    start = observed.status.start_time
    return start + timedelta(seconds=seconds) if start and seconds is not None else None


def _is_past(due_at: datetime | None, now: datetime) -> bool:
    return due_at is not None and now >= due_at


def _go_time(observed: Observed) -> str:
    start = observed.status.start_time
    return f"{start:%Y-%m-%d %H:%M:%S} +0000 UTC" if start else "<nil>"
