"""The end of a cluster whose state is in Redis: heads, workers, the clean-up, and only then the object. Pure."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.api import annotations
from manta_common.api.core import Job
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.gotext import GoError, parse_int
from manta_common.phases import Phase
from manta_common.ray.cluster import has_redis
from manta_janitor.actions import ClusterAction, CreateCleanup, DeletePod, Recheck, RemoveFinalizer
from manta_janitor.observed import Fading, JanitorSettings, Node

PATIENCE_SECONDS: Final = 300
_BECAUSE: Final = "the cluster is deleted"
_FINISHED: Final = frozenset({"Complete", "Failed", "FailureTarget"})


def decide(fading: Fading, settings: JanitorSettings, now: datetime) -> list[Phase[ClusterAction]]:
    """Return what is to be done for a cluster that is deleted; nothing for one that is not, or not ours."""
    meta = fading.cluster.metadata
    if meta.deletion_timestamp is None or fading.cluster.spec.managed_by not in {None, MANAGED_BY_KUBERAY}:
        return []
    has_finalizer = annotations.CLUSTER_FINALIZER in meta.finalizers
    if not has_finalizer:
        return []
    if not (settings.cleans_redis and has_redis(fading.cluster)):
        return [[RemoveFinalizer("there is nothing to clean up in Redis")]]
    pods = [*_deletions(fading.heads), *_deletions(fading.workers)]
    deadline = meta.deletion_timestamp + timedelta(seconds=patience_seconds(fading.cluster.metadata.annotations))
    return [phase for phase in (pods, _cleaned(fading, deadline, now)) if phase]


def patience_seconds(marks: dict[str, str]) -> int:
    """How long the clean-up may take; what is not a positive number does not count."""
    try:
        seconds = parse_int(marks.get(annotations.GCS_FT_DELETION_TIMEOUT, ""))
    except GoError:
        return PATIENCE_SECONDS
    return seconds if seconds > 0 else PATIENCE_SECONDS


def is_finished(job: Job) -> bool:
    """Whether the clean-up has come to an end, good or bad."""
    return any(each.type in _FINISHED and each.status == "True" for each in job.status.conditions)


def _cleaned(fading: Fading, deadline: datetime, now: datetime) -> list[ClusterAction]:
    """Once no head is left: the deadline, then the Job. A head that will not go is waited for."""
    if fading.heads:
        return []
    if now >= deadline:
        return [RemoveFinalizer("the clean-up took too long", forced=True)]
    if fading.cleanup is None:
        return [CreateCleanup(), Recheck(deadline)]
    if is_finished(fading.cleanup):
        return [RemoveFinalizer("the clean-up has finished")]
    return [Recheck(deadline)]


def _deletions(nodes: tuple[Node, ...]) -> list[DeletePod]:
    return [
        DeletePod(node.metadata.name, node.metadata.uid, _BECAUSE)
        for node in nodes
        if node.metadata.deletion_timestamp is None
    ]
