"""From what is known of a RayService to phases of actions: what must be done first, the status, and what follows."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from manta_common.api.rayservice import RayServiceStatuses
from manta_common.deeds import Recheck
from manta_common.phases import Phase
from manta_serve_reconciler import conditions, reasons, status
from manta_serve_reconciler.actions import Action, AddFinalizer, CreateCluster, RemoveFinalizer, Submit, WriteStatus
from manta_serve_reconciler.observed import Observed, ServeSettings
from manta_serve_reconciler.policies import (
    applications,
    clusters,
    heads,
    incremental,
    promotion,
    services,
    suspension,
    timeouts,
    validity,
)
from manta_serve_reconciler.policies.applications import Served
from manta_serve_reconciler.step import Step


def decide(observed: Observed, settings: ServeSettings, now: datetime) -> Sequence[Phase[Action]]:
    """Return what is to be done for a RayService now; nothing when all is as it should be."""
    if observed.is_foreign:
        return []
    if observed.is_deleting:
        return _leaving(observed)
    if not settings.gates.status_conditions:
        observed = observed.told_by_pods()
    removals, due = clusters.removals(observed, now)
    step = _step(observed, settings, now)
    later = [at for at in (*step.due, *due) if at > now]
    # The due time comes first: what follows may fail, and it must be met all the same.
    first: list[Phase[Action]] = [(Recheck(min(later)),)] if later else []
    if not observed.has_finalizer:
        first.append((AddFinalizer(),))
    written = _written(observed, step)
    return [phase for phase in (*first, *step.phases, *written, removals, *step.then) if phase]


def _leaving(observed: Observed) -> Sequence[Phase[Action]]:
    """The clusters go first, then the object."""
    if not observed.has_finalizer:
        return []
    if observed.clusters:
        going = clusters.farewells(observed, "the RayService is deleted")
        return [going] if going else []
    return [(RemoveFinalizer(),)]


def _step(observed: Observed, settings: ServeSettings, now: datetime) -> Step:
    wrong = validity.problem(observed.service, settings.gates)
    if wrong:
        return validity.refused(observed, *wrong, now)
    suspended = suspension.step(observed, now)
    if suspended:
        return suspended
    observed = suspension.resumed(observed, now)
    ready = conditions.find(observed.status, reasons.READY)
    if ready and ready.status == "False" and ready.reason == reasons.INITIALIZING_TIMEOUT:
        return Step(status=observed.status)
    return _serving(observed, settings, now)


def _serving(observed: Observed, settings: ServeSettings, now: datetime) -> Step:
    changes = clusters.actions(observed)
    # What is changed in place is changed first; all else is decided about the clusters as they are then.
    observed = clusters.changed(observed, changes)
    whole = _step_by_step if observed.is_incremental(settings) else _at_once
    step = whole(observed, settings, now)
    return msgspec.structs.replace(step, phases=((*changes, *heads.actions(observed)), *step.phases))


def _at_once(observed: Observed, settings: ServeSettings, now: datetime) -> Step:
    """What is done where all traffic moves at the same time."""
    active, pending = _served(observed, settings, now)
    aim = services.aim(observed, active=active, pending=pending)
    promotes = bool(aim.cluster) and aim.cluster == observed.pending.name
    found = status.Found(active=active, pending=pending, promotes=promotes, problem=aim.problem)
    outcome = status.outcome(observed, found, settings, now)
    waits = not outcome.told and promotion.waits(observed, outcome.status, now)
    step = _whole(observed, found, status.Outcome(status=observed.status) if waits else outcome, settings)
    due = promotion.due(observed) if waits else ()
    return msgspec.structs.replace(step, phases=(aim.actions,), due=(*step.due, *due))


def _step_by_step(observed: Observed, settings: ServeSettings, now: datetime) -> Step:
    """The same where traffic moves step by step."""
    observed, told = incremental.turned(observed, settings, now)
    active, pending = _served(observed, settings, now)
    moves = incremental.moves(observed, active=active, pending=pending, now=now)
    found = status.Found(active=active, pending=pending, promotes=moves.promotes, problem=moves.problem)
    outcome = status.outcome(observed.after(moves.status), found, settings, now)
    step = _whole(observed, found, outcome, settings)
    coming, submissions = step.then
    return msgspec.structs.replace(
        step,
        phases=moves.phases,
        told=(*step.told, *told),
        # The Gateway last: whoever has not installed its API, or has no right to it, is served all the same.
        then=(coming, tuple(_scaled(observed, moves.status, each) for each in submissions), moves.then),
        due=(*step.due, *([moves.due] if moves.due else ())),
    )


def _scaled(observed: Observed, after: RayServiceStatuses, action: Action) -> Action:
    """What Serve is told, with the capacity that this pass has come to."""
    if not isinstance(action, Submit):
        return action
    side = after.active_service_status if action.cluster == observed.active.name else after.pending_service_status
    return msgspec.structs.replace(action, capacity=side.target_capacity)


def _served(observed: Observed, settings: ServeSettings, now: datetime) -> tuple[Served, Served]:
    sides = applications.looked_after(observed, settings)
    served = {side.role: applications.served(observed, side, settings, now) for side in sides}
    return served.get("active", applications.NOTHING), served.get("pending", applications.NOTHING)


def _whole(observed: Observed, found: status.Found, outcome: status.Outcome, settings: ServeSettings) -> Step:
    """What is done whatever the type of the upgrade."""
    submissions = tuple(each.submit for each in (found.pending, found.active) if each.submit)
    ends_at = timeouts.initializing_ends_at(observed.after(outcome.status))
    times = (found.active.due, found.pending.due, ends_at, timeouts.upgrade_ends_at(observed, settings))
    return Step(
        status=outcome.status,
        told=outcome.told,
        then=(_coming(observed, outcome), submissions),
        due=tuple(at for at in times if at),
    )


def _coming(observed: Observed, outcome: status.Outcome) -> tuple[Action, ...]:
    """The cluster whose name has just been written."""
    name = outcome.status.pending_service_status.ray_cluster_name
    return (CreateCluster(name),) if name and name != observed.pending.name else ()


def _written(observed: Observed, step: Step) -> list[Phase[Action]]:
    """The status and what is told of it, if there is something new to say."""
    if not status.is_worth_writing(observed.status, step.status):
        return []
    return [(WriteStatus(step.status),), step.told]
