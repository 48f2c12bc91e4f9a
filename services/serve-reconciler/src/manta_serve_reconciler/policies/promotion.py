"""The first cluster of a RayService: that it serves and that requests reach it are told by one write of the status."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.api.rayservice import RayServiceStatuses
from manta_serve_reconciler.observed import Observed
from manta_serve_reconciler.policies import services

# How long after its Services were made the status waits for their endpoints, which mostly take some milliseconds. Their
# time is in whole seconds, so that it is one second at least. A write costs the API server as much as three pods.
SOON: Final = timedelta(seconds=2)


def waits_until(observed: Observed, after: RayServiceStatuses, now: datetime) -> datetime | None:
    """Until when a status that has the first cluster serve may wait for its endpoints; None when it need not."""
    is_first = not observed.active.name and bool(after.active_service_status.ray_cluster_name)
    if not is_first or not observed.status.conditions or after.num_serve_endpoints > 0:
        return None
    until = _made_at(observed, now) + SOON
    return until if now < until else None


def _made_at(observed: Observed, now: datetime) -> datetime:
    """When the last of both Services was made: now, if one is still to come."""
    found = [observed.services.get(name) for name in services.wanted(observed).values()]
    times = [each.metadata.creation_timestamp for each in found if each]
    known = [at for at in times if at]
    return max(known) if len(known) == len(found) else now
