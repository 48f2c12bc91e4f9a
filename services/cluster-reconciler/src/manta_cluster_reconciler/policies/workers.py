"""The worker groups: as many pods as are wanted, the failed replaced, the named and the surplus deleted."""

from collections.abc import Sequence
from datetime import datetime

from manta_cluster_reconciler import manifests, reasons
from manta_cluster_reconciler.actions import Action, Tell
from manta_cluster_reconciler.observed import Observed, is_failed, is_terminating
from manta_cluster_reconciler.policies import certificates, deeds, setbacks, slices
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.deeds import Recheck
from manta_common.ray.cluster import is_autoscaling
from manta_common.ray.sums import distinct, group_replicas


def by_group(observed: Observed, rules: Rules, now: datetime) -> list[list[Action]]:
    """What is to be done about each group, in their order; pods of groups that are not in the spec any more stay."""
    groups = distinct(observed.cluster.spec.worker_group_specs)
    return [_group_actions(observed, group, rules=rules, now=now) for group in groups]


def may_choose(observed: Observed, rules: Rules) -> bool:
    """Whether the operator may choose workers to delete: not where the autoscaler names them."""
    return not is_autoscaling(observed.cluster) or rules.random_pod_delete


def _group_actions(observed: Observed, group: WorkerGroupSpec, *, rules: Rules, now: datetime) -> list[Action]:
    if group.suspend:
        return _suspended(observed, group)
    if group.num_of_hosts > 1 and rules.ray.gates.multi_host_indexing:
        shrinks = may_choose(observed, rules)
        return slices.actions(slices.Group(observed, group, rules), now=now, may_choose=shrinks)
    return _single_hosts(observed, group, rules=rules, now=now)


def _suspended(observed: Observed, group: WorkerGroupSpec) -> list[Action]:
    """Delete the group's pods; that it is suspended is told once for each spec, also where it has none."""
    told, found = reasons.deleting_group(observed.key, group.group_name), observed.group(group.group_name)
    new = observed.fetched.fresh and observed.cluster.status.observed_generation != observed.cluster.metadata.generation
    if not found and new and told.done:
        return [Tell(told.done)]
    alive = [pod for pod in found if not is_terminating(pod)]
    return [deeds.delete(pod, told, because="the group is suspended") for pod in alive]


def _single_hosts(observed: Observed, group: WorkerGroupSpec, *, rules: Rules, now: datetime) -> list[Action]:
    """A group in which every pod is a worker of its own. Pods on their way out count until they are gone."""
    names = set(group.scale_strategy.workers_to_delete)
    named = [pod for pod in observed.pods if pod.metadata.name in names and not is_terminating(pod)] if names else []
    left = [pod for pod in observed.group(group.group_name) if pod.metadata.name not in names or is_terminating(pod)]
    alive = [pod for pod in left if not is_terminating(pod)]
    expected = group_replicas(group) * max(0, group.num_of_hosts)
    return [
        *_replaced(observed, [pod for pod in alive if is_failed(pod)], now),
        *(_delete_named(pod) for pod in named),
        *_created(observed, group, left=left, count=expected - len(left), rules=rules),
        *_surplus([pod for pod in alive if not is_failed(pod)], expected, allowed=may_choose(observed, rules)),
    ]


def _replaced(observed: Observed, failed: Sequence[Pod], now: datetime) -> list[Action]:
    """Delete failed pods, so that others take their places; later if a place has seen too many already."""
    found: list[Action] = []
    for pod in failed:
        slot = deeds.slot_of(pod)
        due_at = setbacks.due_at(observed.memory.setbacks.get(slot), now)
        told = reasons.deleting_failed(pod, "worker")
        found.append(Recheck(due_at) if due_at > now else deeds.delete(pod, told, because="failed", slot=slot))
    return found


def _delete_named(pod: Pod) -> Action:
    told = reasons.deleting_worker(f"pod {deeds.key_of(pod)}")
    return deeds.delete(pod, told, because="named in workersToDelete")


def _created(
    observed: Observed, group: WorkerGroupSpec, *, left: Sequence[Pod], count: int, rules: Rules
) -> list[Action]:
    if count <= 0:
        return []
    waiting = certificates.halt(observed, rules)
    if waiting:
        return [waiting]
    used = [replica for pod in left if (replica := deeds.replica_of(pod)) is not None]
    replicas = deeds.free_replicas(used, min(count, rules.creates_per_pass))
    return deeds.create(observed, manifests.worker_pods(observed, group, replicas=replicas, hosts=1, rules=rules))


def _surplus(staying: Sequence[Pod], expected: int, *, allowed: bool) -> list[Action]:
    """Delete what is too much, where that is for the operator to choose."""
    excess = len(staying) - expected
    if excess <= 0 or not allowed:
        return []
    units = deeds.most_dispensable([pod] for pod in staying)[:excess]
    told = [(pod, reasons.deleting_worker(f"Pod {deeds.key_of(pod)}")) for unit in units for pod in unit]
    return [deeds.delete(pod, words, because="more workers than wanted") for pod, words in told]
