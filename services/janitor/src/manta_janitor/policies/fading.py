"""The end of a cluster whose state is in Redis: heads, workers, the clean-up, and only then the object. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from manta_common.api import annotations, labels
from manta_common.api.core import Job
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_common.gotext import GoError, parse_int
from manta_common.phases import Phase
from manta_common.ray.cluster import has_redis
from manta_janitor.actions import CleanRedis, ClusterAction, CreateCleanup, DeletePod, RemoveFinalizer
from manta_janitor.observed import Fading, JanitorSettings, Node

REDIS_CLEANUP: Final = "ray.io/gcs-ft-redis-cleanup"  # ours: "false" keeps the keys of one cluster
LONGEST_SECONDS: Final = 2**31 - 1  # 68 years; a number of seconds may be beyond what times can tell
_BECAUSE: Final = "the cluster is deleted"
_FINISHED: Final = frozenset({"Complete", "Failed", "FailureTarget"})


def decide(fading: Fading, settings: JanitorSettings, now: datetime) -> list[Phase[ClusterAction]]:
    """Return what is to be done for a cluster that is deleted; nothing for one that is not, or not ours."""
    meta = fading.cluster.metadata
    if meta.deletion_timestamp is None or fading.cluster.spec.managed_by not in {None, MANAGED_BY_KUBERAY}:
        return []
    if annotations.CLUSTER_FINALIZER not in meta.finalizers:
        return []
    if not is_cleaned(fading.cluster, settings):
        return [[RemoveFinalizer("there is nothing to clean up in Redis")]]
    patience = timedelta(seconds=patience_seconds(meta.annotations, settings.patience_seconds))
    deadline = meta.deletion_timestamp + patience
    pods: Phase[ClusterAction] = [*_deletions(fading.heads), *_deletions(fading.workers)]
    if fading.heads:  # one that will not go holds up the deadline too
        return [pods] if pods else []
    if now >= deadline:
        return [[RemoveFinalizer("the clean-up took too long", forced=True)]]
    # The deadline is noted first, so that what cannot be deleted or begun does not outlive it.
    return [phase for phase in ([Recheck(deadline)], pods, *_cleaned(fading, settings)) if phase]


def is_cleaned(cluster: RayCluster, settings: JanitorSettings) -> bool:
    """Whether a cluster's keys are removed from Redis: unless the installation or the cluster itself opts out."""
    opted_out = cluster.metadata.annotations.get(REDIS_CLEANUP, "").lower() == labels.FALSE
    return settings.cleans_redis != "none" and has_redis(cluster) and not opted_out


def patience_seconds(marks: Mapping[str, str], usual: int) -> int:
    """How long the clean-up may take; what is not a positive number does not count."""
    try:
        seconds = parse_int(marks.get(annotations.GCS_FT_DELETION_TIMEOUT, ""))
    except GoError:
        return usual
    return min(seconds, LONGEST_SECONDS) if seconds > 0 else usual


def is_finished(job: Job) -> bool:
    """Whether the clean-up has come to an end, good or bad."""
    return any(each.type in _FINISHED and each.status == "True" for each in job.status.conditions)


def is_controlled_by(job: Job, uid: str) -> bool:
    """Whether it is this cluster's, not that of another which bore the same name."""
    return any(owner.controller and owner.uid == uid for owner in job.metadata.owner_references)


def _cleaned(fading: Fading, settings: JanitorSettings) -> list[Phase[ClusterAction]]:
    """The clean-up by a Job or by ourselves, and then the end."""
    done = RemoveFinalizer("the clean-up has finished")
    if settings.cleans_redis == "janitor":
        return [[CleanRedis()], [done]]
    if fading.cleanup is None:
        return [[CreateCleanup()]]
    is_over = is_controlled_by(fading.cleanup, fading.cluster.metadata.uid) and is_finished(fading.cleanup)
    return [[done]] if is_over else []


def _deletions(nodes: tuple[Node, ...]) -> list[DeletePod]:
    return [
        DeletePod(node.metadata.name, node.metadata.uid, _BECAUSE)
        for node in nodes
        if node.metadata.deletion_timestamp is None
    ]
