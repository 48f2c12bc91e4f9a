"""The Job that cleans Redis up: as the head would be, with what the installation and the cluster ask for."""

from typing import Any

import msgspec
import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.ray.settings import RaySettings
from manta_janitor.manifests import CPU, MEMORY, CleanupJob, cleanup_job
from tests.examples import manifests

QUEUE = "kueue.x-k8s.io/queue-name"


def cluster(marks: dict[str, str] | None = None, *, pod: Any = None, meta: Any = None) -> RayCluster:
    template = {"template": {"metadata": meta or {}, "spec": {"containers": [manifests.HEAD], **(pod or {})}}}
    spec = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}, **manifests.head(**template)}
    body = manifests.cluster(spec, name="a", namespace="team", uid="u", annotations=marks or {})
    return msgspec.json.decode(msgspec.json.encode(body), type=RayCluster)


def container(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
    return found


def test_by_default_it_takes_what_kuberays_takes() -> None:
    job = cleanup_job(cluster(), RaySettings(), CleanupJob())
    amounts = {"cpu": "200m", "memory": "256Mi"}
    assert container(job)["resources"] == {"requests": amounts, "limits": amounts}
    assert job["spec"]["activeDeadlineSeconds"] == 300


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({CPU: "1", MEMORY: "1Gi"}, {"cpu": "1", "memory": "1Gi"}, id="the cluster's word counts"),
        pytest.param({CPU: "plenty", MEMORY: "-1"}, {"cpu": "500m", "memory": "512Mi"}, id="unless it is no amount"),
        pytest.param({}, {"cpu": "500m", "memory": "512Mi"}, id="else the installation's"),
    ],
)
def test_resources(asked: dict[str, str], expected: dict[str, str]) -> None:
    job = cleanup_job(cluster(asked), RaySettings(), CleanupJob(cpu="500m", memory="512Mi"))
    assert container(job)["resources"]["limits"] == expected


def test_kueue_does_not_hold_it_back() -> None:
    marked = {"labels": {QUEUE: "q", "team": "x"}, "annotations": {"kueue.x-k8s.io/workload": "w"}}
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}, {"name": "example.com/other"}]}
    job = cleanup_job(cluster(pod=gates, meta=marked), RaySettings(), CleanupJob())
    template = job["spec"]["template"]
    for metadata in (job["metadata"], template["metadata"]):
        assert not [name for name in {**metadata["labels"], **metadata["annotations"]} if name.startswith("kueue")]
        assert metadata["labels"]["team"] == "x"
    assert template["spec"]["schedulingGates"] == [{"name": "example.com/other"}]


def test_labels_and_tolerations_of_the_installation_are_added() -> None:
    one, two = {"key": "gpu", "operator": "Exists"}, {"key": "ray", "operator": "Exists"}
    wanted = CleanupJob(labels={QUEUE: "housekeeping"}, tolerations=(two,), deadline_seconds=60)
    job = cleanup_job(cluster(pod={"tolerations": [one]}), RaySettings(), wanted)
    assert job["spec"]["template"]["spec"]["tolerations"] == [one, two]
    assert job["metadata"]["labels"][QUEUE] == "housekeeping"
    assert job["spec"]["activeDeadlineSeconds"] == 60


def test_it_has_what_the_administrator_gives_to_heads() -> None:
    settings = RaySettings(
        container_envs=({"name": "PROXY", "value": "p"},), pod_labels={"cost": "c"}, pod_annotations={"note": "n"}
    )
    job = cleanup_job(cluster(), settings, CleanupJob())
    assert {"name": "PROXY", "value": "p"} in container(job)["env"]
    assert job["metadata"]["labels"]["cost"] == "c"
    assert job["metadata"]["annotations"]["note"] == "n"
