"""What stands in a cluster's way is told once, in its status and by an event; when it is gone, the cluster goes on."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.examples import manifests
from tests.integration.clusters import Clusters, operator, running
from tests.parts.control_plane import ControlPlane

MERGE = "application/merge-patch+json"


@pytest.fixture
def clusters(control_plane: ControlPlane, ray_crds: None, namespace: str, tmp_path: pathlib.Path) -> Iterator[Clusters]:
    with running(operator(control_plane, namespace, tmp_path)):
        yield Clusters(control_plane, namespace)


def test_a_quota_is_told_once_with_numbers_and_worked_up_to(clusters: Clusters) -> None:
    clusters.post("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "4"}}})
    clusters.until(
        "the quota counts", lambda: (clusters.find("resourcequotas", "q") or {}).get("status", {}).get("hard")
    )
    clusters.create("a", manifests.worker(replicas=12, maxReplicas=100))
    clusters.until("the status tells", lambda: clusters.condition("a", "ReplicaFailure"))
    condition = clusters.condition("a", "ReplicaFailure")
    assert condition["reason"] == "FailedCreateWorkerPod"
    assert "exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4" in condition["message"]
    assert len(clusters.pods("a")) == 4
    clusters.until("an event tells", lambda: clusters.events("FailedToCreateWorkerPod"))
    told = clusters.events("FailedToCreateWorkerPod")
    assert len(told) <= 2, [event["note"] for event in told]
    path = f"api/v1/namespaces/{clusters.namespace}/resourcequotas/q"
    clusters.api.request("PATCH", path, {"spec": {"hard": {"pods": "50"}}}, MERGE)
    clusters.until_ready("a", 12, limit_seconds=120)
    assert not clusters.condition("a", "ReplicaFailure")


def test_an_invalid_cluster_is_told_and_served_when_it_is_corrected(clusters: Clusters) -> None:
    clusters.create("a", {"gcsFaultToleranceOptions": {"backend": "rocksdb"}})
    clusters.until("the status tells", lambda: clusters.condition("a", "Valid"))
    condition = clusters.condition("a", "Valid")
    assert (condition["status"], condition["reason"]) == ("False", "InvalidRayClusterSpec")
    assert "GCSFaultToleranceEmbeddedStorage" in condition["message"]
    assert clusters.status("a")["observedGeneration"] == 1
    assert clusters.pods("a") == []
    assert clusters.find("services", "a-head-svc") is None
    clusters.until("an event tells", lambda: len(clusters.events("InvalidRayClusterSpec")) == 1)
    clusters.change("a", {"gcsFaultToleranceOptions": None})
    clusters.until_ready("a", 1)
    assert not clusters.condition("a", "Valid")


def test_a_cluster_of_another_controller_is_left_alone(clusters: Clusters) -> None:
    clusters.create("theirs", {"managedBy": "kueue.x-k8s.io/multikueue"})
    clusters.create("ours", manifests.worker(replicas=0))
    clusters.until_ready("ours", 0)
    assert clusters.status("theirs") == {}
    assert clusters.pods("theirs") == []
