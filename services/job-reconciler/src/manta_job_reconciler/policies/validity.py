"""Objects that cannot be served, and the way back when they have been corrected."""

from typing import Final

from manta_common.api.gates import Gates
from manta_common.api.rayjob import RayJob
from manta_common.dashboard.reports import STOPPED, SUCCEEDED
from manta_common.validation.job import JobView, metadata_problems, spec_problems, status_problems
from manta_job_reconciler import reasons
from manta_job_reconciler.actions import Tell
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.step import Step, said

_EVENTS: Final = ("InvalidRayJobMetadata", "InvalidRayJobSpec", "InvalidRayJobStatus")


def problem(job: RayJob, gates: Gates) -> tuple[str, str] | None:
    """Return the event's reason and KubeRay's message of the first thing that is wrong."""
    view = JobView(job.spec, job.metadata.annotations, gates)
    kinds = metadata_problems(job), spec_problems(view), status_problems(job)
    found = ((event, next(iter(problems), None)) for event, problems in zip(_EVENTS, kinds, strict=True))
    return next(((event, first.message) for event, first in found if first), None)


def refused(observed: Observed, event: str, message: str) -> Step:
    """Say what is wrong, once for each thing that is."""
    state = reasons.VALIDATION_FAILED
    status = said(observed.status, job_deployment_status=state, reason=state, message=message)
    place = f"{observed.job.metadata.namespace}/{observed.job.metadata.name}"
    told = (Tell("Warning", event, "Validate", f"{place}: {message}"),)
    return Step(status=status, told=told)


def recovered(observed: Observed) -> Step:
    """Go on where the facts say that the job is; with a job id, never from the start."""
    status = said(observed.status, job_deployment_status=_state(observed), reason="", message="")
    return Step(status=status)


def _state(observed: Observed) -> str:
    status = observed.status
    if status.end_time is not None:
        is_complete = status.job_status == STOPPED or (status.job_status == SUCCEEDED and bool(status.succeeded))
        return reasons.COMPLETE if is_complete else reasons.FAILED
    if not status.ray_cluster_name:
        return reasons.NEW
    if not status.dashboard_url:
        return reasons.INITIALIZING
    is_waiting = observed.spec.submission_mode == reasons.INTERACTIVE_MODE and not status.job_id
    return reasons.WAITING if is_waiting else reasons.RUNNING
