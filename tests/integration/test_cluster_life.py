"""The life of RayClusters on a real control plane, a real NATS and the watcher."""

import pathlib
from collections.abc import Iterator

import msgspec
import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.ray.names import head_pod_name
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.integration.clusters import Clusters, operator, running
from tests.parts.control_plane import ControlPlane


@pytest.fixture
def clusters(control_plane: ControlPlane, ray_crds: None, namespace: str, tmp_path: pathlib.Path) -> Iterator[Clusters]:
    with running(operator(control_plane, namespace, tmp_path)):
        yield Clusters(control_plane, namespace)


def test_a_cluster_grows_shrinks_is_suspended_and_resumes(clusters: Clusters) -> None:
    clusters.create("a", manifests.worker(replicas=2, maxReplicas=100))
    clusters.until_ready("a", 2)
    first = clusters.uids("a")
    clusters.resize("a", replicas=5)
    clusters.until_ready("a", 5)
    assert first <= clusters.uids("a"), "growing replaced pods"
    clusters.resize("a", replicas=1)
    clusters.until_ready("a", 1)
    clusters.change("a", {"suspend": True})
    clusters.until("it is suspended", lambda: clusters.status("a").get("state") == "suspended")
    assert clusters.pods("a") == []
    clusters.change("a", {"suspend": False})
    clusters.until_ready("a", 1)
    clusters.until("an event tells", lambda: len(clusters.events("CreatedService")) == 1)


def test_a_head_that_is_deleted_or_fails_comes_back(clusters: Clusters) -> None:
    clusters.create("a", manifests.worker(replicas=1))
    clusters.until_ready("a", 1)
    [head] = clusters.pods("a", node_type="head")
    [worker] = clusters.pods("a", node_type="worker")
    clusters.delete("pods", head["metadata"]["name"])
    clusters.until("there is another head", lambda: head["metadata"]["uid"] not in clusters.uids("a"))
    clusters.until_ready("a", 1)
    assert worker["metadata"]["uid"] in clusters.uids("a"), "the worker was replaced too"
    [head] = clusters.pods("a", node_type="head")
    path = f"api/v1/namespaces/{clusters.namespace}/pods/{head['metadata']['name']}/status"
    clusters.api.request("PATCH", path, {"status": {"phase": "Failed"}}, "application/merge-patch+json")
    clusters.until("the failed head is gone", lambda: head["metadata"]["uid"] not in clusters.uids("a"))
    clusters.until_ready("a", 1)
    clusters.until("an event tells", lambda: clusters.events("DeletedHeadPod"))


def test_a_lost_host_takes_its_slice_with_it(clusters: Clusters) -> None:
    clusters.create("a", manifests.worker(replicas=2, numOfHosts=2))
    clusters.until_ready("a", 4)
    assert clusters.find("services", "a-headless")
    victim = clusters.pods("a", worker_group_replica_index="0")[0]
    slice_ = {pod["metadata"]["uid"] for pod in clusters.pods("a", worker_group_replica_index="0")}
    other = {pod["metadata"]["uid"] for pod in clusters.pods("a", worker_group_replica_index="1")}
    clusters.delete("pods", victim["metadata"]["name"])
    clusters.until("the whole slice is another", lambda: not slice_ & clusters.uids("a"))
    clusters.until_ready("a", 4)
    assert other <= clusters.uids("a"), "the other slice was replaced too"


def test_a_killed_reconciler_goes_on_where_it_was(
    control_plane: ControlPlane, ray_crds: None, namespace: str, tmp_path: pathlib.Path
) -> None:
    clusters = Clusters(control_plane, namespace)
    data = ("--data", str(tmp_path))
    with running(operator(control_plane, namespace, tmp_path, *data)) as first:
        clusters.create("a", manifests.worker(replicas=40, maxReplicas=100))
        clusters.until("some pods are there", lambda: len(clusters.pods("a")) > 5)
        first.kill()
    before = clusters.uids("a")
    with running(operator(control_plane, namespace, tmp_path, *data)):
        clusters.until_ready("a", 40, limit_seconds=120)
    assert before <= clusters.uids("a"), "pods were made anew"


def test_names_that_are_taken_are_worked_around_or_told(clusters: Clusters) -> None:
    """A pod under the computed name is passed over; a Service under the only name there is stops the cluster."""
    made = clusters.create("a", manifests.worker(replicas=1) | {"suspend": True})
    clusters.until("it is suspended", lambda: clusters.status("a").get("state") == "suspended")
    name = head_pod_name(msgspec.json.decode(msgspec.json.encode(made), type=RayCluster), 0, RaySettings())
    container = {"name": "other", "image": "example/other:1"}
    clusters.post("pods", {"metadata": {"name": name}, "spec": {"containers": [container]}})
    clusters.change("a", {"suspend": False})
    clusters.until_ready("a", 1)
    assert name not in {pod["metadata"]["name"] for pod in clusters.pods("a")}

    clusters.post("services", {"metadata": {"name": "b-head-svc"}, "spec": {"ports": [{"port": 1}]}})
    clusters.create("b", manifests.worker(replicas=1))
    clusters.until("it is told", lambda: clusters.events("FailedToCreateService"))
    assert clusters.pods("b") == []
    clusters.delete("services", "b-head-svc")
    clusters.until_ready("b", 1)
