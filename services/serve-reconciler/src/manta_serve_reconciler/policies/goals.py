"""Whether a cluster is what the spec asks for, can be brought to it in place, or must be replaced by another one."""

import msgspec

from manta_common.api import annotations
from manta_common.api.raycluster import RayCluster, RayClusterSpec
from manta_common.ray import hashes
from manta_serve_reconciler import conditions, reasons
from manta_serve_reconciler.observed import Observed, ServeSettings

# The hash of ours is not KubeRay's: under a version of our own each operator takes the other's clusters over in place.
VERSION = hashes.VERSION


def cluster_hash(spec: RayClusterSpec) -> str:
    """32 characters that change with all of the spec that needs another cluster."""
    return hashes.recreate_hash(msgspec.structs.replace(spec, suspend=None))


def marks(spec: RayClusterSpec) -> dict[str, str]:
    """The annotations by which a cluster tells what it was made from."""
    return {
        annotations.CLUSTER_HASH: cluster_hash(spec),
        annotations.NUM_WORKER_GROUPS: str(len(spec.worker_group_specs)),
        annotations.KUBERAY_VERSION: VERSION,
    }


def is_same(cluster: RayCluster, goal: RayClusterSpec) -> bool:
    """Whether the cluster was made from this spec, but for what needs no other cluster."""
    return cluster.metadata.annotations.get(annotations.CLUSTER_HASH, "") == cluster_hash(goal)


def is_extended(cluster: RayCluster, goal: RayClusterSpec) -> bool:
    """Whether the spec only adds worker groups at the end, if anything; also when nobody knows how many there were."""
    known = cluster.metadata.annotations
    text = known.get(annotations.NUM_WORKER_GROUPS, "")
    if not text.isdecimal():
        return True
    count = int(text)
    if len(goal.worker_group_specs) < count:
        return not known.get(annotations.CLUSTER_HASH)
    cut = msgspec.structs.replace(goal, worker_group_specs=goal.worker_group_specs[:count])
    return is_same(cluster, cut)


def is_active_outdated(observed: Observed) -> bool:
    """Whether the cluster that serves is to be changed in place."""
    cluster = observed.active.cluster
    if cluster is None or conditions.holds(observed.status, reasons.UPGRADE_IN_PROGRESS):
        return False
    if cluster.metadata.annotations.get(annotations.KUBERAY_VERSION) != VERSION:
        return True
    return _is_changed_in_place(cluster, observed.spec.ray_cluster_config)


def is_pending_outdated(observed: Observed) -> bool:
    """Whether the cluster to come is to be changed in place."""
    cluster = observed.pending.cluster
    return cluster is not None and _is_changed_in_place(cluster, observed.spec.ray_cluster_config)


def has_zero_downtime(observed: Observed, settings: ServeSettings) -> bool:
    """Whether a changed cluster means a new one."""
    strategy = observed.spec.upgrade_strategy
    chosen = strategy.type if strategy else None
    if chosen is None:
        return settings.zero_downtime
    return chosen == "NewCluster" or observed.is_incremental(settings)


def needs_new_cluster(observed: Observed, settings: ServeSettings, *, beside_pending: bool = True) -> bool:
    """Whether another cluster is to be made; `beside_pending` compares with the cluster to come if there is one."""
    if conditions.holds(observed.status, reasons.ROLLBACK_IN_PROGRESS):
        return False
    pending = observed.pending.cluster if beside_pending else None
    found, goal = pending or observed.active.cluster, observed.spec.ray_cluster_config
    if found is None:
        return True
    if is_same(found, goal) or is_extended(found, goal):
        return False
    return has_zero_downtime(observed, settings) and not is_given_up(observed)


def is_given_up(observed: Observed) -> bool:
    """Whether an upgrade to this very spec has failed already; another edit is another try."""
    failed = conditions.find(observed.status, reasons.UPGRADE_FAILED)
    is_about_it = failed is not None and failed.observed_generation == observed.service.metadata.generation
    return is_about_it and conditions.holds(observed.status, reasons.UPGRADE_FAILED)


def _is_changed_in_place(cluster: RayCluster, goal: RayClusterSpec) -> bool:
    return not is_same(cluster, goal) and is_extended(cluster, goal)
