"""The gates before any pod: suspension and upgrade; then the head, then the workers."""

from datetime import timedelta

import pytest

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, DeletePod, Halt, Patch, Phase, Tell
from manta_cluster_reconciler.observed import Memory, Setback
from manta_cluster_reconciler.policies import pods
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_common.ray.hashes import VERSION, recreate_annotations
from manta_common.ray.settings import RaySettings
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
    head,
    scene,
    terminating,
    true,
    worker,
)

RECREATE: Json = {"upgradeStrategy": {"type": "Recreate"}}
UNGATED = Rules(ray=RaySettings(gates=Gates(status_conditions=False)))


def decided(of: RayCluster, *found: Pod, rules: Rules = RULES, memory: Memory | None = None) -> list[Phase]:
    return pods.phases(scene(of, *found, memory=memory), rules, NOW)


def note(action: Action) -> str:
    assert isinstance(action, DeletePod)
    assert action.told.done is not None
    return action.told.done.note


def test_workers_are_made_when_the_head_is() -> None:
    of = cluster()
    assert [created([phase]) for phase in decided(of) if phase] == [
        [head(of).metadata.name],
        [worker(of, 0).metadata.name],
    ]


def test_a_group_waits_until_those_before_it_are_made() -> None:
    of = cluster(groups({"replicas": 2}, {"replicas": 1}))
    made = [created([phase]) for phase in decided(of, head(of)) if phase]
    assert made == [
        [worker(of, number, group="a").metadata.name for number in range(2)],
        [worker(of, 0, group="b").metadata.name],
    ]


def test_what_is_too_much_in_any_group_goes_before_anything_is_made() -> None:
    of = cluster(groups({"replicas": 1}, {"replicas": 0}))
    first, *_ = (phase for phase in decided(of, head(of), worker(of, 0, group="b")) if phase)
    assert deleted([first]) == [worker(of, 0, group="b").metadata.name]


def test_a_cluster_that_is_as_it_should_be_needs_nothing() -> None:
    of = cluster()
    assert flat(decided(of, head(of), worker(of, 0))) == []


@pytest.mark.parametrize(
    ("spec", "status", "rules", "goes"),
    [
        pytest.param({"suspend": True}, {}, RULES, False, id="not before the status says so"),
        pytest.param({"suspend": True}, true("RayClusterSuspending"), RULES, True, id="when the status says so"),
        pytest.param({"suspend": False}, true("RayClusterSuspending"), RULES, True, id="it is not broken off"),
        pytest.param({"suspend": True}, true("RayClusterSuspended"), RULES, False, id="not once it is suspended"),
        pytest.param({"suspend": True}, {}, UNGATED, True, id="by the spec alone without the gate"),
        pytest.param({}, {}, UNGATED, False, id="not without a word"),
    ],
)
def test_all_pods_of_a_suspended_cluster_go(spec: Json, status: Json, rules: Rules, goes: bool) -> None:
    of = cluster(spec, status=status)
    found = [head(of), worker(of, 0), worker(of, 7, group="removed"), worker(of, 1, **terminating())]
    assert deleted(decided(of, *found, rules=rules)) == ([pod.metadata.name for pod in found[:3]] if goes else [])


def test_suspension_is_told_once_for_all_pods() -> None:
    of = cluster(status=true("RayClusterSuspending"))
    notes = {note(action) for action in flat(decided(of, head(of), worker(of, 0)))}
    assert notes == {"Deleted Pods for RayCluster ns/demo due to suspension"}


@pytest.mark.parametrize("status", [true("RayClusterSuspending"), true("RayClusterSuspended")])
def test_nothing_is_made_while_a_cluster_is_suspended(status: Json) -> None:
    assert created(decided(cluster({"suspend": True}, status=status))) == []


@pytest.mark.parametrize(
    ("status", "rules", "told"),
    [
        pytest.param(true("RayClusterSuspending"), RULES, True, id="suspended before it had any"),
        pytest.param(true("RayClusterSuspending") | {"state": "suspended"}, RULES, True, id="and the state says so"),
        pytest.param(true("RayClusterSuspending") | {"head": {"podName": "a"}}, RULES, False, id="its pods are gone"),
        pytest.param(true("RayClusterSuspended"), RULES, False, id="suspended already"),
        pytest.param({}, UNGATED, True, id="without the gate"),
        pytest.param({"state": "suspended"}, UNGATED, False, id="without the gate, suspended already"),
    ],
)
def test_the_suspension_of_a_cluster_without_pods_is_told_too(status: Json, rules: Rules, told: bool) -> None:
    found = flat(decided(cluster({"suspend": True}, status=status), rules=rules))
    note = "Deleted Pods for RayCluster ns/demo due to suspension"
    assert found == ([Tell(reasons.normal("DeletedPod", "Delete", note))] if told else [])


