"""Worker groups have as many pods as they should, and each pod goes for a reason."""

from datetime import timedelta
from typing import Any

import pytest

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, DeletePod, Tell
from manta_cluster_reconciler.observed import Memory, Setback
from manta_cluster_reconciler.policies import workers
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from tests.examples.example import Json
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

AUTOSCALED: Json = {"enableInTreeAutoscaling": True}


def decided(of: RayCluster, *pods: Pod, rules: Rules = RULES, memory: Memory | None = None) -> list[Action]:
    return flat(workers.by_group(scene(of, *pods, memory=memory), rules, NOW))


def sized(replicas: int, **fields: Any) -> RayCluster:
    return cluster(groups({"groupName": "small", "replicas": replicas, **fields}))


def names(of: RayCluster, *numbers: int, life: int = 0) -> list[str]:
    return [worker(of, number, life=life).metadata.name for number in numbers]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({"replicas": 3}, 3, id="replicas"),
        pytest.param({"replicas": 9, "maxReplicas": 5}, 5, id="no more than the most"),
        pytest.param({"replicas": 0, "minReplicas": 2}, 2, id="no fewer than the least"),
        pytest.param({"replicas": None, "minReplicas": 1}, 1, id="the least where nothing is said"),
        pytest.param({"replicas": 2, "numOfHosts": 0}, 0, id="none without hosts"),
        pytest.param({"replicas": 2, "suspend": True}, 0, id="none while the group is suspended"),
    ],
)
def test_a_group_gets_the_pods_it_should_have(fields: Json, wanted: int) -> None:
    of = cluster(groups({"groupName": "small", **fields}))
    assert len(created(decided(of))) == wanted


def test_missing_workers_take_the_lowest_free_places() -> None:
    of = sized(4)
    assert created(decided(of, worker(of, 1), worker(of, 3))) == names(of, 0, 2)


def test_a_name_that_somebody_bears_or_that_is_to_be_deleted_is_not_used_again() -> None:
    of = sized(1, scaleStrategy={"workersToDelete": names(sized(1), 0, life=1)})
    memory = Memory(taken=frozenset(names(of, 0)))
    assert created(decided(of, memory=memory)) == names(of, 0, life=2)


def test_a_pod_on_its_way_out_counts_until_it_is_gone() -> None:
    of = sized(2)
    assert decided(of, worker(of, 0), worker(of, 1, **terminating())) == []
    assert created(decided(of, worker(of, 0))) == names(of, 1)


def test_a_failed_pod_is_deleted_and_replaced_when_it_is_gone() -> None:
    of = sized(1)
    found = decided(of, worker(of, 0, FAILED))
    assert deleted(found) == names(of, 0)
    assert created(found) == []
    assert isinstance(found[0], DeletePod)
    assert found[0].slot == "small/0"
    assert found[0].told.done is not None
    assert found[0].told.done.note == (
        f"Deleted worker Pod ns/{names(of, 0)[0]}; Pod status: Failed; Pod restart policy: Always; "
        "Ray container terminated status: nil"
    )


@pytest.mark.parametrize(
    ("count", "since", "due"),
    [
        pytest.param(1, timedelta(seconds=9), timedelta(seconds=10), id="ten seconds after the first time"),
        pytest.param(3, timedelta(seconds=39), timedelta(seconds=40), id="twice as long each time"),
        pytest.param(30, timedelta(minutes=4), timedelta(minutes=5), id="five minutes at the longest"),
    ],
)
def test_a_slot_that_keeps_failing_waits_longer_and_longer(count: int, since: timedelta, due: timedelta) -> None:
    of = sized(1)
    memory = Memory(setbacks={"small/0": Setback(count, NOW - since)})
    assert decided(of, worker(of, 0, FAILED), memory=memory) == [Recheck(NOW - since + due)]


@pytest.mark.parametrize("since", [timedelta(seconds=11), timedelta(minutes=11)], ids=["it is due", "it is long ago"])
def test_a_slot_is_tried_again(since: timedelta) -> None:
    of = sized(1)
    memory = Memory(setbacks={"small/0": Setback(1, NOW - since)})
    assert deleted(decided(of, worker(of, 0, FAILED), memory=memory)) == names(of, 0)


