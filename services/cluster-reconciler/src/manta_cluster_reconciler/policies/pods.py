"""The order in which the pods of a cluster are looked at: suspension, upgrade, gang, head, workers."""

from collections.abc import Sequence
from datetime import datetime

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, DeletePod, Halt, Patch, Phase, Tell, Told
from manta_cluster_reconciler.observed import Observed, is_terminating
from manta_cluster_reconciler.policies import gang, head, workers
from manta_cluster_reconciler.rules import Rules
from manta_cluster_reconciler.status import SUSPENDED
from manta_common.kinds import POD
from manta_common.ray.hashes import head_verdict, recreate_annotations


def phases(observed: Observed, rules: Rules, now: datetime) -> list[Phase]:
    """What is to be done about a cluster's pods."""
    if is_suspending(observed, rules):
        return [_suspension(observed)]
    if rules.ray.gates.status_conditions and (observed.is_true(reasons.SUSPENDED) or observed.cluster.spec.suspend):
        return []
    if needs_recreation(observed):
        return recreation(observed)
    return [rewrites(observed), *gang.phases(observed, rules), *_nodes(observed, rules, now)]


def _nodes(observed: Observed, rules: Rules, now: datetime) -> list[Phase]:
    """Head and workers: what must go, then what is missing, the head first; a refused group holds up the next one."""
    leader = head.actions(observed, rules, now)
    if leader is None or any(isinstance(action, DeletePod | Halt) for action in leader):
        return [leader or []]
    groups = workers.by_group(observed, rules, now)
    deletes = [action for group in groups for action in group if isinstance(action, DeletePod)]
    others = [[action for action in group if not isinstance(action, DeletePod)] for group in groups]
    return [deletes, leader, *others]


def is_suspending(observed: Observed, rules: Rules) -> bool:
    """Whether all pods are to go because the cluster is suspended; without the gate the spec alone decides."""
    if rules.ray.gates.status_conditions:
        return observed.is_true(reasons.SUSPENDING)
    return observed.cluster.spec.suspend is True


def _suspension(observed: Observed) -> Sequence[Action]:
    """Delete every pod; a cluster that is suspended while it has none is told of too, once."""
    status, every, cause = observed.cluster.status, "Pods", "suspension"
    told = reasons.deleting_all(observed.key, every=every, cause=cause).done
    begun = observed.is_true(reasons.SUSPENDING) or status.state != SUSPENDED
    if told and begun and not observed.pods and not status.head.pod_name:
        return [Tell(told)]
    return delete_all(observed, every=every, cause=cause)


def needs_recreation(observed: Observed) -> bool:
    """Whether the spec has changed in a way that replaces all pods."""
    return bool(observed.heads) and _verdict(observed) == "recreate"


def recreation(observed: Observed) -> list[Phase]:
    """Delete every pod, the head last: it alone shows that the others are of another spec."""
    heads = {pod.metadata.name for pod in observed.heads}
    deletes = delete_all(observed, every="all Pods", cause="spec change with Recreate upgradeStrategy")
    workers_first = ([each for each in deletes if (each.name in heads) is last] for last in (False, True))
    return list(workers_first)


def rewrites(observed: Observed) -> list[Action]:
    """Take over a head that another version made: its hash was not computed our way."""
    if not observed.heads or _verdict(observed) != "rewrite":
        return []
    pod = observed.heads[0].metadata
    body = {"metadata": {"annotations": recreate_annotations(observed.cluster)}}
    return [Patch(kind=POD, name=pod.name, body=body, version=pod.resource_version)]


def delete_all(observed: Observed, *, every: str, cause: str) -> list[DeletePod]:
    """Delete every pod that is not on its way out already."""
    told: Told = reasons.deleting_all(observed.key, every=every, cause=cause)
    return [
        DeletePod(
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            told=told,
            marker=reasons.FAILED_DELETE_ALL,
            because=cause,
        )
        for pod in observed.pods
        if not is_terminating(pod)
    ]


def _verdict(observed: Observed) -> str:
    return head_verdict(observed.cluster, observed.heads[0].metadata.annotations)
