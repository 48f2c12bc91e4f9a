"""What a RayService's status says: its two clusters, promotion, the next cluster, endpoints and conditions. Pure."""

from datetime import datetime, timedelta

import msgspec

from manta_common.api import names
from manta_common.api.raycluster import RayClusterStatus
from manta_common.api.rayservice import RayServiceStatus, RayServiceStatuses
from manta_common.deeds import Tell
from manta_serve_reconciler import conditions, manifests, reasons
from manta_serve_reconciler.conditions import Said, said
from manta_serve_reconciler.observed import Observed, ServeSettings, Side
from manta_serve_reconciler.policies import causes, clusters, goals, incremental, timeouts
from manta_serve_reconciler.policies.applications import Served


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What this pass has found out and done."""

    active: Served
    pending: Served
    promotes: bool = False
    problem: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A status, and what is told of it."""

    status: RayServiceStatuses
    told: tuple[Tell, ...] = ()


def outcome(observed: Observed, found: Found, settings: ServeSettings, now: datetime) -> Outcome:
    """The status after this pass."""
    status = msgspec.structs.replace(
        observed.status,
        observed_generation=_generation(observed, found),
        active_service_status=_of_side(observed.active, found.active),
        pending_service_status=_of_side(observed.pending, found.pending),
    )
    seen = observed.after(status)
    status = _promoted(status) if found.promotes else _next(seen, found, settings, now)
    status = msgspec.structs.replace(status, num_serve_endpoints=endpoints(observed, status, settings))
    return _concluded(seen, status, found, now)


def is_worth_writing(before: RayServiceStatuses, after: RayServiceStatuses) -> bool:
    """Whether something that a reader acts on has changed.

    What the clusters say of themselves alone does not count, but for how many workers of the one that serves are ready:
    their endpoints are often seen before their cluster tells of them.
    """
    return _compared(before) != _compared(after)


def _compared(status: RayServiceStatuses) -> RayServiceStatuses:
    active, pending = status.active_service_status, status.pending_service_status
    workers = RayClusterStatus(ready_worker_replicas=active.ray_cluster_status.ready_worker_replicas)
    return msgspec.structs.replace(
        status,
        last_update_time=None,
        observed_generation=0,
        active_service_status=msgspec.structs.replace(active, ray_cluster_status=workers),
        pending_service_status=msgspec.structs.replace(pending, ray_cluster_status=RayClusterStatus()),
    )


def _generation(observed: Observed, found: Found) -> int:
    """The generation that counts as seen: not before Serve has been told what it says."""
    is_told = all(each.submit is None and each.known for each in (found.active, found.pending))
    is_first = not observed.status.conditions
    return observed.service.metadata.generation if is_told or is_first else observed.status.observed_generation


def _of_side(side: Side, served: Served) -> RayServiceStatus:
    return msgspec.structs.replace(
        side.status,
        application_statuses=served.applications,
        ray_cluster_status=side.cluster.status if side.cluster else RayClusterStatus(),
    )


def _next(observed: Observed, found: Found, settings: ServeSettings, now: datetime) -> RayServiceStatuses:
    """The status when nothing is promoted: what is given up, what has gone back, and the next cluster."""
    if not observed.is_incremental(settings):
        observed = observed.after(_given_up(observed, found, settings, now))
    elif not goals.is_given_up(observed):
        observed = observed.after(conditions.unsaid(observed.status, reasons.UPGRADE_FAILED))
    return _prepared(incremental.completed(observed, now), settings)


def _promoted(status: RayServiceStatuses) -> RayServiceStatuses:
    return msgspec.structs.replace(
        conditions.unsaid(status, reasons.UPGRADE_FAILED),
        active_service_status=status.pending_service_status,
        pending_service_status=RayServiceStatus(),
    )


def _given_up(observed: Observed, found: Found, settings: ServeSettings, now: datetime) -> RayServiceStatuses:
    """Let go of a new cluster that does not become ready in time; the old one goes on."""
    status = observed.status
    if not goals.is_given_up(observed):
        status = conditions.unsaid(status, reasons.UPGRADE_FAILED)
    ends_at = timeouts.upgrade_ends_at(observed, settings)
    if ends_at is None or now < ends_at:
        return status
    why = causes.cause(observed, found.problem) or "it did not become ready in time"
    message = f"cluster {observed.pending.name} was given up, {observed.active.name} goes on serving: {why}"
    # The condition is about the spec as it is now: another edit is another try.
    about = msgspec.structs.replace(status, observed_generation=observed.service.metadata.generation)
    failed = said(about, Said(reasons.UPGRADE_FAILED, "True", reasons.DEADLINE_EXCEEDED, message), now)
    return msgspec.structs.replace(
        failed, pending_service_status=RayServiceStatus(), observed_generation=status.observed_generation
    )


def _prepared(observed: Observed, settings: ServeSettings) -> RayServiceStatuses:
    """Name the next cluster, if there is to be one; it is made when its name is written."""
    is_made = not observed.pending.name or observed.pending.cluster is not None
    if not is_made or not goals.needs_new_cluster(observed, settings):
        return observed.status
    fresh = RayServiceStatus(
        ray_cluster_name=clusters.new_name(observed),
        target_capacity=incremental.first_share(observed) if observed.is_incremental(settings) else None,
    )
    return msgspec.structs.replace(observed.status, pending_service_status=fresh)