@pytest.mark.parametrize(
    ("patch", "rules", "expected"),
    [
        pytest.param({}, RULES, 2, id="without the autoscaler"),
        pytest.param(AUTOSCALED, RULES, 0, id="not with the autoscaler, which names them"),
        pytest.param(AUTOSCALED, Rules(random_pod_delete=True), 2, id="with the autoscaler if that is allowed"),
    ],
)
def test_surplus_workers_are_deleted(patch: Json, rules: Rules, expected: int) -> None:
    of = cluster(groups({"groupName": "small", "replicas": 1}) | patch)
    assert len(deleted(decided(of, *(worker(of, number) for number in range(3)), rules=rules))) == expected


def test_surplus_workers_that_are_not_ready_go_first_then_the_newest() -> None:
    of = sized(1)
    old, new = NOW - timedelta(hours=5), NOW - timedelta(hours=1)
    pods = [
        worker(of, 0, creationTimestamp=new),
        worker(of, 1, creationTimestamp=old),
        worker(of, 2, {"phase": "Pending", "conditions": []}, creationTimestamp=old),
    ]
    assert deleted(decided(of, *pods)) == names(of, 2, 0)


def test_what_is_on_its_way_out_is_part_of_the_surplus() -> None:
    of = sized(1)
    assert decided(of, worker(of, 0), worker(of, 1, **terminating())) == []
    assert deleted(decided(of, worker(of, 0), worker(of, 1), worker(of, 2, FAILED))) == names(of, 2, 1)


def test_named_workers_are_deleted_whatever_the_number_and_replaced_under_another_name() -> None:
    of = sized(2, scaleStrategy={"workersToDelete": [*names(sized(2), 0), "nobody"]})
    found = decided(of, worker(of, 0), worker(of, 1))
    assert deleted(found) == names(of, 0)
    assert created(found) == names(of, 0, life=1)
    assert isinstance(found[0], DeletePod)
    assert found[0].told.done is not None
    assert found[0].told.done.note == f"Deleted pod ns/{names(of, 0)[0]}"


def test_the_autoscaler_takes_named_workers_away_with_their_number() -> None:
    spec = {"groupName": "small", "replicas": 1, "scaleStrategy": {"workersToDelete": names(sized(2), 0)}}
    of = cluster(groups(spec) | AUTOSCALED)
    found = decided(of, worker(of, 0), worker(of, 1))
    assert deleted(found) == names(of, 0)
    assert created(found) == []


def test_a_suspended_group_loses_its_pods_and_others_do_not() -> None:
    of = cluster(groups({"replicas": 2, "suspend": True}, {"replicas": 1}))
    pods = [worker(of, 0, group="a"), worker(of, 1, group="a", **terminating()), worker(of, 0, group="b")]
    found = decided(of, *pods)
    assert deleted(found) == [pods[0].metadata.name]
    assert isinstance(found[0], DeletePod)
    assert found[0].told.done is not None
    assert found[0].told.done.note == "Deleted all pods for suspended worker group a in RayCluster ns/demo"


@pytest.mark.parametrize(
    ("seen", "told"), [pytest.param(0, True, id="a new spec"), pytest.param(1, False, id="a spec that was seen before")]
)
def test_the_suspension_of_a_group_without_pods_is_told_once(seen: int, told: bool) -> None:
    of = cluster(groups({"replicas": 2, "suspend": True}), status={"observedGeneration": seen})
    note = "Deleted all pods for suspended worker group a in RayCluster ns/demo"
    assert decided(of) == ([Tell(reasons.normal("DeletedWorkerPod", "Delete", note))] if told else [])
    assert decided(of, worker(of, 0, group="a", **terminating())) == []


def test_pods_of_a_group_that_is_not_in_the_spec_stay() -> None:
    of = cluster(groups({"replicas": 0}))
    assert decided(of, worker(of, 0, group="removed")) == []


def test_of_groups_with_one_name_the_first_counts() -> None:
    of = cluster(groups({"groupName": "small", "replicas": 1}, {"groupName": "small", "replicas": 3}))
    assert len(created(decided(of))) == 1


def test_a_pass_creates_a_limited_number() -> None:
    of = sized(9, maxReplicas=9)
    assert len(created(decided(of, rules=Rules(creates_per_pass=4)))) == 4


def test_pods_that_another_operator_made_without_an_index_count_but_hold_no_place() -> None:
    of = sized(2)
    stranger = worker(of, 0, generateName="demo-small-worker-", labels={"ray.io/group": "small"})
    assert created(decided(of, stranger)) == names(of, 0, life=1)
