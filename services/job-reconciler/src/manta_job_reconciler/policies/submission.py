"""Handing the job to Ray over HTTP: once per attempt, and again only to a head that has not had it yet."""

from datetime import datetime

from manta_common.api.meta import Condition
from manta_common.api.rayjob import RayJobStatus
from manta_job_reconciler.actions import Submit
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.reasons import CONDITION_SUBMITTED
from manta_job_reconciler.step import Step, find, said


def submitted_to(observed: Observed) -> str:
    """What the condition says of the head that the job was handed to; another head, another text."""
    head = next((pod for pod in observed.head_pods if pod.metadata.deletion_timestamp is None), None)
    if head:
        return f"The Ray job was submitted to head pod {head.metadata.name} ({head.metadata.uid})."
    at = observed.cluster.status.head if observed.cluster else None
    return f"The Ray job was submitted to head pod {at.pod_name} at {at.pod_ip}." if at else ""


def is_submitted(observed: Observed) -> bool:
    """Whether the present head has had the job already."""
    condition = find(observed.status, CONDITION_SUBMITTED)
    return condition is not None and condition.status == "True" and condition.message == submitted_to(observed)


def submit(observed: Observed, status: RayJobStatus, now: datetime) -> Step:
    """Hand it over, and remember that it was; when that fails, remember since when."""
    since = status.job_status_check_failure_start_time or now.replace(microsecond=0)
    otherwise = said(status, job_status_check_failure_start_time=since)
    after = said(
        status,
        job_status_check_failure_start_time=None,
        conditions=_remembered(status, submitted_to(observed), now),
    )
    return Step(status=after, phases=((Submit(otherwise),),))


def _remembered(status: RayJobStatus, message: str, now: datetime) -> tuple[Condition, ...]:
    condition = Condition(
        type=CONDITION_SUBMITTED,
        status="True",
        last_transition_time=now.replace(microsecond=0),
        reason=CONDITION_SUBMITTED,
        message=message,
    )
    return (*(each for each in status.conditions if each.type != CONDITION_SUBMITTED), condition)
