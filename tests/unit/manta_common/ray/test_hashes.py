"""The hash by which a change of the spec is noticed."""

import re
from typing import Any

import pytest

from manta_common.ray.hashes import VERSION, head_verdict, recreate_annotations, recreate_hash
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, cluster, head

HASH, OPERATOR = "ray.io/upgrade-strategy-recreate-hash", "ray.io/kuberay-version"
RECREATE = {"spec.upgradeStrategy": {"type": "Recreate"}}


def test_it_looks_like_kuberay_s() -> None:
    assert re.fullmatch("[0-9A-V]{32}", recreate_hash(cluster().spec))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({f"{GROUP}.replicas": 2}, id="replicas"),
        pytest.param({f"{GROUP}.minReplicas": 1}, id="the least"),
        pytest.param({f"{GROUP}.maxReplicas": 9}, id="the most"),
        pytest.param({f"{GROUP}.scaleStrategy": {"workersToDelete": ["x"]}}, id="workers to delete"),
        pytest.param(RECREATE, id="the strategy itself"),
        pytest.param({f"{HEAD}.template.spec.tolerations": [{"operator": "Exists"}]}, id="the head's tolerations"),
        pytest.param({f"{GROUP}.template.spec.schedulingGates": [{"name": "x"}]}, id="a group's scheduling gates"),
        pytest.param({f"{HEAD}.rayStartParams": {}}, id="parameters that are empty instead of absent"),
        pytest.param({"metadata.name": "other"}, id="what is not in the spec"),
    ],
)
def test_what_needs_no_new_pods_does_not_change_it(changes: dict[str, Any]) -> None:
    assert recreate_hash(cluster(changes).spec) == recreate_hash(cluster().spec)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({f"{HEAD}.{RAY}.image": "ray:2"}, id="the image"),
        pytest.param({"spec.rayVersion": "2.53.0"}, id="the version"),
        pytest.param({f"{GROUP}.rayStartParams": {"num-cpus": "1"}}, id="a parameter"),
        pytest.param({f"{GROUP}.numOfHosts": 2}, id="the hosts of a worker"),
        pytest.param({"spec.suspend": True}, id="suspension"),
        pytest.param({"spec.workerGroupSpecs": []}, id="a group less"),
        pytest.param({f"{HEAD}.template.metadata": {"labels": {"a": "b"}}}, id="a label of the template"),
        pytest.param({"spec.enableInTreeAutoscaling": True}, id="the autoscaler"),
    ],
)
def test_everything_else_does(changes: dict[str, Any]) -> None:
    assert recreate_hash(cluster(changes).spec) != recreate_hash(cluster().spec)


def test_the_way_an_amount_is_written_is_no_change() -> None:
    one, other = (
        {f"{HEAD}.{RAY}.resources": {"limits": {"cpu": cpu, "memory": memory}}}
        for cpu, memory in (("1", "1Gi"), ("1000m", "1024Mi"))
    )
    assert recreate_hash(cluster(one).spec) == recreate_hash(cluster(other).spec)


def test_it_is_the_same_for_a_cluster_that_is_read_again_tomorrow() -> None:
    assert recreate_hash(cluster().spec) == "DUH7C5F25593K0B0F998M16TRQS2055S"


def test_a_head_bears_hash_and_version() -> None:
    made = head()["metadata"]["annotations"]
    assert made.items() >= recreate_annotations(cluster()).items()
    assert (made[HASH], made[OPERATOR]) == (recreate_hash(cluster().spec), VERSION)


def test_our_version_is_not_kuberay_s() -> None:
    assert VERSION != "v1.7.0"


@pytest.mark.parametrize(
    ("changes", "annotations", "verdict"),
    [
        pytest.param({}, {HASH: "OLD", OPERATOR: VERSION}, "keep", id="without the strategy nothing is recreated"),
        pytest.param({"spec.upgradeStrategy": {"type": "None"}}, {HASH: "OLD"}, "keep", id="nor with None"),
        pytest.param(RECREATE, {}, "keep", id="a head without annotations stays"),
        pytest.param(RECREATE, recreate_annotations(cluster()), "keep", id="a head of this spec stays"),
        pytest.param(RECREATE, {HASH: "OLD", OPERATOR: VERSION}, "recreate", id="a head of another spec goes"),
        pytest.param(RECREATE, {HASH: "OLD"}, "recreate", id="one without a version too"),
        pytest.param(RECREATE, {HASH: "OLD", OPERATOR: "v1.7.0"}, "rewrite", id="KubeRay's head is adopted"),
    ],
)
def test_what_becomes_of_a_head(changes: dict[str, Any], annotations: dict[str, str], verdict: str) -> None:
    assert head_verdict(cluster(changes), annotations) == verdict
