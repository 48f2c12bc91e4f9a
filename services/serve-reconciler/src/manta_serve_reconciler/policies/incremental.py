"""One pass of an incremental upgrade: rollback or not, capacity, Services, Gateway and route, and what follows."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from manta_common.api import labels, names
from manta_common.api.rayservice import RayServiceStatus, RayServiceStatuses
from manta_common.deeds import Tell
from manta_common.keys import Key
from manta_common.ray.cluster import Unbuildable
from manta_serve_reconciler import conditions, manifests, reasons
from manta_serve_reconciler.actions import Action, CreateService, MoveService, PutObject, Submit
from manta_serve_reconciler.conditions import Said, said, unsaid
from manta_serve_reconciler.observed import Observed, ServeSettings, Side
from manta_serve_reconciler.policies import causes, goals, routes, timeouts, traffic
from manta_serve_reconciler.policies.applications import PATIENCE, Served
from manta_serve_reconciler.policies.traffic import Pace, Shares

# Neither Gateways nor routes are watched: while traffic moves they are looked at as often as KubeRay does, else seldom,
# for somebody may have changed or deleted them.
LOOK: Final = timedelta(seconds=2)
LOOK_SELDOM: Final = timedelta(seconds=60)


class Moves(msgspec.Struct, frozen=True, kw_only=True):
    """What an incremental upgrade does in this pass, and what the status says of it."""

    status: RayServiceStatuses
    phases: tuple[tuple[Action, ...], ...] = ()
    then: tuple[Action, ...] = ()
    told: tuple[Tell, ...] = ()
    promotes: bool = False
    due: datetime | None = None
    problem: str = ""


def is_upgrading(observed: Observed) -> bool:
    """Whether an earlier pass has begun an upgrade."""
    return conditions.holds(observed.status, reasons.UPGRADE_IN_PROGRESS)


def turned(observed: Observed, settings: ServeSettings, now: datetime) -> tuple[Observed, tuple[Tell, ...]]:
    """Whether an upgrade goes on, or back: as the spec is now, and as long as it may take."""
    if not is_upgrading(observed):
        return observed, ()
    active, pending = observed.active.cluster, observed.pending.cluster
    if active is None:
        note = "Active cluster not found, rollback cannot be initiated"
        return observed, (Tell("Warning", "RollbackImpossible", "Reconcile", note),)
    if pending is None:
        return observed, ()
    goal, status = observed.spec.ray_cluster_config, observed.status
    late = _late(observed, settings, now)
    if late is not None:
        status = late
    elif goals.is_same(active, goal):
        status = _back(status, reasons.SPEC_CHANGED, reasons.SAYS_REVERTED, now)
    elif goals.is_given_up(observed):
        return observed, ()
    elif goals.is_same(pending, goal):
        status = unsaid(status, reasons.ROLLBACK_IN_PROGRESS)
    else:
        status = _back(status, reasons.SPEC_CHANGED, reasons.SAYS_CHANGED, now)
    return observed.after(status), ()


def moves(observed: Observed, *, active: Served, pending: Served, now: datetime) -> Moves:
    """Move capacity and traffic one step further, as far as the Gateway and Serve allow."""
    strategy = observed.spec.upgrade_strategy
    options = strategy.cluster_upgrade_options if strategy else None
    if options is None:
        return Moves(status=observed.status)
    rolling_back = conditions.holds(observed.status, reasons.ROLLBACK_IN_PROGRESS)
    pace = traffic.pace(options, rolling_back=rolling_back)
    shares, submissions = _capacities(observed, pace, now)
    try:
        services = _cluster_services(observed)
    except Unbuildable as error:
        return Moves(status=observed.status, problem=str(error))
    if observed.active.cluster is None and observed.active.name:
        return _inherited(observed, pending, services, now)
    head, target = _head(observed, active=active, pending=pending)
    weights = _weights(observed, shares, pace, now, ready=_can_take(observed, pending))
    route = _route(observed, weights)
    if target and observed.active.cluster is not None and observed.gateway is not None:
        shares = _routed(observed, shares, weights, now)
    status = msgspec.structs.replace(
        observed.status, active_service_status=shares.active, pending_service_status=shares.pending
    )
    busy = is_upgrading(observed) or bool(observed.active.name and observed.pending.name)
    return Moves(
        status=status,
        phases=(submissions, services, route, head),
        then=_gateway(observed),
        promotes=bool(target) and _promotes(observed, shares, rolling_back=rolling_back),
        due=now + (LOOK if busy or observed.gateway is None or observed.route is None else LOOK_SELDOM),
    )


def _inherited(observed: Observed, pending: Served, services: tuple[Action, ...], now: datetime) -> Moves:
    """The cluster that served is gone: the one to come gets everything at once, and serves as soon as it can."""
    share, side = observed.status.pending_service_status, observed.pending
    is_whole = share.target_capacity == traffic.WHOLE
    raised = Submit(side.name, capacity=traffic.WHOLE, keeps_config=True)
    whole = msgspec.structs.replace(share, target_capacity=traffic.WHOLE)
    is_asked = side.answer is not None and bool(side.name)
    name = names.head_service(observed.name)
    head = _led(observed, name, side) if pending.ready and is_whole else ()
    status = observed.status if is_whole or not is_asked else _with_pending(observed.status, whole)
    return Moves(
        status=unsaid(status, reasons.ROLLBACK_IN_PROGRESS),
        phases=((raised,) if is_asked and not is_whole else (), services, head),
        then=_gateway(observed),
        promotes=pending.ready and is_whole,
        due=now + LOOK,
    )


def _with_pending(status: RayServiceStatuses, share: RayServiceStatus) -> RayServiceStatuses:
    return msgspec.structs.replace(status, pending_service_status=share)


def completed(observed: Observed, now: datetime) -> Observed:
    """After a rollback the cluster to come is let go of."""
    shares = Shares(active=observed.status.active_service_status, pending=observed.status.pending_service_status)
    is_rolling_back = conditions.holds(observed.status, reasons.ROLLBACK_IN_PROGRESS)
    gone = not observed.pending.is_head_ready or traffic.is_drained(shares.pending)
    if not is_rolling_back or not traffic.is_back(shares) or not gone:
        return observed
    status = unsaid(observed.status, reasons.ROLLBACK_IN_PROGRESS)
    done = observed.after(msgspec.structs.replace(status, pending_service_status=RayServiceStatus()))
    return msgspec.structs.replace(done, pending=Side(role="pending", status=RayServiceStatus()))


def first_share(observed: Observed) -> int:
    """The capacity that a new cluster begins with: nothing, if there is one that serves."""
    return 0 if observed.active.cluster is not None else traffic.WHOLE


def _late(observed: Observed, settings: ServeSettings, now: datetime) -> RayServiceStatuses | None:
    ends_at = timeouts.upgrade_ends_at(observed, settings)
    if ends_at is None or now < ends_at:
        return None
    status = observed.status
    why = causes.cause(observed) or "traffic did not move in time"
    message = f"cluster {observed.pending.name} is given up, traffic goes back to {observed.active.name}: {why}"
    if not goals.is_given_up(observed):
        about = msgspec.structs.replace(status, observed_generation=observed.service.metadata.generation)
        told = said(about, Said(reasons.UPGRADE_FAILED, "True", reasons.DEADLINE_EXCEEDED, message), now)
        status = msgspec.structs.replace(told, observed_generation=status.observed_generation)
    return _back(status, reasons.DEADLINE_EXCEEDED, message, now)


def _back(status: RayServiceStatuses, reason: str, message: str, now: datetime) -> RayServiceStatuses:
    if conditions.holds(status, reasons.ROLLBACK_IN_PROGRESS):
        return status
    return said(status, Said(reasons.ROLLBACK_IN_PROGRESS, "True", reason, message), now)


def _capacities(observed: Observed, pace: Pace, now: datetime) -> tuple[Shares, tuple[Action, ...]]:
    """Both clusters' parts after their turns, the one to come first, and what Serve is told of it."""
    shares = Shares(active=observed.status.active_service_status, pending=observed.status.pending_service_status)
    told: list[Action] = []
    gateway = Key(observed.service.metadata.namespace, names.gateway(observed.name))
    ready = routes.is_gateway_ready(observed.gateway) and routes.is_route_ready(observed.route, gateway)
    if not is_upgrading(observed) or not ready or not (observed.active.name and observed.pending.name):
        return shares, ()
    shares = traffic.told(shares)
    for side in (observed.pending, observed.active):
        wanted = traffic.next_capacity(shares, side.role, pace) if side.answer else None
        if wanted is None:
            told += _reminder(side, now)
            continue
        told.append(Submit(side.name, capacity=wanted, keeps_config=True))
        changed = msgspec.structs.replace(shares.of(side.role), target_capacity=wanted)
        shares = msgspec.structs.replace(shares, **{side.role: changed})
    return shares, tuple(told)


