"""The states of a RayJob: what each of them does next. Pure; the facts win over what the status says."""

from datetime import datetime

from msgspec import UnsetType

from manta_job_reconciler import reasons
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import (
    beginning,
    gangs,
    initializing,
    leaving,
    running,
    validity,
    waiting,
    winding_down,
)
from manta_job_reconciler.step import Step, said


def next_step(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    """Return the next step of a job that is ours."""
    if observed.is_deleting:
        return leaving.step(observed, now)
    if observed.status.job_deployment_status in reasons.WINDING_DOWN:
        return winding_down.step(observed, settings, now)  # whatever the spec says: nothing may be left behind
    known = observed.problem
    wrong = validity.problem(observed.job, settings.gates) if isinstance(known, UnsetType) else known
    if wrong:
        return validity.refused(observed, *wrong)
    return _by_state(observed, settings, now)


def _by_state(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    match observed.status.job_deployment_status:
        case reasons.NEW:
            return beginning.step(observed, settings, now)
        case reasons.INITIALIZING:
            return initializing.step(observed, settings, now)
        case reasons.WAITING:
            return waiting.step(observed, now)
        case reasons.RUNNING:
            return running.step(observed, settings, now)
        case _:
            return _at_rest(observed, settings)


def _at_rest(observed: Observed, settings: JobSettings) -> Step:
    """States that only a person, or the janitor, changes; one that nobody knows is derived from the facts."""
    state = observed.status.job_deployment_status
    if state == reasons.SUSPENDED and not observed.spec.suspend:
        return Step(status=said(observed.status, job_status="", job_deployment_status=reasons.NEW))
    if state == reasons.SUSPENDED:
        return Step(status=observed.status)
    if state in reasons.ENDED:
        return Step(status=observed.status, phases=(gangs.ending(observed, settings),))
    return validity.recovered(observed)
