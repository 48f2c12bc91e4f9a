"""The finalizer of clusters whose Redis is to be cleaned up; it is there before any child, and the janitor takes it."""

from manta_cluster_reconciler.actions import AddFinalizer
from manta_cluster_reconciler.observed import Observed
from manta_cluster_reconciler.rules import Rules
from manta_common.api.annotations import CLUSTER_FINALIZER
from manta_common.ray.cluster import has_redis


def actions(observed: Observed, rules: Rules) -> list[AddFinalizer]:
    """Add it where it is missing."""
    if not rules.redis_cleanup or not has_redis(observed.cluster):
        return []
    missing = CLUSTER_FINALIZER not in observed.cluster.metadata.finalizers
    return [AddFinalizer(CLUSTER_FINALIZER)] if missing else []