def _reminder(side: Side, now: datetime) -> tuple[Action, ...]:
    """Tell Serve its capacity again when it does not run with it."""
    report, share, at = side.answer, side.status.target_capacity, side.submitted.scaled_at
    is_told = at is not None and now < at + PATIENCE
    if report is None or share is None or is_told or report.target_capacity in {None, share}:
        return ()
    return (Submit(side.name, capacity=share, keeps_config=True),)


def _weights(observed: Observed, shares: Shares, pace: Pace, now: datetime, *, ready: bool) -> tuple[int, int]:
    """The traffic of both clusters; one that is alone gets all of it."""
    alone = traffic.WHOLE, 0
    return alone if observed.pending.cluster is None else traffic.weights(shares, pace, now, ready=ready)


def _can_take(observed: Observed, served: Served) -> bool:
    """Whether the new cluster runs with the capacity it was given, and has endpoints, so that traffic may follow."""
    side = observed.pending
    report = side.answer
    is_scaled = report is not None and report.target_capacity in {None, side.status.target_capacity}
    return served.ready and is_scaled and observed.endpoints.get(names.serve_service(side.name), 0) > 0


def _cluster_services(observed: Observed) -> tuple[Action, ...]:
    """A serve Service for each cluster."""
    found: list[Action] = []
    for side in observed.sides:
        name = names.serve_service(side.name)
        if side.cluster is not None and name not in observed.services:
            manifests.cluster_serve_service(observed.service, side.cluster)  # Unbuildable is told, not tried
            found.append(CreateService("cluster", name, side.name))
    return tuple(found)


