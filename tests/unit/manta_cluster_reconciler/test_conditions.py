"""Conditions are KubeRay's to the letter; ours appear only while there is something to tell."""

from datetime import timedelta
from typing import Any

import pytest

from manta_cluster_reconciler.conditions import Failure, conditions, head_ready
from manta_cluster_reconciler.observed import Memory, Observed, Setback
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.api.meta import Condition
from manta_common.ray.settings import RaySettings
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import FAILED, NOW, RULES, cluster, head, scene, true, worker

LATER = NOW + timedelta(hours=1)
FRESH = ["HeadPodReady", "RayClusterProvisioned", "RayClusterSuspended", "RayClusterSuspending"]


def found(observed: Observed, failure: Failure | None = None, rules: Rules = RULES) -> dict[str, Condition]:
    return {condition.type: condition for condition in conditions(observed, rules, failure, LATER)}


def told(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def test_a_new_cluster_has_four_in_this_order() -> None:
    assert list(found(scene(cluster()))) == FRESH


def test_without_the_gate_there_are_none() -> None:
    assert found(scene(cluster()), rules=Rules(ray=RaySettings(gates=Gates(status_conditions=False)))) == {}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(None, ("False", "HeadPodNotFound", "Head Pod not found"), id="there is none"),
        pytest.param({}, ("True", "HeadPodRunningAndReady", ""), id="ready"),
        pytest.param({"conditions": []}, ("False", "Unknown", ""), id="it does not say"),
        pytest.param(
            {"conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted", "message": "m"}]},
            ("False", "PodCompleted", "m"),
            id="not ready for a reason",
        ),
        pytest.param(
            {"conditions": [{"type": "Ready", "status": "Unknown"}]}, ("Unknown", "Unknown", ""), id="not known"
        ),
        pytest.param(
            {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "unready"}
                ],
                "containerStatuses": [
                    {"name": "a", "state": {"running": {}}},
                    {"name": "b", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
                ],
            },
            ("False", "ImagePullBackOff", "unready; b: no such image"),
            id="a container waits",
        ),
        pytest.param(
            {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "unready"}
                ]
            },
            ("False", "ContainersNotReady", "unready"),
            id="no container says why",
        ),
    ],
)
def test_whether_the_head_is_ready(status: Json | None, expected: tuple[str, str, str]) -> None:
    heads = [] if status is None else [head(cluster(), status)]
    assert head_ready(heads) == expected


@pytest.mark.parametrize(
    ("pods", "status", "expected"),
    [
        pytest.param([], {}, ("False", "RayCluster Pods are being provisioned for first time"), id="no pods"),
        pytest.param([{}], {}, ("True", "All Ray Pods are ready for the first time"), id="all run"),
        pytest.param(
            [{"phase": "Pending"}],
            {},
            ("False", "RayCluster Pods are being provisioned for first time"),
            id="one waits",
        ),
        pytest.param(
            [{"conditions": []}], {}, ("True", "All Ray Pods are ready for the first time"), id="none objects"
        ),
        pytest.param([{"phase": "Pending"}], true("RayClusterProvisioned"), ("True", ""), id="once is for ever"),
        pytest.param([], true("RayClusterSuspended"), None, id="suspended ones are left alone"),
    ],
)
def test_whether_all_pods_were_ready_once(pods: list[Json], status: Json, expected: Any) -> None:
    of = cluster(status=status)
    known = found(scene(of, *(worker(of, number, one) for number, one in enumerate(pods))))
    shown = known.get("RayClusterProvisioned")
    assert (shown and (shown.status, shown.message)) == expected


@pytest.mark.parametrize(
    ("suspend", "stored", "pods", "suspending", "suspended"),
    [
        pytest.param(None, None, 1, "False", "False", id="not asked for"),
        pytest.param(True, None, 1, "True", "False", id="it begins"),
        pytest.param(True, "RayClusterSuspending", 1, "True", None, id="pods are left"),
        pytest.param(False, "RayClusterSuspending", 1, "True", None, id="it is not broken off"),
        pytest.param(True, "RayClusterSuspending", 0, "False", "True", id="it is done"),
        pytest.param(True, "RayClusterSuspended", 0, None, "True", id="it stays"),
        pytest.param(None, "RayClusterSuspended", 0, None, "True", id="leaving the field out does not resume"),
        pytest.param(False, "RayClusterSuspended", 0, None, "False", id="it resumes"),
    ],
)
def test_the_way_into_suspension_and_out_of_it(
    suspend: bool | None, stored: str | None, pods: int, suspending: str | None, suspended: str | None
) -> None:
    of = cluster({"suspend": suspend}, status=true(stored) if stored else {})
    known = found(scene(of, *(worker(of, number) for number in range(pods))))
    for type_, expected in (("RayClusterSuspending", suspending), ("RayClusterSuspended", suspended)):
        shown = known.get(type_)
        assert (shown.status if shown else None) == expected
        assert shown is None or (shown.reason, shown.message) == (type_, "")


def test_a_cluster_that_has_been_suspended_must_be_provisioned_again() -> None:
    of = cluster({"suspend": True}, status=true("RayClusterProvisioned", "RayClusterSuspending"))
    shown = found(scene(of))["RayClusterProvisioned"]
    assert told(shown) == ("False", "RayClusterPodsProvisioning", "RayCluster has been suspended")


def test_a_failure_with_a_marker_is_shown_until_a_pass_goes_well() -> None:
    failure = Failure("no room", "FailedCreateWorkerPod")
    shown = found(scene(cluster()), failure)["ReplicaFailure"]
    assert told(shown) == ("True", "FailedCreateWorkerPod", "FailedCreateWorkerPod\nno room")
    of = cluster(status=true("ReplicaFailure"))
    assert "ReplicaFailure" in found(scene(of), Failure("another thing"))
    assert "ReplicaFailure" not in found(scene(of))


def test_the_time_moves_with_the_status_only() -> None:
    of = cluster(status=true("HeadPodReady", "RayClusterSuspending"))
    known = found(scene(of, head(of), worker(of, 0)))
    assert known["HeadPodReady"].last_transition_time == NOW
    assert known["HeadPodReady"].reason == "HeadPodRunningAndReady"
    assert known["RayClusterProvisioned"].last_transition_time == LATER


def test_a_pod_that_cannot_start_is_told_with_its_cause() -> None:
    of = cluster()
    waiting = {"name": "ray-worker", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    stuck = worker(of, 0, {"phase": "Pending", "containerStatuses": [waiting], "conditions": []})
    shown = found(scene(of, head(of), stuck))["PodsFailing"]
    assert shown.reason == "ImagePullBackOff"
    assert shown.message.endswith("container ray-worker waits: ImagePullBackOff: no such image")
    assert stuck.metadata.name in shown.message


def test_a_pod_that_keeps_ending_is_told_with_its_cause() -> None:
    of = cluster()
    ended = {"name": "ray-worker", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
    pod = worker(of, 0, FAILED | {"containerStatuses": [ended]})
    assert "PodsFailing" not in found(scene(of, head(of), pod))
    memory = Memory(setbacks={"small/0": Setback(2, LATER)})
    shown = found(scene(of, head(of), pod, memory=memory))["PodsFailing"]
    assert shown.reason == "OOMKilled"
    assert "failed 3 times in a row" in shown.message
    assert "exit code 137, OOMKilled" in shown.message


def test_troubles_that_are_over_are_not_told_any_more() -> None:
    of = cluster(status=true("PodsFailing", "Valid"))
    assert list(found(scene(of, head(of), worker(of, 0)))) == FRESH
