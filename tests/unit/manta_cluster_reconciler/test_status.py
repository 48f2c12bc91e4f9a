"""The status tells what there is, and is written only when something that readers care for has changed."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_cluster_reconciler import status
from manta_cluster_reconciler.conditions import Failure
from manta_cluster_reconciler.observed import Observed, observed
from manta_cluster_reconciler.policies.refusals import Refusal
from manta_common.api.core import Pod
from manta_common.api.meta import Condition
from manta_common.api.raycluster import HeadInfo, RayCluster, RayClusterStatus
from manta_common.ray import sums
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import (
    NOW,
    RULES,
    cluster,
    groups,
    head,
    scene,
    service,
    terminating,
    worker,
)


def true_conditions(*types: str) -> tuple[Condition, ...]:
    return tuple(
        Condition(type=type_, status="True", reason=type_, message="", last_transition_time=NOW) for type_ in types
    )


def told(seen: Observed, failure: Failure | None = None) -> RayClusterStatus:
    return status.status(seen, RULES, failure, NOW)


def test_a_cluster_whose_pods_all_run_is_ready() -> None:
    of = cluster()
    after = told(scene(of, head(of), worker(of, 0)))
    assert (after.state, after.state_transition_times) == ("ready", {"ready": NOW})
    assert (after.ready_worker_replicas, after.available_worker_replicas, after.desired_worker_replicas) == (1, 1, 1)
    assert (after.min_worker_replicas, after.max_worker_replicas) == (0, 5)
    assert after.observed_generation == 1
    assert after.head.pod_name == head(of).metadata.name
    assert (after.head.pod_ip, after.head.service_ip) == ("10.0.0.1", "10.0.0.1")
    assert after.head.service_name == "demo-head-svc"
    assert after.endpoints["dashboard"] == "8265"


@pytest.mark.parametrize(
    ("workers", "failure", "before", "state"),
    [
        pytest.param([{}], Failure("x"), "", "", id="not after a failure"),
        pytest.param([], None, "", "", id="not with a pod too few"),
        pytest.param([{}, {}], None, "", "", id="not with a pod too many"),
        pytest.param([{"phase": "Pending"}], None, "", "", id="not while a pod waits"),
        pytest.param([{"phase": "Failed"}], None, "ready", "ready", id="but it is never taken back"),
    ],
)
def test_when_a_cluster_is_ready(workers: list[Json], failure: Failure | None, before: str, state: str) -> None:
    of = cluster(status={"state": before})
    pods = [worker(of, number, one) for number, one in enumerate(workers)]
    assert told(scene(of, head(of), *pods), failure).state == state


@pytest.mark.parametrize("state", ["", "ready"])
def test_a_reason_that_was_left_behind_goes_when_all_pods_run(state: str) -> None:
    of = cluster(status={"state": state, "reason": "old"})
    assert told(scene(of, head(of), worker(of, 0))).reason == ""
    assert told(scene(of, head(of))).reason == "old"


def test_a_suspended_cluster_without_pods_is_suspended() -> None:
    of = cluster({"suspend": True}, status={"state": "ready", "stateTransitionTimes": {"ready": NOW.isoformat()}})
    after = told(scene(of))
    assert after.state == "suspended"
    assert set(after.state_transition_times) == {"ready", "suspended"}
    assert told(scene(of, worker(of, 0, **terminating()))).state == "ready"


def test_running_workers_are_available_and_ready_when_they_say_so() -> None:
    of = cluster(groups({"groupName": "small", "replicas": 3}))
    pods = [worker(of, 0), worker(of, 1, {"conditions": []}), worker(of, 2, {"phase": "Pending"})]
    after = told(scene(of, *pods))
    assert (after.ready_worker_replicas, after.available_worker_replicas) == (1, 2)


@pytest.mark.parametrize(
    ("spec", "address", "endpoints"),
    [
        pytest.param({"clusterIP": "10.9.9.9"}, "10.9.9.9", {"d": "5"}, id="a Service with an address"),
        pytest.param({"clusterIP": "None"}, "10.0.0.1", {"d": "5"}, id="a headless Service has the head's"),
        pytest.param(
            {"clusterIP": "10.9.9.9", "ports": [{"name": "d", "port": 5, "targetPort": 5, "nodePort": 30001}]},
            "10.9.9.9",
            {"d": "30001"},
            id="a node port",
        ),
        pytest.param(
            {"clusterIP": "10.9.9.9", "ports": [{"name": "d", "port": 5, "targetPort": "web"}, {"port": 6}]},
            "10.9.9.9",
            {"d": "web"},
            id="a port by name, and one without",
        ),
    ],
)
def test_where_the_head_is_to_be_found(spec: Json, address: str, endpoints: dict[str, str]) -> None:
    of = cluster(status={"endpoints": {"old": "1"}})
    ports: Json = {"ports": [{"name": "d", "port": 5, "targetPort": 5}]}
    after = told(observed(of, [head(of)], [service(of, **(ports | spec))]))
    assert after.head.service_ip == address
    assert after.endpoints == {"old": "1", **endpoints}


def test_without_a_head_its_addresses_are_empty() -> None:
    after = told(scene(cluster()))
    assert (after.head.pod_ip, after.head.pod_name, after.head.service_ip) == ("", "", "")


@pytest.mark.parametrize(
    ("heads", "services", "complaint"),
    [
        pytest.param(1, 1, "", id="one of each"),
        pytest.param(0, 1, "", id="no head"),
        pytest.param(2, 1, "found multiple heads", id="two heads"),
        pytest.param(1, 0, "unable to find head service", id="no Service"),
        pytest.param(1, 2, "unable to find head service", id="two Services"),
    ],
)
def test_when_no_status_can_be_told(heads: int, services: int, complaint: str) -> None:
    of = cluster()
    pods = [head(of, name=f"head-{number}") for number in range(heads)]
    found = status.blocked(observed(of, pods, [service(of)] * services))
    assert (found.partition(":")[0], bool(found)) == (complaint, bool(complaint))


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param({"clusterIP": ""}, "head service IP is empty", id="it has no address yet"),
        pytest.param({"clusterIP": "", "type": "ExternalName"}, "", id="it never gets one"),
    ],
)
def test_a_status_waits_for_the_address_of_a_service_that_will_have_one(spec: Json, complaint: str) -> None:
    of = cluster()
    assert status.blocked(observed(of, [head(of)], [service(of, **spec)])) == complaint


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        pytest.param({"state": "ready"}, True, id="the state"),
        pytest.param({"ready_worker_replicas": 1}, True, id="a number of workers"),
        pytest.param({"endpoints": {"a": "1"}}, True, id="an endpoint"),
        pytest.param({"observed_generation": 5}, False, id="not the generation"),
        pytest.param({"desired_cpu": "5"}, False, id="not the sums"),
        pytest.param({"last_update_time": NOW}, False, id="not the time"),
    ],
)
def test_what_is_worth_a_write(change: dict[str, Any], differs: bool) -> None:
    before = RayClusterStatus()
    assert status.differs(before, msgspec.structs.replace(before, **change)) == differs


@pytest.mark.parametrize(
    ("change", "waits"),
    [
        pytest.param({"ready_worker_replicas": 3}, True, id="a number of pods"),
        pytest.param({"head": HeadInfo(pod_ip="10.0.0.1")}, True, id="the head's address"),
        pytest.param({"state": "ready"}, False, id="not the state"),
        pytest.param({"desired_worker_replicas": 3}, False, id="not what is wanted"),
        pytest.param({"conditions": true_conditions("HeadPodReady")}, True, id="whether the head is ready"),
        pytest.param({"conditions": true_conditions("ReplicaFailure")}, False, id="not a failure"),
    ],
)
def test_what_is_written_now_and_then_only(change: dict[str, Any], waits: bool) -> None:
    before = RayClusterStatus(last_update_time=NOW)
    observed, after = scene(with_status(before)), msgspec.structs.replace(before, **change)
    assert status.due_at(observed, after, NOW) == (NOW + timedelta(seconds=5) if waits else NOW)
    later = NOW + timedelta(seconds=5)
    assert status.due_at(observed, after, later) == later


@pytest.mark.parametrize(
    ("state", "ready", "then", "waits"),
    [
        pytest.param("ready", 2, 4, False, id="the last worker of a cluster that grows"),
        pytest.param("ready", 5, 4, False, id="the last one that was too many"),
        pytest.param("ready", 2, 3, True, id="one of several"),
        pytest.param("ready", 4, 3, True, id="one that is lost soon after a write"),
        pytest.param("", 2, 4, True, id="the last worker of a cluster that waits for its head"),
    ],
)
def test_the_last_worker_is_told_of_at_once(state: str, ready: int, then: int, waits: bool) -> None:
    before = RayClusterStatus(state=state, last_update_time=NOW, desired_worker_replicas=4, ready_worker_replicas=ready)
    after = msgspec.structs.replace(before, ready_worker_replicas=then)
    due_at = status.due_at(scene(with_status(before)), after, NOW)
    assert due_at == (NOW + timedelta(seconds=5) if waits else NOW)


@pytest.mark.parametrize(
    ("change", "waits"),
    [
        pytest.param({"desired_worker_replicas": 3}, True, id="what is wanted"),
        pytest.param({"conditions": true_conditions("HeadPodReady")}, True, id="that the head is ready"),
        pytest.param({"state": "ready"}, False, id="not that all is ready"),
        pytest.param({"conditions": true_conditions("ReplicaFailure")}, False, id="not a failure"),
    ],
)
def test_a_cluster_that_is_ready_soon_is_told_of_once(change: dict[str, Any], waits: bool) -> None:
    of, after = with_status(RayClusterStatus()), RayClusterStatus(**change)
    observed = scene(of, made(head(of), NOW))
    second = NOW + timedelta(seconds=1)
    assert status.due_at(observed, after, second) == (NOW + timedelta(seconds=5) if waits else second)
    later = NOW + timedelta(seconds=6)
    assert status.due_at(observed, after, later) == later


def test_a_cluster_without_pods_is_told_of_at_once() -> None:
    assert status.due_at(scene(with_status(RayClusterStatus())), RayClusterStatus(), NOW, others=9999) == NOW


@pytest.mark.parametrize(
    ("others", "seconds"),
    [
        pytest.param(50, 5, id="up to fifty of them every five seconds"),
        pytest.param(200, 20, id="ten a second in all"),
        pytest.param(5000, 60, id="every minute at least"),
    ],
)
@pytest.mark.parametrize("before", [RayClusterStatus(), RayClusterStatus(last_update_time=NOW)], ids=["new", "known"])
def test_many_clusters_that_start_at_once_are_told_of_less_often(
    before: RayClusterStatus, others: int, seconds: int
) -> None:
    of, after = with_status(before), msgspec.structs.replace(before, ready_worker_replicas=1)
    assert status.due_at(scene(of, made(head(of), NOW)), after, NOW, others=others) == NOW + timedelta(seconds=seconds)
    ready = msgspec.structs.replace(before, state="ready")
    assert status.due_at(scene(of, made(head(of), NOW)), ready, NOW, others=others) == NOW


def test_a_ray_service_learns_of_its_head_as_soon_as_ever() -> None:
    of = cluster(labels={"ray.io/originated-from-crd": "RayService"})
    after = RayClusterStatus(conditions=true_conditions("HeadPodReady"))
    assert status.due_at(scene(of, made(head(of), NOW)), after, NOW, others=200) == NOW + timedelta(seconds=5)


def with_status(status_: RayClusterStatus) -> RayCluster:
    return msgspec.structs.replace(cluster(), status=status_)


def made(pod: Pod, at: datetime) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=at))


def test_a_patch_removes_what_is_gone_and_names_its_version() -> None:
    before = RayClusterStatus(reason="old", ready_worker_replicas=2, endpoints={"a": "1"})
    after = RayClusterStatus(state="ready", endpoints={"a": "2"})
    body = status.patch(before, after, "42")
    assert body["metadata"] == {"resourceVersion": "42"}
    assert body["status"]["reason"] is None
    assert body["status"]["readyWorkerReplicas"] is None
    assert body["status"]["endpoints"] == {"a": "2"}
    assert body["status"]["desiredGPU"] == "0"
    assert body["status"]["head"] == {}


def test_a_corrected_cluster_is_not_called_invalid_though_nothing_else_can_be_told() -> None:
    refused = status.refused(scene(cluster()), Refusal("InvalidRayClusterSpec", "no container", "Add one."), NOW)
    of = msgspec.structs.replace(cluster(), status=refused)
    after = status.accepted(scene(of), NOW)
    assert [known.type for known in after.conditions] == []
    assert status.differs(refused, after)


def test_a_refused_cluster_keeps_its_status_and_says_why() -> None:
    of = cluster(status={"state": "ready"}, generation=3)
    after = status.refused(scene(of), Refusal("InvalidRayClusterSpec", "no container", "Add one."), NOW)
    assert (after.state, after.observed_generation) == ("ready", 3)
    [condition] = after.conditions
    assert (condition.type, condition.status, condition.reason) == ("Valid", "False", "InvalidRayClusterSpec")
    assert condition.message == "no container. Add one."
    assert condition.observed_generation == 3
    assert set(status.refusal_patch(after, "7")["status"]) == {"conditions", "observedGeneration", "lastUpdateTime"}


def test_the_first_time_that_all_pods_are_ready_is_noticed() -> None:
    of = cluster()
    after = told(scene(of, head(of), worker(of, 0)))
    assert status.became_provisioned(of.status, after)
    assert not status.became_provisioned(after, after)


def test_the_sums_are_added_when_the_status_is_written() -> None:
    of = cluster()
    after = told(scene(of, head(of), worker(of, 0)))
    whole = status.totalled(after, of.spec)
    totals = sums.resource_totals(of.spec)
    assert (whole.desired_cpu, whole.desired_memory) == (totals.cpu, totals.memory)
    assert (whole.desired_gpu, whole.desired_tpu) == (totals.gpu, totals.tpu)
    assert not status.differs(after, whole)
