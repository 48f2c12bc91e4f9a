"""From what is known of a RayJob to phases of actions: the step of its state, the accounts, the status."""

from collections.abc import Sequence
from datetime import datetime

from manta_common.phases import Phase
from manta_job_reconciler import phases, reasons, status
from manta_job_reconciler.actions import Action, Recheck, WriteStatus
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.step import Step


def decide(observed: Observed, settings: JobSettings, now: datetime) -> Sequence[Phase[Action]]:
    """Return what is to be done for a job now; nothing when all is as it should be."""
    if observed.is_foreign:
        return []
    step = phases.next_step(observed, settings, now)
    due = [at for at in step.due if at > now]
    later: tuple[Action, ...] = (Recheck(min(due)),) if due else ()
    return [phase for phase in (*step.phases, *_reported(observed, step, now), later) if phase]


def _reported(observed: Observed, step: Step, now: datetime) -> list[Phase[Action]]:
    """The status and what is told of it, if there is something new to say."""
    if step.status == observed.status:
        return []
    after = status.accounted(observed.status, step.status, limit=observed.spec.backoff_limit)
    after = status.completed(observed, after, now)
    if not status.is_worth_writing(observed.status, after):
        return []
    return [(WriteStatus(after, with_log=after.reason == reasons.APP_FAILED),), step.told]
