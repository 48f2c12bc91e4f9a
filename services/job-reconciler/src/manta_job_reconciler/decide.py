"""From what is known of a RayJob to phases of actions: the step of its state, the accounts, the status."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from manta_common.deeds import Recheck
from manta_common.phases import Phase
from manta_job_reconciler import phases, reasons, status
from manta_job_reconciler.actions import Action, Confirm, Submit, WriteStatus
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.step import Step


def decide(observed: Observed, settings: JobSettings, now: datetime) -> Sequence[Phase[Action]]:
    """Return what is to be done for a job now; nothing when all is as it should be."""
    if observed.is_foreign:
        return []
    step = phases.next_step(observed, settings, now)
    due = [at for at in step.due if at > now]
    # The due time comes first: what follows may fail, and the deadline must be met all the same.
    later: tuple[Action, ...] = (Recheck(min(due)),) if due else ()
    acts = [tuple(_whole(observed, action, settings, now) for action in phase) for phase in step.phases]
    return [phase for phase in (later, *acts, *_reported(observed, step, settings, now)) if phase]


def _whole(observed: Observed, action: Action, settings: JobSettings, now: datetime) -> Action:
    """The action; a status that it may have to write is as complete as any other."""
    if not isinstance(action, Submit | Confirm):
        return action
    return msgspec.structs.replace(action, otherwise=status.completed(observed, action.otherwise, settings, now))


def _reported(observed: Observed, step: Step, settings: JobSettings, now: datetime) -> list[Phase[Action]]:
    """The status and what is told of it, if there is something new to say."""
    if observed.is_deleting:
        return []
    after = status.accounted(observed.status, step.status, limit=observed.spec.backoff_limit)
    after = status.completed(observed, after, settings, now)
    if not status.is_worth_writing(observed.status, after):
        return []
    wait = status.waits_until(observed.status, after)
    if wait and now < wait:
        return [(Recheck(wait),)]
    is_step = after.job_deployment_status != observed.status.job_deployment_status
    is_submission = any(isinstance(action, Submit) for phase in step.phases for action in phase)
    with_log = is_step and after.reason == reasons.APP_FAILED
    return [(WriteStatus(after, with_log=with_log, with_answer=is_submission),), step.told, *step.then]
