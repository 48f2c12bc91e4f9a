"""Worker groups whose workers span several hosts: such a worker, a slice, is made and deleted as a whole."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from manta_cluster_reconciler import manifests, reasons
from manta_cluster_reconciler.actions import Action
from manta_cluster_reconciler.observed import Observed, Setback, is_failed, is_terminating
from manta_cluster_reconciler.policies import certificates, deeds, setbacks
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.labels import REPLICA_NAME
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.deeds import Recheck
from manta_common.ray.sums import group_replicas

INCOMPLETE: Final = "cleanup of incomplete multi-host group"
NAMED: Final = "autoscaler scale-down request"
SURPLUS: Final = "scaling down"
Slice = Sequence[Pod]


class Group(msgspec.Struct, frozen=True):
    """One such group of one cluster."""

    observed: Observed
    spec: WorkerGroupSpec
    rules: Rules

    @property
    def slices(self) -> list[Slice]:
        """The pods by slice; those that do not tell theirs are neither counted nor deleted."""
        found: dict[str, list[Pod]] = {}
        for pod in self.observed.group(self.spec.group_name):
            name = pod.metadata.labels.get(REPLICA_NAME)
            if name:
                found.setdefault(name, []).append(pod)
        return list(found.values())


def actions(group: Group, *, now: datetime, may_choose: bool) -> list[Action]:
    """What is to be done about the group; a slice on its way out counts until it is gone."""
    found: list[Action] = []
    slices, staying = group.slices, list[Slice]()
    for members in slices:
        leaving = list(_farewell(group, members, now))
        found += leaving
        if not leaving and not all(is_terminating(pod) for pod in members):
            staying.append(members)
    wanted = group_replicas(group.spec)
    found += _created(group, slices, wanted - len(slices), now)
    if may_choose:
        for members in deeds.most_dispensable(staying)[: max(0, len(staying) - wanted)]:
            found += _delete(group, members, SURPLUS)
    return found


def _farewell(group: Group, members: Slice, now: datetime) -> Iterator[Action]:
    """Delete a slice that is not whole, has failed or was named; a failed one later if it did so too often."""
    names = group.spec.scale_strategy.workers_to_delete
    failed = [pod for pod in members if is_failed(pod) and not is_terminating(pod)]
    if len(members) < group.spec.num_of_hosts:
        yield from _delete(group, members, INCOMPLETE)
    elif failed:
        slot = deeds.slot_of(members[0])
        due_at = setbacks.due_at(group.observed.memory.setbacks.get(slot), now)
        if due_at > now:
            yield Recheck(due_at)
        else:
            yield from _delete(group, members, reasons.why_failed(failed[0]), slot=slot)
    elif any(pod.metadata.name in names for pod in members):
        yield from _delete(group, members, NAMED)


def _delete(group: Group, members: Slice, because: str, *, slot: str = "") -> Iterator[Action]:
    for pod in members:
        if not is_terminating(pod):
            spoken = f"worker Pod {deeds.key_of(pod)}"
            told = reasons.deleting_worker(spoken, because=f" for group {group.spec.group_name}: {because}")
            yield deeds.delete(pod, told, because=because, slot=slot)


def _created(group: Group, slices: Sequence[Slice], count: int, now: datetime) -> list[Action]:
    """New slices; not where one was refused a moment ago, lest it be made and torn down for ever."""
    if count <= 0:
        return []
    waiting = certificates.halt(group.observed, group.rules)
    if waiting:
        return [waiting]
    hosts = group.spec.num_of_hosts
    used = [replica for members in slices if (replica := deeds.replica_of(members[0])) is not None]
    replicas = deeds.free_replicas(used, min(count, -(-group.rules.creates_per_pass // hosts)))
    due = {replica: setbacks.due_at(_refusal(group, replica), now) for replica in replicas}
    now_due = [replica for replica, at in due.items() if at <= now]
    bodies = manifests.worker_pods(group.observed, group.spec, replicas=now_due, hosts=hosts, rules=group.rules)
    return [*deeds.create(group.observed, bodies), *(Recheck(at) for at in due.values() if at > now)]


def _refusal(group: Group, replica: int) -> Setback | None:
    return group.observed.memory.setbacks.get(deeds.refusal_slot(group.spec.group_name, replica))
