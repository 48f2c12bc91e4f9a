"""Objects that cannot be served, and the way back when they have been corrected."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from manta_common.dashboard.reports import STOPPED, SUCCEEDED
from manta_common.deeds import Tell
from manta_common.validation.beyond import child_problems
from manta_common.validation.job import SPEC_PREFIX, JobView, metadata_problems, spec_problems, status_problems
from manta_common.validation.problem import Problem, Rule, retold
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.step import Step, said

Wrong = tuple[str, str]
MODES: Final = (reasons.K8S_JOB_MODE, reasons.HTTP_MODE, reasons.INTERACTIVE_MODE, reasons.SIDECAR_MODE)
UNKNOWN_MODE: Final = Rule(
    f"{SPEC_PREFIX}submissionMode must be one of {{modes}}, got: {{mode!r}}", "Set submissionMode to one of {modes}."
)


def problem(job: RayJob, gates: Gates) -> Wrong | None:
    """Return the event's reason and KubeRay's message of the first thing that is wrong."""
    return lasting_problem(job, gates) or passing_problem(job)


def lasting_problem(job: RayJob, gates: Gates) -> Wrong | None:
    """Return the same of the metadata and the spec, by which a job is judged alike as long as they stay."""
    view = JobView(job.spec, job.metadata.annotations, gates)
    found = _first("InvalidRayJobMetadata", metadata_problems(job))
    return found or _first("InvalidRayJobSpec", chain(spec_problems(view), _own_problems(job.spec)))


def passing_problem(job: RayJob) -> Wrong | None:
    """Return the same of the status, also of one whose problem has taken the place of its state."""
    if job.status.job_deployment_status == reasons.VALIDATION_FAILED and _has_waited(job.status):
        job = msgspec.structs.replace(job, status=said(job.status, job_deployment_status=reasons.WAITING))
    return _first("InvalidRayJobStatus", status_problems(job))


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


def _has_waited(status: RayJobStatus) -> bool:
    """Whether it is a person who submits: in other modes a job has an id before it has a cluster."""
    return bool(status.dashboard_url) and not status.job_id and status.end_time is None


def _own_problems(spec: RayJobSpec) -> Iterator[Problem]:
    """Rules of our own: what would wait or run for ever; a mode that is none is one in which nobody submits."""
    if spec.submission_mode not in MODES:
        yield UNKNOWN_MODE.at("spec.submissionMode", mode=spec.submission_mode, modes=", ".join(MODES))
    if spec.ray_cluster_spec:
        yield from retold(child_problems(spec.ray_cluster_spec, "spec.rayClusterSpec", kind="RayJob"), SPEC_PREFIX)


def _first(event: str, problems: Iterator[Problem]) -> Wrong | None:
    first = next(problems, None)
    return (event, first.message) if first else None


def _state(observed: Observed) -> str:
    status = observed.status
    if status.end_time is not None:
        is_complete = status.job_status == STOPPED or (status.job_status == SUCCEEDED and bool(status.succeeded))
        return reasons.COMPLETE if is_complete else reasons.FAILED
    if not status.ray_cluster_name:
        return reasons.NEW
    if not status.dashboard_url:
        return reasons.INITIALIZING
    return reasons.WAITING if _has_waited(status) else reasons.RUNNING
