"""What must be there before a cluster's pods."""

from typing import Any

import pytest

from manta_common.api.gates import Gates
from manta_common.ray.schedulers.gangs import gang_changes, gang_objects, is_stale
from manta_common.ray.settings import BatchScheduler, RaySettings
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, cluster

GANG = {"metadata.labels": {"ray.io/gang-scheduling-enabled": "true"}}
WAS = RaySettings(gates=Gates(workload_scheduling=True))


def by(scheduler: BatchScheduler) -> RaySettings:
    return RaySettings(batch_scheduler=scheduler)


@pytest.mark.parametrize(
    ("changes", "settings", "names"),
    [
        pytest.param(GANG, RaySettings(), [], id="no scheduler"),
        pytest.param({}, by("volcano"), ["ray-demo-pg"], id="Volcano"),
        pytest.param(
            {"metadata.labels": {"ray.io/originated-from-crd": "RayJob"}}, by("volcano"), [], id="Volcano for a job"
        ),
        pytest.param(GANG, by("yunikorn"), [], id="YuniKorn"),
        pytest.param(GANG, by("kai-scheduler"), [], id="KAI"),
        pytest.param(GANG, by("scheduler-plugins"), ["demo"], id="scheduler-plugins"),
        pytest.param({}, by("scheduler-plugins"), [], id="scheduler-plugins without a gang"),
        pytest.param(GANG, WAS, ["demo", "demo-cluster"], id="Kubernetes' own"),
        pytest.param({}, WAS, [], id="Kubernetes' own without a gang"),
        pytest.param(GANG | {"spec.enableInTreeAutoscaling": True}, WAS, [], id="Kubernetes' own with the autoscaler"),
    ],
)
def test_objects(changes: dict[str, Any], settings: RaySettings, names: list[str]) -> None:
    assert [made["metadata"]["name"] for made in gang_objects(cluster(changes), settings)] == names


def test_the_group_of_scheduler_plugins() -> None:
    sizes = {f"{HEAD}.{RAY}.resources": {"limits": {"cpu": "1"}}, f"{GROUP}.replicas": 2}
    (made,) = gang_objects(cluster(GANG | sizes), by("scheduler-plugins"))
    assert (made["apiVersion"], made["kind"]) == ("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "demo", "uid": "12345678-uid"}
    assert made["metadata"] == {"name": "demo", "namespace": "team", "ownerReferences": [owner]}
    assert made["spec"] == {"minMember": 3, "minResources": {"cpu": "1"}}


def test_kubernetes_own_gang() -> None:
    workload, group = gang_objects(cluster(GANG), WAS)
    for made in (workload, group):
        assert made["apiVersion"] == "scheduling.k8s.io/v1alpha2"
        assert made["metadata"]["labels"] == {"ray.io/cluster": "demo"}
        assert made["metadata"]["ownerReferences"][0]["controller"] is True
    policy = {"gang": {"minCount": 2}}
    assert (workload["kind"], group["kind"]) == ("Workload", "PodGroup")
    assert workload["spec"] == {
        "controllerRef": {"apiGroup": "ray.io", "kind": "RayCluster", "name": "demo"},
        "podGroupTemplates": [{"name": "cluster", "schedulingPolicy": policy}],
    }
    assert group["spec"] == {
        "podGroupTemplateRef": {"workload": {"workloadName": "demo", "podGroupTemplateName": "cluster"}},
        "schedulingPolicy": policy,
    }


def test_only_volcano_s_group_is_ever_changed() -> None:
    (volcano,) = gang_objects(cluster(), by("volcano"))
    assert gang_changes(volcano, {"spec": {"minMember": 9}})
    (plugins,) = gang_objects(cluster(GANG), by("scheduler-plugins"))
    assert gang_changes(plugins, {"spec": {"minMember": 9}}) == {}


def test_kubernetes_own_objects_are_made_anew_when_the_size_changes() -> None:
    before = gang_objects(cluster(GANG), WAS)
    after = gang_objects(cluster(GANG | {f"{GROUP}.replicas": 3}), WAS)
    for wanted, found in zip(after, before, strict=True):
        assert is_stale(wanted, found)
    for wanted, found in zip(before, before, strict=True):
        assert not is_stale(wanted, {**found, "spec": {**found["spec"], "priority": 0}})
    (volcano,) = gang_objects(cluster(), by("volcano"))
    assert not is_stale(volcano, {"spec": {}})