def _head(observed: Observed, *, active: Served, pending: Served) -> tuple[tuple[Action, ...], str]:
    """The head Service, and the cluster that it leads to if that was looked at."""
    side = observed.active if active.ready else None
    if pending.ready:
        side = observed.active if is_upgrading(observed) else observed.pending
    if side is None or side.cluster is None:
        return (), ""
    return _led(observed, names.head_service(observed.name), side), side.name


def _led(observed: Observed, name: str, side: Side) -> tuple[Action, ...]:
    """Let the head Service lead to a cluster."""
    service = observed.services.get(name)
    if service is None:
        return (CreateService("head", name, side.name),)
    if service.spec.selector.get(labels.CLUSTER) == side.name:
        return ()
    return (MoveService("head", name, side.name, service.metadata.resource_version),)


def _gateway(observed: Observed) -> tuple[Action, ...]:
    wanted, found = routes.gateway(observed.service), observed.gateway
    if found is None:
        return (PutObject("gateway", wanted),)
    if routes.is_same_gateway(found, wanted):
        return ()
    return (PutObject("gateway", wanted, found["metadata"]["resourceVersion"]),)


def _route(observed: Observed, weights: tuple[int, int]) -> tuple[Action, ...]:
    """The route, once there is a cluster that serves and a Gateway for it to belong to."""
    if observed.active.cluster is None or observed.gateway is None:
        return ()
    shares = zip(observed.sides, weights, strict=True)
    wanted = routes.http_route(observed.service, [(side, part) for side, part in shares if side.cluster is not None])
    if observed.route is None:
        return (PutObject("httproute", wanted),)
    if routes.is_same_route(observed.route, wanted):
        return ()
    return (PutObject("httproute", wanted, observed.route["metadata"]["resourceVersion"]),)


def _routed(observed: Observed, shares: Shares, weights: tuple[int, int], now: datetime) -> Shares:
    """Both clusters' parts when the route is written."""
    active, pending = weights
    has_pending = observed.pending.cluster is not None
    return Shares(
        active=traffic.moved(shares.active, active, now),
        pending=traffic.moved(shares.pending, pending, now) if has_pending else shares.pending,
    )


def _promotes(observed: Observed, shares: Shares, *, rolling_back: bool) -> bool:
    if is_upgrading(observed):
        return not rolling_back and observed.pending.cluster is not None and traffic.is_complete(shares)
    return not observed.active.name and bool(observed.pending.name)
