"""What a RayJob's status says: the accounts, the end, the conditions, and whether it is worth a write. Pure."""

from datetime import datetime
from typing import Final, Literal

import msgspec

from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayClusterStatus
from manta_common.api.rayjob import RayJobStatus
from manta_common.dashboard.reports import SUCCEEDED
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.policies.submission import find

__all__ = ["RayJobStatus", "accounted", "completed", "is_worth_writing"]

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
    """Count how the attempt ended, and try again if that is allowed."""
    failed, succeeded = after.failed or 0, after.succeeded or 0
    state = after.job_deployment_status
    if before.job_deployment_status in reasons.ENDED or state in {"", reasons.VALIDATION_FAILED}:
        return after
    if state == reasons.FAILED:
        failed += 1
    if state == reasons.COMPLETE and after.job_status == SUCCEEDED:
        succeeded += 1
    may_retry = limit is not None and failed < limit + 1 and after.reason not in reasons.FINAL_REASONS
    if state == reasons.FAILED and may_retry:
        state = reasons.RETRYING
    return msgspec.structs.replace(after, failed=failed, succeeded=succeeded, job_deployment_status=state)


def completed(observed: Observed, after: RayJobStatus, now: datetime) -> RayJobStatus:
    """Add the time of the end and the conditions."""
    before = observed.status
    if after.job_deployment_status in reasons.ENDED and before.job_deployment_status not in reasons.ENDED:
        after = msgspec.structs.replace(after, end_time=now.replace(microsecond=0))
    conditions = tuple(_conditions(observed, after, now))
    foreign = tuple(each for each in after.conditions if each.type not in {ours.type for ours in conditions})
    return msgspec.structs.replace(after, conditions=(*conditions, *foreign))


def is_worth_writing(before: RayJobStatus, after: RayJobStatus) -> bool:
    """Whether something that a reader acts on has changed."""
    return (
        before.job_status != after.job_status
        or before.job_deployment_status != after.job_deployment_status
        or before.job_status_check_failure_start_time != after.job_status_check_failure_start_time
        or _differs(before.ray_cluster_status, after.ray_cluster_status)
        or before.conditions != after.conditions
        or (after.job_deployment_status == reasons.VALIDATION_FAILED and before.message != after.message)
    )


def _differs(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in _CLUSTER_FIELDS)


def _conditions(observed: Observed, after: RayJobStatus, now: datetime) -> list[Condition]:
    state = after.job_deployment_status
    is_failed = state in {reasons.FAILED, reasons.RETRYING, reasons.VALIDATION_FAILED}
    submitted = find(after, reasons.CONDITION_SUBMITTED)
    found = {
        reasons.CONDITION_INITIALIZED: (bool(after.dashboard_url), ""),
        reasons.CONDITION_SUBMITTED: (_is_submitted(after), submitted.message if submitted else ""),
        reasons.CONDITION_RUNNING: (state == reasons.RUNNING and after.job_status == "RUNNING", ""),
        reasons.CONDITION_COMPLETE: (state == reasons.COMPLETE, after.message if state == reasons.COMPLETE else ""),
        reasons.CONDITION_FAILED: (is_failed, after.message if is_failed else ""),
        reasons.CONDITION_SUSPENDED: (state == reasons.SUSPENDED, ""),
    }
    reason = after.reason if is_failed and after.reason else (state or "New")
    return [
        _condition(observed, type_, holds=holds, reason=reason, message=message, now=now)
        for type_, (holds, message) in found.items()
    ]


def _is_submitted(after: RayJobStatus) -> bool:
    """Whether Ray has, or had, the job in this attempt."""
    if not after.job_id or not after.dashboard_url:
        return False
    condition = find(after, reasons.CONDITION_SUBMITTED)
    return bool(after.job_status) or (condition is not None and condition.status == "True")


def _condition(  # noqa: PLR0913
    observed: Observed, type_: str, *, holds: bool, reason: str, message: str, now: datetime
) -> Condition:
    before = find(observed.status, type_)
    status: Literal["True", "False"] = "True" if holds else "False"
    if before and before.status == status:
        since, kept = before.last_transition_time, before.reason
    else:
        since, kept = now.replace(microsecond=0), reason
    return Condition(
        type=type_,
        status=status,
        observed_generation=observed.job.metadata.generation,
        last_transition_time=since,
        reason=kept if not holds else reason,
        message=message,
    )
