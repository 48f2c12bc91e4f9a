"""The clusters of a RayService: made under the name in the status, changed in place, and deleted when not needed."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from manta_common.api import names
from manta_common.api.raycluster import RayCluster
from manta_serve_reconciler.actions import Action, CreateCluster, DeleteCluster, UpdateCluster
from manta_serve_reconciler.observed import Observed, Side
from manta_serve_reconciler.policies import goals


def actions(observed: Observed) -> tuple[Action, ...]:
    """Make the cluster to come, or bring what is there to the spec in place."""
    pending = observed.pending
    if pending.name and pending.cluster is None:
        return (CreateCluster(pending.name),)
    if goals.is_active_outdated(observed):
        return (UpdateCluster(observed.active.name, "active"),)
    if goals.is_pending_outdated(observed):
        return (UpdateCluster(pending.name, "pending"),)
    return ()


def changed(observed: Observed, changes: Iterable[Action]) -> Observed:
    """The same when clusters have been brought to the spec in place."""
    roles = {change.role for change in changes if isinstance(change, UpdateCluster)}
    if not roles:
        return observed
    active, pending = (_brought(observed, side) if side.role in roles else side for side in observed.sides)
    return msgspec.structs.replace(observed, active=active, pending=pending)


def new_name(observed: Observed) -> str:
    """The name of the next cluster: the same for whoever decides now, and none that a cluster of ours has borne."""
    meta, status = observed.service.metadata, observed.status
    before = status.active_service_status.ray_cluster_name, status.pending_service_status.ray_cluster_name
    taken = {cluster.metadata.name for cluster in observed.clusters} | set(before)
    life = 0
    while True:
        name = names.suffixed(meta.name, meta.uid, str(meta.generation), *before, str(life))
        if name not in taken:
            return name
        life += 1


def removals(observed: Observed, now: datetime) -> tuple[tuple[Action, ...], tuple[datetime, ...]]:
    """Delete the clusters whose time is over; and when that of the others is."""
    due = [
        (observed.doomed[each.metadata.uid], each) for each in observed.clusters if each.metadata.uid in observed.doomed
    ]
    over = tuple(_removal(each, "it is replaced") for at, each in due if at <= now and not _is_going(each))
    return over, tuple(at for at, _ in due if at > now)


def farewells(observed: Observed, because: str, *, suspending: bool = False) -> tuple[Action, ...]:
    """Delete every cluster that does not go already."""
    left = (each for each in observed.clusters if not _is_going(each))
    return tuple(_removal(each, because, suspending=suspending) for each in left)


def _brought(observed: Observed, side: Side) -> Side:
    if side.cluster is None:
        return side
    meta = side.cluster.metadata
    marked = {**meta.annotations, **goals.marks(observed.spec.ray_cluster_config)}
    about = msgspec.structs.replace(meta, annotations=marked)
    return msgspec.structs.replace(side, cluster=msgspec.structs.replace(side.cluster, metadata=about))


def _removal(cluster: RayCluster, because: str, *, suspending: bool = False) -> Action:
    return DeleteCluster(cluster.metadata.name, cluster.metadata.uid, because, suspending)


def _is_going(cluster: RayCluster) -> bool:
    return cluster.metadata.deletion_timestamp is not None