def test_a_changed_spec_replaces_all_pods_where_that_is_asked_for() -> None:
    of, changed = cluster(RECREATE), cluster(RECREATE | {"rayVersion": "2.57.0"})
    found = [head(of), worker(of, 0)]
    assert flat(decided(of, *found)) == []
    assert deleted(decided(changed, *found)) == [pod.metadata.name for pod in reversed(found)]  # the head last
    told = {note(action) for action in flat(decided(changed, *found))}
    assert told == {"Deleted all Pods for RayCluster ns/demo due to spec change with Recreate upgradeStrategy"}


def test_a_changed_spec_replaces_nothing_otherwise() -> None:
    of, changed = cluster(), cluster({"rayVersion": "2.57.0"})
    assert flat(decided(changed, head(of), worker(of, 0))) == []


def test_the_head_of_another_version_is_marked_as_ours_and_nothing_is_recreated() -> None:
    of = cluster(RECREATE)
    marks = {"ray.io/kuberay-version": "v1.6.2", "ray.io/upgrade-strategy-recreate-hash": "another"}
    [patch] = flat(decided(of, head(of, annotations=marks), worker(of, 0)))
    assert isinstance(patch, Patch)
    assert patch.body == {"metadata": {"annotations": recreate_annotations(of)}}
    assert patch.version == "3"
    assert recreate_annotations(of)["ray.io/kuberay-version"] == VERSION


def test_a_failed_head_is_deleted_before_the_workers_are_looked_at() -> None:
    of = cluster()
    [action] = flat(decided(of, head(of, FAILED)))
    assert deleted([action]) == [head(of).metadata.name]
    assert note(action).startswith("Deleted head Pod ns/demo-head-")
    assert "Pod status: Failed; Pod restart policy: Always;" in note(action)


@pytest.mark.parametrize(
    ("status", "restart", "fails"),
    [
        pytest.param({"phase": "Failed"}, "Always", True, id="failed"),
        pytest.param({"phase": "Succeeded"}, "Always", True, id="succeeded"),
        pytest.param(
            {"containerStatuses": [{"name": "ray-head", "state": {"terminated": {}}}]}, "Never", True, id="ended"
        ),
        pytest.param(
            {"containerStatuses": [{"name": "ray-head", "state": {"terminated": {}}}]}, "Always", False, id="restarted"
        ),
        pytest.param(
            {"containerStatuses": [{"name": "other", "state": {"terminated": {}}}]},
            "Never",
            False,
            id="a side car ended",
        ),
        pytest.param({"phase": "Pending"}, "Never", False, id="pending"),
        pytest.param({"phase": "Unknown"}, "Never", False, id="node lost"),
        pytest.param({}, "Never", False, id="running"),
    ],
)
def test_which_heads_have_failed(status: Json, restart: str, fails: bool) -> None:
    of = cluster()
    assert bool(deleted(decided(of, head(of, status, restartPolicy=restart), worker(of, 0)))) == fails


def test_a_failed_head_that_is_on_its_way_out_is_not_deleted_again() -> None:
    of = cluster()
    assert flat(decided(of, head(of, FAILED, **terminating()), worker(of, 0))) == []


def test_a_head_that_keeps_failing_waits_and_the_workers_do_not() -> None:
    of = cluster()
    memory = Memory(setbacks={"head": Setback(1, NOW)})
    found = decided(of, head(of, FAILED), memory=memory)
    assert Recheck(NOW + timedelta(seconds=10)) in flat(found)
    assert created(found) == [worker(of, 0).metadata.name]


@pytest.mark.parametrize(
    ("value", "status", "comes_back"),
    [
        pytest.param("true", true("RayClusterProvisioned"), False, id="not once it was provisioned"),
        pytest.param("true", {}, True, id="before that it does"),
        pytest.param("True", true("RayClusterProvisioned"), True, id="only by the very word"),
    ],
)
def test_a_head_that_is_not_to_come_back(value: str, status: Json, comes_back: bool) -> None:
    marks = {"ray.io/disable-provisioned-head-restart": value}
    of = cluster(status=status, annotations=marks)
    assert bool(created(decided(of))) == comes_back


def test_two_heads_are_for_a_person_to_sort_out() -> None:
    of = cluster()
    [action] = flat(decided(of, head(of), head(of, name="other")))
    assert isinstance(action, Halt)
    assert action.message == f"2 head pods found [{head(of).metadata.name} other]. Please delete extra head pods"


def test_a_head_whose_fixed_name_is_taken_is_not_made() -> None:
    of, rules = cluster(), Rules(ray=RaySettings(fixed_head_name=True))
    assert created(decided(of, rules=rules))[0] == "demo-head"
    [action] = flat(decided(of, rules=rules, memory=Memory(taken=frozenset({"demo-head"}))))
    assert isinstance(action, Halt)
    assert action.notice is not None
    assert action.notice.reason == "FailedToCreateHeadPod"
