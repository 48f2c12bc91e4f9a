"""What a batch scheduler needs is there before the pods, kept up to date, and made anew where it must be."""

from typing import Any

import msgspec

from manta_cluster_reconciler.actions import Action, Create, Delete, Halt, Patch
from manta_cluster_reconciler.observed import Fetched, observed
from manta_cluster_reconciler.policies import gang, needs, pods
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.ray.schedulers.gangs import gang_objects
from manta_common.ray.settings import RaySettings
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import NOW, cluster, created, flat, groups, service

VOLCANO = Rules(ray=RaySettings(batch_scheduler="volcano"))
PLUGINS = Rules(ray=RaySettings(batch_scheduler="scheduler-plugins"))
WORKLOADS = Rules(ray=RaySettings(gates=Gates(workload_scheduling=True)))
GANG = {"ray.io/gang-scheduling-enabled": "true"}


def sized(replicas: int) -> RayCluster:
    return cluster(groups({"groupName": "small", "replicas": replicas}), labels=GANG)


def decided(of: RayCluster, rules: Rules, found: Json | None = None) -> list[Action]:
    objects = {(kind.name, name): (found or {}).get(kind.kind) for kind, name in needs.needs(of, rules)}
    return flat(gang.phases(observed(of, (), [service(of)], fetched=Fetched(objects=objects)), rules))


def stored(of: RayCluster, rules: Rules, **metadata: Any) -> Json:
    """The objects as the API server has them, by kind."""
    found = msgspec.to_builtins(gang_objects(of, rules.ray))
    for body in found:
        body["metadata"] |= {"uid": f"uid-of-{body['kind']}", "resourceVersion": "9", **metadata}
    return {body["kind"]: body for body in found}


def test_most_clusters_need_nothing() -> None:
    assert decided(sized(1), Rules()) == []


def test_pod_groups_are_made_and_left_alone() -> None:
    for rules in (VOLCANO, PLUGINS):
        [action] = decided(sized(2), rules)
        assert isinstance(action, Create)
        assert action.body["spec"]["minMember"] == 3
        assert decided(sized(2), rules, stored(sized(2), rules)) == []


def test_volcanos_pod_group_follows_the_size_of_the_cluster() -> None:
    [action] = decided(sized(4), VOLCANO, stored(sized(2), VOLCANO))
    assert isinstance(action, Patch)
    assert action.body["spec"]["minMember"] == 5
    assert decided(sized(4), PLUGINS, stored(sized(2), PLUGINS)) == []


def test_what_cannot_be_changed_is_deleted_last_first_and_the_pods_wait() -> None:
    found = stored(sized(2), WORKLOADS, finalizers=["scheduling.k8s.io/podgroup-protection"])
    assert decided(sized(2), WORKLOADS, found) == []
    *deletes, halt = decided(sized(4), WORKLOADS, found)
    assert [(one.kind.kind, one.uid) for one in deletes if isinstance(one, Delete)] == [
        ("PodGroup", "uid-of-PodGroup"),
        ("Workload", "uid-of-Workload"),
    ]
    assert isinstance(halt, Halt)


def test_a_cluster_that_is_no_gang_any_more_loses_its_objects() -> None:
    plain = cluster(groups({"groupName": "small", "replicas": 2}))
    found = decided(plain, WORKLOADS, stored(sized(2), WORKLOADS))
    assert [one.kind.kind for one in found if isinstance(one, Delete)] == ["PodGroup", "Workload"]
    assert decided(plain, WORKLOADS) == []
    assert decided(plain, WORKLOADS, stored(sized(2), WORKLOADS, ownerReferences=[])) == []


def test_a_label_that_cannot_be_read_stops_the_cluster() -> None:
    labels = {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier-allowed": "top"}
    [action] = decided(cluster(labels=labels), VOLCANO)
    assert isinstance(action, Halt)


def test_somebody_elses_workload_stops_the_cluster() -> None:
    foreign = stored(sized(2), WORKLOADS, ownerReferences=[])
    action = decided(sized(2), WORKLOADS, foreign)[0]
    assert isinstance(action, Halt)
    assert "does not belong to this RayCluster" in action.message


def test_a_pod_group_that_a_user_made_is_used() -> None:
    for rules in (VOLCANO, PLUGINS):
        assert decided(sized(2), rules, stored(sized(2), rules, ownerReferences=[])) == []
    [action] = decided(sized(4), VOLCANO, stored(sized(2), VOLCANO, ownerReferences=[]))
    assert isinstance(action, Patch)


def test_the_pod_group_of_an_earlier_cluster_is_waited_for() -> None:
    earlier = [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "demo", "uid": "another", "controller": True}]
    [action] = decided(sized(2), VOLCANO, stored(sized(2), VOLCANO, ownerReferences=earlier))
    assert isinstance(action, Halt)


def test_the_pod_group_comes_before_the_pods() -> None:
    of = sized(1)
    objects = {(kind.name, name): None for kind, name in needs.needs(of, VOLCANO)}
    phases = pods.phases(observed(of, (), [service(of)], fetched=Fetched(objects=objects)), VOLCANO, NOW)
    kinds = [type(action).__name__ for action in flat(phases)]
    assert kinds == ["Create", "CreatePod", "CreatePod"]
    assert len(created(phases)) == 2
