"""What a RayJob's status says: the accounts, the end, the conditions, and whether it is worth a write. Pure."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from manta_common.api.raycluster import RayClusterStatus
from manta_common.api.rayjob import RayJobStatus, RayJobStatusInfo
from manta_common.dashboard.calls import JobDetails
from manta_common.dashboard.reports import SUCCEEDED, TERMINAL
from manta_job_reconciler import conditions, reasons
from manta_job_reconciler.observed import JobSettings, Observed

# News of a cluster wait for more of them, and for those of the job, which are written with them.
CLUSTER_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(seconds=30)
# Of a cluster's status, what counts when two are compared.
_CLUSTER_FIELDS: Final = (
    "state",
    "reason",
    "ready_worker_replicas",
    "available_worker_replicas",
    "desired_worker_replicas",
    "min_worker_replicas",
    "max_worker_replicas",
    "endpoints",
    "head",
    "conditions",
)


def accounted(before: RayJobStatus, after: RayJobStatus, *, limit: int | None) -> RayJobStatus:
    """Count how the attempt ended, and try again if that is allowed; once for each end."""
    failed, succeeded = after.failed or 0, after.succeeded or 0
    state = after.job_deployment_status
    has_ended = before.end_time is not None or before.job_deployment_status in reasons.ENDED
    if has_ended or state in {reasons.NEW, reasons.VALIDATION_FAILED}:
        return after
    if state == reasons.FAILED:
        failed += 1
    if state == reasons.COMPLETE and after.job_status == SUCCEEDED:
        succeeded += 1
    may_retry = limit is not None and failed < limit + 1 and after.reason not in reasons.FINAL_REASONS
    if state == reasons.FAILED and may_retry:
        state = reasons.RETRYING
    return msgspec.structs.replace(after, failed=failed, succeeded=succeeded, job_deployment_status=state)


def completed(observed: Observed, after: RayJobStatus, settings: JobSettings, now: datetime) -> RayJobStatus:
    """Add the time of the end and the conditions."""
    if after.job_deployment_status in reasons.ENDED and after.end_time is None:
        after = msgspec.structs.replace(after, end_time=now.replace(microsecond=0))
    return msgspec.structs.replace(after, conditions=conditions.conditions(observed, after, settings, now))


def answered(
    observed: Observed, after: RayJobStatus, found: JobDetails, settings: JobSettings, now: datetime
) -> RayJobStatus:
    """The status of a job that Ray has just been given, with what Ray says of it; an end is left to its report."""
    if not found.status or found.status in TERMINAL:
        return after
    heard = msgspec.structs.replace(
        after,
        job_status=found.status,
        message=found.message,
        ray_job_info=RayJobStatusInfo(start_time=found.started_at),
        ray_cluster_status=observed.cluster.status if observed.cluster else after.ray_cluster_status,
    )
    return completed(observed, heard, settings, now)


def is_worth_writing(before: RayJobStatus, after: RayJobStatus) -> bool:
    """Whether something that a reader acts on has changed.

    Conditions alone count only where the API server keeps them: KubeRay's own CRDs drop them, again and again.
    """
    return (
        before.job_status != after.job_status
        or before.job_deployment_status != after.job_deployment_status
        or before.job_status_check_failure_start_time != after.job_status_check_failure_start_time
        or _differs(before.ray_cluster_status, after.ray_cluster_status)
        or bool(before.conditions and before.conditions != after.conditions)
        or (after.job_deployment_status == reasons.VALIDATION_FAILED and before.message != after.message)
    )


def waits_until(before: RayJobStatus, after: RayJobStatus) -> datetime | None:
    """When news of the cluster alone are written; None when there is more to say, or nothing was said yet.

    That it has come to another state, as one that is suspended, is more than news.
    """
    since = before.ray_cluster_status.last_update_time or before.start_time
    rest = msgspec.structs.replace(after, ray_cluster_status=before.ray_cluster_status)
    is_moved = before.ray_cluster_status.state != after.ray_cluster_status.state
    if since is None or is_moved or is_worth_writing(before, rest):
        return None
    changed_at = after.ray_cluster_status.last_update_time or since
    return min(changed_at + CLUSTER_PAUSE, since + LONGEST_PAUSE)


def _differs(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in _CLUSTER_FIELDS)
