"""Volcano's PodGroup."""

from typing import Any

import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.api.rayjob import RayJob
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.schedulers.parent import Parent, cluster_parent, job_parent
from manta_common.ray.schedulers.volcano import changes, pod_group, released_pod_group
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, cluster

SIZES = {
    f"{HEAD}.{RAY}.resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    f"{GROUP}.{RAY}.resources": {"requests": {"cpu": "500m"}},
    f"{GROUP}.minReplicas": 2,
    f"{GROUP}.replicas": 3,
}
SUBMITTER = {"spec": {"containers": [{"name": "s", "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}}


def parent(more: dict[str, Any] | None = None) -> Parent:
    return cluster_parent(cluster(SIZES | (more or {})))


def test_a_cluster_s_group() -> None:
    made = pod_group(parent({"metadata.annotations": {"a": "b"}}))
    assert (made["apiVersion"], made["kind"]) == ("scheduling.volcano.sh/v1beta1", "PodGroup")
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("ray-demo-pg", "team")
    assert made["metadata"]["annotations"] == {"a": "b"}
    assert [(one["kind"], one["controller"]) for one in made["metadata"]["ownerReferences"]] == [("RayCluster", True)]
    assert made["spec"] == {"minMember": 4, "minResources": {"cpu": "2500m", "memory": "1Gi"}}
    assert made["status"] == {"phase": "Pending"}


def test_with_the_autoscaler_the_fewest_count() -> None:
    spec = pod_group(parent({"spec.enableInTreeAutoscaling": True}))["spec"]
    assert spec == {"minMember": 3, "minResources": {"cpu": "2", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        pytest.param({"volcano.sh/queue-name": "q"}, {"queue": "q"}, id="a queue"),
        pytest.param({"ray.io/priority-class-name": "p"}, {"priorityClassName": "p"}, id="a priority"),
        pytest.param(
            {"volcano.sh/network-topology-mode": "hard"}, {"networkTopology": {"mode": "hard"}}, id="a topology's mode"
        ),
        pytest.param(
            {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier-allowed": "2"},
            {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}},
            id="a topology's tier",
        ),
        pytest.param({"volcano.sh/network-topology-highest-tier-allowed": "x"}, {}, id="a tier without a mode"),
    ],
)
def test_labels_choose(labels: dict[str, str], chosen: dict[str, Any]) -> None:
    spec = pod_group(parent({"metadata.labels": labels}))["spec"]
    assert {key: value for key, value in spec.items() if not key.startswith("min")} == chosen


def test_a_tier_must_be_a_number() -> None:
    labels = {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier-allowed": "x"}
    with pytest.raises(Unbuildable, match="highest-tier-allowed must be a whole number"):
        pod_group(parent({"metadata.labels": labels}))


def test_a_job_s_group_holds_room_for_its_submitter() -> None:
    job = RayJob(metadata=ObjectMeta(name="job", namespace="team", uid="u"))
    made = pod_group(job_parent(job, cluster(SIZES).spec, SUBMITTER))
    assert made["metadata"]["name"] == "ray-job-pg"
    assert made["metadata"]["ownerReferences"][0]["kind"] == "RayJob"
    assert made["spec"] == {"minMember": 4, "minResources": {"cpu": "3", "memory": "1224Mi"}}


def test_a_released_group_holds_nothing() -> None:
    assert released_pod_group(parent())["spec"] == {"minMember": 0, "minResources": {}}


@pytest.mark.parametrize(
    ("found", "patch"),
    [
        pytest.param({"minMember": 4, "minResources": {"cpu": "2500m", "memory": "1024Mi"}}, {}, id="the same amounts"),
        pytest.param(
            {"minMember": 3, "minResources": {"cpu": "2500m", "memory": "1Gi"}, "queue": "other"},
            {"spec": {"minMember": 4}},
            id="another number; the queue is never changed",
        ),
        pytest.param(
            {"minMember": 4, "minResources": {"cpu": "1", "gpu": "1"}},
            {"spec": {"minResources": {"gpu": None, "cpu": "2500m", "memory": "1Gi"}}},
            id="other amounts",
        ),
        pytest.param(
            {},
            {"spec": {"minMember": 4, "minResources": {"cpu": "2500m", "memory": "1Gi"}}},
            id="nothing there",
        ),
    ],
)
def test_changes(found: dict[str, Any], patch: dict[str, Any]) -> None:
    assert changes(pod_group(parent()), {"spec": found}) == patch
