"""Workers that span several hosts are made and deleted as a whole."""

from datetime import timedelta
from typing import Any

import pytest

from manta_cluster_reconciler.actions import Action, CreatePod, DeletePod
from manta_cluster_reconciler.observed import Memory, Setback
from manta_cluster_reconciler.policies import workers
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_common.ray.settings import RaySettings
from tests.unit.manta_cluster_reconciler.scenes import (
    FAILED,
    NOW,
    RULES,
    cluster,
    created,
    deleted,
    flat,
    groups,
    scene,
    terminating,
    worker,
)


def sized(replicas: int, **fields: Any) -> RayCluster:
    return cluster(groups({"groupName": "small", "replicas": replicas, "numOfHosts": 2, **fields}))


def pods(of: RayCluster, *numbers: int) -> list[Pod]:
    return [worker(of, number) for number in numbers]


def names(of: RayCluster, *numbers: int) -> list[str]:
    return [pod.metadata.name for pod in pods(of, *numbers)]


def decided(of: RayCluster, *found: Pod, rules: Rules = RULES, memory: Memory | None = None) -> list[Action]:
    return flat(workers.by_group(scene(of, *found, memory=memory), rules, NOW))


def reason(action: Action) -> str:
    assert isinstance(action, DeletePod)
    assert action.told.done is not None
    return action.told.done.note


def test_a_slice_is_made_host_by_host_with_one_name() -> None:
    of = sized(1)
    found = decided(of)
    assert created(found) == names(of, 0, 1)
    marks = [action.body["metadata"]["labels"] for action in found if isinstance(action, CreatePod)]
    assert [mark["ray.io/replica-host-index"] for mark in marks] == ["0", "1"]
    assert {mark["ray.io/worker-group-replica-index"] for mark in marks} == {"0"}
    assert len({mark["ray.io/worker-group-replica-name"] for mark in marks}) == 1


def test_a_new_slice_takes_the_lowest_free_index() -> None:
    of = sized(2)
    assert created(decided(of, *pods(of, 2, 3))) == names(of, 0, 1)


def test_whole_slices_are_left_alone() -> None:
    of = sized(2)
    assert decided(of, *pods(of, 0, 1, 2, 3)) == []


def test_what_is_left_of_a_slice_is_deleted() -> None:
    of = sized(2)
    found = decided(of, *pods(of, 0, 1, 2))
    assert deleted(found) == names(of, 2)
    assert created(found) == []
    assert reason(found[0]) == (
        f"Deleted worker Pod ns/{names(of, 2)[0]} for group small: cleanup of incomplete multi-host group"
    )


def test_a_slice_goes_with_its_failed_host() -> None:
    of = sized(1)
    found = decided(of, worker(of, 0), worker(of, 1, FAILED))
    assert deleted(found) == names(of, 0, 1)
    assert "is Failed" in reason(found[0])


def test_a_slice_that_keeps_failing_waits() -> None:
    of = sized(1)
    memory = Memory(setbacks={"small/0": Setback(2, NOW - timedelta(seconds=5))})
    due_at = NOW + timedelta(seconds=15)
    assert decided(of, worker(of, 0), worker(of, 1, FAILED), memory=memory) == [Recheck(due_at)]


def test_a_failed_slice_is_replaced_as_soon_as_it_is_gone() -> None:
    of = sized(1)
    [first, _] = decided(of, worker(of, 0), worker(of, 1, FAILED))
    assert isinstance(first, DeletePod)
    memory = Memory(setbacks={first.slot: Setback(1, NOW)})
    assert len(created(decided(of, memory=memory))) == 2


def test_a_slice_that_was_refused_waits_before_it_is_made_again() -> None:
    of = sized(1)
    [first, _] = decided(of)
    assert isinstance(first, CreatePod)
    memory = Memory(setbacks={first.slot: Setback(2, NOW - timedelta(seconds=5))})
    assert decided(of, memory=memory) == [Recheck(NOW + timedelta(seconds=15))]


def test_a_slice_goes_with_a_host_that_is_named() -> None:
    of = sized(1, scaleStrategy={"workersToDelete": [*names(sized(2), 3), "nobody"]})
    found = decided(of, *pods(of, 0, 1, 2, 3))
    assert deleted(found) == names(of, 2, 3)
    assert reason(found[0]).endswith("for group small: autoscaler scale-down request")


def test_surplus_slices_go_as_a_whole() -> None:
    of = sized(1)
    found = decided(of, *pods(of, 0, 1), worker(of, 2, {"phase": "Pending", "conditions": []}), worker(of, 3))
    assert deleted(found) == names(of, 2, 3)
    assert reason(found[0]).endswith("for group small: scaling down")


def test_surplus_slices_stay_where_the_autoscaler_chooses() -> None:
    spec = {"groupName": "small", "replicas": 1, "numOfHosts": 2}
    of = cluster(groups(spec) | {"enableInTreeAutoscaling": True})
    assert decided(of, *pods(of, 0, 1, 2, 3)) == []


def test_a_slice_on_its_way_out_counts_until_it_is_gone() -> None:
    of = sized(1)
    going = [worker(of, number, **terminating()) for number in (0, 1)]
    assert decided(of, *going) == []
    assert decided(of, going[0]) == []


def test_pods_without_a_slice_are_neither_counted_nor_deleted() -> None:
    of = sized(1)
    stray = worker(of, 0, labels={"ray.io/group": "small"}, generateName="x-")
    found = decided(of, stray)
    assert deleted(found) == []
    assert len(created(found)) == 2


@pytest.mark.parametrize("hosts", [2, 3])
def test_without_the_gate_every_host_is_a_pod_of_its_own(hosts: int) -> None:
    rules = Rules(ray=RaySettings(gates=Gates(multi_host_indexing=False)))
    of = sized(2, numOfHosts=hosts)
    found = decided(of, rules=rules)
    assert len(created(found)) == 2 * hosts
    assert all(
        "ray.io/replica-host-index" not in one.body["metadata"]["labels"] for one in found if isinstance(one, CreatePod)
    )
