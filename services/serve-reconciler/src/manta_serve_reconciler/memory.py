"""What one replica remembers of clusters beyond what can be seen; all of it may be lost at any time."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService
from manta_common.plane import Item
from manta_serve_reconciler.observed import Submitted

DELAY_SECONDS: Final = 60


class Memory:
    """By RayService and uid of a cluster: what Serve was told, and when a cluster that is not needed is to go."""

    def __init__(self) -> None:
        self._submitted: dict[Item, dict[str, Submitted]] = {}
        self._doomed: dict[Item, dict[str, datetime]] = {}

    def submitted(self, item: Item) -> dict[str, Submitted]:
        """What Serve was told."""
        return self._submitted.get(item, {})

    def doomed(self, item: Item) -> dict[str, datetime]:
        """When clusters are to be deleted."""
        return self._doomed.get(item, {})

    def told(self, item: Item, uid: str, what: Submitted) -> None:
        """Serve was told something, or did not take it."""
        self._submitted.setdefault(item, {})[uid] = what

    def saw(self, item: Item, service: RayService, clusters: Iterable[RayCluster], now: datetime) -> None:
        """The clusters as they are now: those that no status names are to go after the delay that counts now."""
        status, uids = service.status, set[str]()
        named = {status.active_service_status.ray_cluster_name, status.pending_service_status.ray_cluster_name}
        delay = service.spec.ray_cluster_deletion_delay_seconds
        at = now + timedelta(seconds=DELAY_SECONDS if delay is None else delay)
        doomed: dict[str, datetime] = {}
        for cluster in clusters:
            uid = cluster.metadata.uid
            uids.add(uid)
            if cluster.metadata.name not in named:
                doomed[uid] = self.doomed(item).get(uid, at)
        self._doomed[item] = doomed
        self._submitted[item] = {uid: what for uid, what in self.submitted(item).items() if uid in uids}

    def forget(self, item: Item) -> None:
        """There is no such RayService any more."""
        self._submitted.pop(item, None)
        self._doomed.pop(item, None)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these RayServices from now on; what comes of them is not heard here."""
        for item in [item for item in {**self._submitted, **self._doomed} if belongs(item)]:
            self.forget(item)