def endpoints(observed: Observed, status: RayServiceStatuses, settings: ServeSettings) -> int:
    """The pods that answer requests."""
    if not observed.is_incremental(settings) or observed.active.cluster is None:
        counted = [manifests.serve_service_name(observed.service)]
    else:
        counted = [names.serve_service(observed.active.name)]
    sides = (status.active_service_status, status.pending_service_status)
    is_kept = observed.pending.name in {side.ray_cluster_name for side in sides}  # a rollback may have let go of it
    if observed.is_incremental(settings) and observed.pending.cluster is not None and is_kept:
        counted.append(names.serve_service(observed.pending.name))
    if any(name in observed.services and name not in observed.endpoints for name in counted):
        # Every Service has a slice, be it an empty one: those of this one have not come yet, as after a restart.
        return observed.status.num_serve_endpoints
    return sum(observed.endpoints.get(name, 0) for name in counted)


def _concluded(observed: Observed, status: RayServiceStatuses, found: Found, now: datetime) -> Outcome:
    """The conditions, what follows from them, and what is told."""
    if not status.conditions:
        for kind in (reasons.READY, reasons.UPGRADE_IN_PROGRESS):
            status = said(status, Said(kind, "False", reasons.INITIALIZING, reasons.SAYS_INITIALIZING), now)
    status, told = _readiness(observed, status, found, now)
    status = _progress(status, now)
    running = reasons.RUNNING if conditions.holds(status, reasons.READY) else ""
    return Outcome(status=msgspec.structs.replace(status, service_status=running), told=told)


def _readiness(
    observed: Observed, status: RayServiceStatuses, found: Found, now: datetime
) -> tuple[RayServiceStatuses, tuple[Tell, ...]]:
    if status.num_serve_endpoints > 0:
        return said(status, Said(reasons.READY, "True", reasons.NONZERO_ENDPOINTS, reasons.SAYS_NONZERO), now), ()
    why = causes.cause(observed, found.problem)
    if conditions.holds(status, reasons.READY):
        return said(status, _not_ready(reasons.ZERO_ENDPOINTS, reasons.SAYS_ZERO, why), now), ()
    ends_at = timeouts.initializing_ends_at(observed)
    if ends_at is not None and now >= ends_at:
        return _timed_out(observed, status, now)
    ready = conditions.find(status, reasons.READY)
    base = _base(ready.reason, ready.message) if ready else None
    if ready and base:
        status = said(status, _not_ready(ready.reason, base, why), now)
    return status, ()


def _not_ready(reason: str, base: str, why: str) -> Said:
    return Said(reasons.READY, "False", reason, f"{base.rstrip('.')}: {why}" if why else base)


def _base(reason: str, message: str) -> str | None:
    """KubeRay's own words at the beginning of a message; None where a message is not ours to change."""
    if reason == reasons.ZERO_ENDPOINTS:
        return reasons.SAYS_ZERO
    if reason != reasons.INITIALIZING:
        return None
    resuming = message.startswith(reasons.SAYS_RESUMING.rstrip("."))
    return reasons.SAYS_RESUMING if resuming else reasons.SAYS_INITIALIZING


def _timed_out(
    observed: Observed, status: RayServiceStatuses, now: datetime
) -> tuple[RayServiceStatuses, tuple[Tell, ...]]:
    """Give up for good: both clusters are let go of."""
    ready, limit = conditions.find(status, reasons.READY), timeouts.initializing_limit(observed)
    since = ready.last_transition_time if ready else now
    elapsed, allowed = timeouts.go_duration(now - since), timeouts.go_duration(limit or timedelta())
    message = (
        f"RayService failed to become ready within the configured timeout of {allowed}. "
        f"Time spent initializing: {elapsed}"
    )
    status = said(status, Said(reasons.READY, "False", reasons.INITIALIZING_TIMEOUT, message), now)
    nameless = (
        msgspec.structs.replace(side, ray_cluster_name="")
        for side in (status.active_service_status, status.pending_service_status)
    )
    active, pending = nameless
    note = f"RayService initializing timeout exceeded after {elapsed} (configured timeout: {allowed})"
    told = Tell("Warning", "RayServiceInitializingTimeout", "Reconcile", note)
    return msgspec.structs.replace(status, active_service_status=active, pending_service_status=pending), (told,)


def _progress(status: RayServiceStatuses, now: datetime) -> RayServiceStatuses:
    """Whether one cluster is being replaced by another."""
    active = status.active_service_status.ray_cluster_name
    kind = reasons.UPGRADE_IN_PROGRESS
    if active and status.pending_service_status.ray_cluster_name:
        return said(status, Said(kind, "True", reasons.BOTH_EXIST, reasons.SAYS_BOTH), now)
    if active:
        return said(status, Said(kind, "False", reasons.NO_PENDING, reasons.SAYS_NO_PENDING), now)
    found = conditions.find(status, kind)
    if found and found.reason in {reasons.INITIALIZING, reasons.INITIALIZING_TIMEOUT}:
        return status
    return said(status, Said(kind, "Unknown", reasons.NO_ACTIVE, reasons.SAYS_NO_ACTIVE), now)
