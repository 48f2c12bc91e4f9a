"""The conditions of a RayJob: what holds now, since when, and what the job waits for."""

from datetime import datetime
from typing import Literal

import msgspec

from manta_common.api.meta import Condition
from manta_common.api.rayjob import RayJobStatus
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import causes
from manta_job_reconciler.step import find


class Said(msgspec.Struct, frozen=True):
    """Whether a condition holds, and what is said of it."""

    holds: bool
    message: str = ""


def conditions(observed: Observed, after: RayJobStatus, settings: JobSettings, now: datetime) -> tuple[Condition, ...]:
    """Ours, then those that other services have added to this status."""
    is_failed = after.job_deployment_status in reasons.FAILING
    reason = after.reason if is_failed and after.reason else (after.job_deployment_status or "New")
    found = _said(after, causes.awaited(observed, after, settings))
    ours = [_condition(observed, type_, said, reason=reason, now=now) for type_, said in found.items()]
    return (*ours, *(each for each in after.conditions if each.type not in found))


def refused(status: RayJobStatus, error: str) -> RayJobStatus:
    """The status of a job that waits in vain, because something that it needs may not be made."""
    return _retold(status, reasons.CONDITION_INITIALIZED, f"{reasons.REFUSED}{error}")


def unasked(status: RayJobStatus, error: str) -> RayJobStatus:
    """The status of a job that Ray could not be given; the message of the status is Ray's own."""
    return _retold(status, reasons.CONDITION_SUBMITTED, error)


def _retold(status: RayJobStatus, type_: str, message: str) -> RayJobStatus:
    """The status with another message in a condition that does not hold."""
    found = find(status, type_)
    if found is None or found.status == "True":
        return status
    told = msgspec.structs.replace(found, message=message[: causes.CHARACTERS])
    changed = tuple(told if each.type == type_ else each for each in status.conditions)
    return msgspec.structs.replace(status, conditions=changed)


def _said(after: RayJobStatus, awaited: str) -> dict[str, Said]:
    state = after.job_deployment_status
    is_ready = bool(after.dashboard_url) and state not in reasons.WINDING_DOWN
    is_failed, is_complete = state in reasons.FAILING, state == reasons.COMPLETE
    is_suspended, is_submitted = state == reasons.SUSPENDED, _is_submitted(after)
    submitted = find(after, reasons.CONDITION_SUBMITTED)
    return {
        reasons.CONDITION_INITIALIZED: Said(is_ready, "" if is_ready or is_suspended else awaited),
        reasons.CONDITION_SUBMITTED: Said(
            is_submitted, _text(submitted) if is_submitted else awaited if is_ready else ""
        ),
        reasons.CONDITION_RUNNING: Said(state == reasons.RUNNING and after.job_status == "RUNNING"),
        reasons.CONDITION_COMPLETE: Said(is_complete, after.message if is_complete else ""),
        reasons.CONDITION_FAILED: Said(is_failed, after.message if is_failed else ""),
        reasons.CONDITION_SUSPENDED: Said(is_suspended, awaited if is_suspended else ""),
    }


def _text(submitted: Condition | None) -> str:
    return submitted.message if submitted and submitted.status == "True" else ""


def _is_submitted(after: RayJobStatus) -> bool:
    """Whether Ray has, or had, the job in this attempt."""
    if not after.job_id or not after.dashboard_url:
        return False
    condition = find(after, reasons.CONDITION_SUBMITTED)
    return bool(after.job_status) or (condition is not None and condition.status == "True")


def _condition(observed: Observed, type_: str, said: Said, *, reason: str, now: datetime) -> Condition:
    before = find(observed.status, type_)
    status: Literal["True", "False"] = "True" if said.holds else "False"
    stays = before is not None and before.status == status
    return Condition(
        type=type_,
        status=status,
        observed_generation=observed.job.metadata.generation,
        last_transition_time=before.last_transition_time if before and stays else now.replace(microsecond=0),
        reason=before.reason if before and stays and not said.holds else reason,
        message=said.message,
    )
