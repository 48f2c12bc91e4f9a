"""Suspension: everything that a RayService owns goes, and comes again when it is resumed."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from manta_common.api import labels
from manta_common.api.core import Service
from manta_common.api.rayservice import RayServiceStatus, RayServiceStatuses
from manta_serve_reconciler import reasons
from manta_serve_reconciler.actions import Action, DeleteObject, DeleteService, Routing
from manta_serve_reconciler.conditions import Said, holds, said, unsaid
from manta_serve_reconciler.observed import Observed
from manta_serve_reconciler.policies import clusters
from manta_serve_reconciler.step import Step

_QUIET = (
    (reasons.UPGRADE_IN_PROGRESS, reasons.SAYS_NO_UPGRADE),
    (reasons.ROLLBACK_IN_PROGRESS, reasons.SAYS_NO_ROLLBACK),
)


def step(observed: Observed, now: datetime) -> Step | None:
    """What is to be done while it is suspended or becomes so; None when it is not."""
    if holds(observed.status, reasons.SUSPENDING):
        return _going(observed, now)  # whatever the spec says by now: nothing may be left behind
    if holds(observed.status, reasons.SUSPENDED):
        return Step(status=observed.status) if observed.spec.suspend else None
    return Step(status=_requested(observed, now)) if observed.spec.suspend else None


def resumed(observed: Observed, now: datetime) -> Observed:
    """The same as if it had never been suspended, but for what is told of it."""
    if not holds(observed.status, reasons.SUSPENDED) or observed.spec.suspend:
        return observed
    status = msgspec.structs.replace(observed.status, observed_generation=observed.service.metadata.generation)
    status = said(status, Said(reasons.SUSPENDED, "False", reasons.RESUMED, reasons.SAYS_RESUMED), now)
    status = unsaid(status, reasons.READY, reasons.UPGRADE_IN_PROGRESS)
    for kind in (reasons.READY, reasons.UPGRADE_IN_PROGRESS):
        status = said(status, Said(kind, "False", reasons.INITIALIZING, reasons.SAYS_RESUMING), now)
    return observed.after(status)


def own_services(observed: Observed) -> tuple[Service, ...]:
    """The Services that were made for the RayService itself."""
    return tuple(
        each
        for each in observed.services.values()
        if each.metadata.labels.get(labels.ORIGINATED_FROM_NAME) == observed.name
        and each.metadata.labels.get(labels.ORIGINATED_FROM_KIND) == "RayService"
    )


def _routing(observed: Observed) -> tuple[DeleteObject, ...]:
    """The Gateway and the route; without a uid where they go already."""
    found: tuple[tuple[Routing, Mapping[str, Any] | None], ...] = (
        ("gateway", observed.gateway),
        ("httproute", observed.route),
    )
    return tuple(
        DeleteObject(
            which, each["metadata"]["name"], "" if "deletionTimestamp" in each["metadata"] else each["metadata"]["uid"]
        )
        for which, each in found
        if each is not None
    )


def _requested(observed: Observed, now: datetime) -> RayServiceStatuses:
    status = msgspec.structs.replace(
        observed.status,
        observed_generation=observed.service.metadata.generation,
        active_service_status=RayServiceStatus(),
        pending_service_status=RayServiceStatus(),
        num_serve_endpoints=0,
        service_status="",
    )
    status = unsaid(status, reasons.UPGRADE_FAILED)
    asked = Said(reasons.SUSPENDING, "True", reasons.SUSPEND_REQUESTED, reasons.SAYS_WILL_DELETE)
    return _quiet(said(status, asked, now), reasons.SUSPEND_IN_PROGRESS, reasons.SAYS_SUSPENDING, now)


def _going(observed: Observed, now: datetime) -> Step:
    services, routing = own_services(observed), _routing(observed)
    if not observed.clusters and not services and not routing:
        return Step(status=_gone(observed.status, now))
    waits = Said(reasons.SUSPENDING, "True", reasons.SUSPEND_IN_PROGRESS, reasons.SAYS_WAITING)
    removals: tuple[Action, ...] = tuple(
        DeleteService(each.metadata.name, each.metadata.uid)
        for each in services
        if each.metadata.deletion_timestamp is None
    )
    removals += tuple(each for each in routing if each.uid)
    deletions = (*clusters.farewells(observed, "the RayService is suspended", suspending=True), *removals)
    # Neither Gateway nor route is watched: that they are gone must be looked for.
    due = (now + timedelta(seconds=2),) if routing else ()
    return Step(status=said(observed.status, waits, now), then=(deletions,), due=due)


def _gone(status: RayServiceStatuses, now: datetime) -> RayServiceStatuses:
    for kind, truth in ((reasons.SUSPENDING, False), (reasons.SUSPENDED, True)):
        what = Said(kind, "True" if truth else "False", reasons.SUSPEND_COMPLETE, reasons.SAYS_DELETED)
        status = said(status, what, now)
    return _quiet(status, reasons.SUSPEND_COMPLETE, reasons.SAYS_SUSPENDED, now)


def _quiet(status: RayServiceStatuses, reason: str, message: str, now: datetime) -> RayServiceStatuses:
    status = said(status, Said(reasons.READY, "False", reason, message), now)
    for kind, words in _QUIET:
        status = said(status, Said(kind, "False", reason, words), now)
    return status
