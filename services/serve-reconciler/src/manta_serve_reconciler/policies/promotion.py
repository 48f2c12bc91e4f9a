"""The first cluster of a RayService: that it serves and that requests reach it are told by one write of the status."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.api.rayservice import RayServiceStatuses
from manta_serve_reconciler.observed import Observed
from manta_serve_reconciler.policies import services

# How long after its Services were made the status waits for their endpoints, which mostly take some milliseconds. Their
# time is in whole seconds, so that it is one second at least. A write costs the API server as much as three pods.
SOON: Final = timedelta(seconds=2)


def waits(observed: Observed, after: RayServiceStatuses, now: datetime) -> bool:
    """Whether a status that has the first cluster serve may wait for its endpoints."""
    is_first = not observed.active.name and bool(after.active_service_status.ray_cluster_name)
    if not is_first or not observed.status.conditions or after.num_serve_endpoints > 0:
        return False
    return bool(services.wanted(observed)) and all(now < until for until in due(observed))


def due(observed: Observed) -> tuple[datetime, ...]:
    """Until when it waits; while a Service is still to come nobody knows: it may be refused again and again."""
    found = [observed.services.get(name) for name in services.wanted(observed).values()]
    times = [each.metadata.creation_timestamp for each in found if each]
    known = [at for at in times if at]
    return (max(known) + SOON,) if known and len(known) == len(found) else ()
