"""What `kubectl` shows of our kinds."""

import subprocess

import pytest

from manta_common.crd.definitions import KINDS
from tests.contract.crd.server import LEAST, TABLE, ask, created, manifest, path
from tests.manifests.files import STATUSES
from tests.parts.cluster import ApiError, Cluster
from tests.parts.process import wait_until

RAYCLUSTER = (
    "desired workers integer 0, available workers integer 0, cpus string 0, memory string 0, gpus string 0, "
    "tpus string 1, status string 0, age date 0, head pod IP string 1, head service IP string 1"
)
RAYJOB = (
    "job status string 0, deployment status string 0, ray cluster name string 0, start time string 0, "
    "end time string 0, age date 0"
)
RAYCRONJOB = "schedule string 0, timezone string 0, last schedule date 0, age date 0, suspend boolean 0"


@pytest.mark.parametrize(
    ("name", "version", "columns"),
    [
        ("RayCluster", "v1", RAYCLUSTER),
        ("RayCluster", "v1alpha1", RAYCLUSTER),
        ("RayJob", "v1", RAYJOB),
        ("RayJob", "v1alpha1", "Age date 0"),
        ("RayService", "v1", "service status string 0, num serve endpoints string 0"),
        ("RayService", "v1alpha1", "Age date 0"),
        ("RayCronJob", "v1", RAYCRONJOB),
    ],
)
def test_kubectl_get_shows(cluster: Cluster, settled: str, name: str, version: str, columns: str) -> None:
    table = ask(cluster, path(name, settled, version=version), accept=TABLE).body
    shown = [f"{one['name']} {one['type']} {one['priority']}" for one in table["columnDefinitions"]]
    assert ", ".join(shown[1:]) == columns
    assert shown[0] == "Name string 0"
    assert table["rows"][0]["cells"][0] == "it"


def test_a_row_shows_what_the_status_says(cluster: Cluster, namespace: str) -> None:
    created(cluster, namespace, manifest("RayCluster", LEAST["RayCluster"]))
    patch = [{"op": "add", "path": "/status", "value": STATUSES["RayCluster"]}]
    cluster.request("PATCH", path("RayCluster", namespace, "it", "status"), patch, "application/json-patch+json")
    cells = ask(cluster, path("RayCluster", namespace), accept=TABLE).body["rows"][0]["cells"]
    assert cells[1:7] == [3, 2, "1500m", "3Gi", "0", "4"]
    assert (cells[7], cells[9], cells[10]) == ("ready", "10.0.0.1", "10.1.0.1")


def test_kubectl_knows_the_kinds(cluster: Cluster, settled: str) -> None:
    listed = cluster.kubectl("get", "rayclusters,rayjobs,rayservices,raycronjobs", "--namespace", settled)
    assert [line.split()[0] for line in listed.splitlines() if line.endswith(("NAME",)) or "/it" in line] == [
        f"{kind.name.lower()}.ray.io/it" for kind in KINDS
    ]
    assert "raycluster.ray.io/it" in cluster.kubectl("get", "all", "--namespace", settled)


@pytest.mark.parametrize(
    ("path_of_field", "words"),
    [
        ("raycluster.spec.workerGroupSpecs.maxReplicas", "Most workers."),
        ("rayjob.spec.deletionStrategy.deletionRules.condition", "When it is deleted."),
        ("rayservice.status.activeServiceStatus", "The cluster that serves."),
        ("raycronjob.spec.concurrencyPolicy", "ENUM:\n    Allow\n    Forbid\n    Replace"),
        ("raycluster.spec.headGroupSpec.template.spec.containers.ports.protocol", "<string>"),
    ],
)
def test_kubectl_explains(cluster: Cluster, path_of_field: str, words: str) -> None:
    wait_until("kubectl explains", lambda: words in explained(cluster, path_of_field), limit_seconds=60)


def explained(cluster: Cluster, path_of_field: str) -> str:
    """What `kubectl explain` says; the API server publishes its OpenAPI some time after it serves a CRD."""
    try:
        return cluster.kubectl("explain", path_of_field)
    except subprocess.CalledProcessError as error:
        return str(error.stderr)


def test_there_is_nothing_to_scale(cluster: Cluster, settled: str) -> None:
    with pytest.raises(ApiError) as refused:
        cluster.request("GET", path("RayCluster", settled, "it", "scale"))
    assert refused.value.code == 404
