"""RayClusters of a running KubeRay are taken over by Manta, and handed back, no pod restarted; also as doctor says."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.examples import manifests
from tests.integration.clusters import Clusters, operator, running
from tests.integration.mover import Mover
from tests.parts import crds
from tests.parts.chart import Installed, rendered
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

pytestmark = pytest.mark.timeout(600)  # CRDs are exchanged twice
TOOL = TOOLS["kuberay"]
GATES = "RayCronJob=true,RayMultiHostIndexing=false"
PROBES = {"name": "ENABLE_PROBES_INJECTION", "value": "false"}
AUTOSCALED = {"enableInTreeAutoscaling": True} | manifests.worker(replicas=1, maxReplicas=100)
RECREATE = {"upgradeStrategy": {"type": "Recreate"}}


@pytest.fixture(scope="module")
def kuberay_crds(control_plane: ControlPlane) -> Iterator[None]:
    """KubeRay's own CRDs, which Manta works under too; ours come back at the end."""
    ensure([TOOL])
    crds.install(control_plane, TOOL.path.parent / "config/crd/bases")
    yield
    crds.install(control_plane)


def kuberay(plane: ControlPlane, namespace: str, folder: pathlib.Path, *more: str) -> Process:
    flags = ["--enable-leader-election=false", f"--watch-namespace={namespace}", *more]
    flags += [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
    environment = {"KUBECONFIG": str(plane.kubeconfig)}
    return Process("kuberay", [str(TOOL.path), *flags], folder / "kuberay.log", environment=environment)


def test_no_pod_is_restarted_on_the_way_to_manta_and_back(
    control_plane: ControlPlane, kuberay_crds: None, namespace: str, tmp_path: pathlib.Path
) -> None:
    clusters = Clusters(control_plane, namespace)
    with running(kuberay(control_plane, namespace, tmp_path)):
        clusters.create("plain", manifests.worker(replicas=3, maxReplicas=100))
        clusters.create("watchful", manifests.worker(replicas=1, maxReplicas=100) | RECREATE)
        clusters.until_ready("plain", 3)
        clusters.until_ready("watchful", 1)
    before = {name: clusters.uids(name) for name in ("plain", "watchful")}
    with running(operator(control_plane, namespace, tmp_path)):
        clusters.until("the head is marked as Manta's", lambda: "manta" in version(clusters, "watchful"))
        clusters.resize("plain", replicas=4)
        clusters.until_ready("plain", 4)
    taken = clusters.uids("plain")
    assert before["plain"] < taken
    assert clusters.uids("watchful") == before["watchful"]
    with running(kuberay(control_plane, namespace, tmp_path)):
        clusters.until("the head is marked as KubeRay's", lambda: "manta" not in version(clusters, "watchful"))
        clusters.resize("plain", replicas=5)
        clusters.until_ready("plain", 5)
    assert taken < clusters.uids("plain")
    assert clusters.uids("watchful") == before["watchful"]


def version(clusters: Clusters, name: str) -> str:
    """Which operator a head says that it belongs to."""
    [head] = clusters.pods(name, node_type="head")
    found: str = head["metadata"]["annotations"]["ray.io/kuberay-version"]
    return found


@pytest.fixture
def system(control_plane: ControlPlane) -> Iterator[str]:
    """The namespace that KubeRay is installed in."""
    with control_plane.fresh_namespace("kuberay-system") as name:
        yield name


def test_the_steps_of_the_doctor_lead_to_manta_and_back(
    control_plane: ControlPlane, kuberay_crds: None, system: str, namespace: str, tmp_path: pathlib.Path
) -> None:
    clusters, mover = Clusters(control_plane, namespace), Mover(control_plane, tmp_path)
    flags = [f"--watch-namespace={namespace}", f"--feature-gates={GATES}"]
    target, file = f"{system}-manta", tmp_path / "values.yaml"
    mover.install_kuberay(system, flags, [PROBES])
    with running(kuberay(control_plane, namespace, tmp_path, flags[1])):
        clusters.create("plain", manifests.worker(replicas=2, maxReplicas=100))
        clusters.create("scaled", AUTOSCALED | RECREATE)
        job = manifests.job({"suspend": True, "shutdownAfterJobFinishes": True}, name="paused")
        control_plane.request("POST", f"apis/ray.io/v1/namespaces/{namespace}/rayjobs", job)
        clusters.until_ready("plain", 2)
        clusters.until_ready("scaled", 1)
        made = mover.plan("-n", target, "--operator", f"{system}/kuberay-operator", "--values", str(file))
    before = {name: clusters.uids(name) for name in ("plain", "scaled")}
    _check_values(made, file, namespace)
    for step in made["steps"]:
        mover.run(step["run"])
    taken = Installed(control_plane, target, tmp_path, None)
    try:
        taken.start({})
        clusters.until("the head is marked as Manta's", lambda: "manta" in version(clusters, "scaled"))
        clusters.resize("plain", replicas=3)
        clusters.until_ready("plain", 3)
    finally:
        taken.stop()
    assert before["plain"] < clusters.uids("plain")
    assert clusters.uids("scaled") == before["scaled"]
    for step in made["back"]:
        mover.run(step["run"])
    with running(kuberay(control_plane, namespace, tmp_path, flags[1])):
        clusters.until("the head is marked as KubeRay's", lambda: "manta" not in version(clusters, "scaled"))
        clusters.resize("plain", replicas=4)
        clusters.until_ready("plain", 4)
    assert before["plain"] < clusters.uids("plain")
    assert clusters.uids("scaled") == before["scaled"]
    control_plane.request("DELETE", f"api/v1/namespaces/{target}")


def _check_values(made: dict[str, Any], file: pathlib.Path, namespace: str) -> None:
    """The values are those KubeRay was told, and the chart takes them."""
    assert yaml.safe_load(file.read_text()) == made["values"]
    gates = {gate["name"]: gate["enabled"] for gate in made["values"]["featureGates"]}
    assert (gates["RayCronJob"], gates["RayMultiHostIndexing"], gates["RayJobDeletionPolicy"]) == (True, False, True)
    assert made["values"]["watchNamespace"] == [namespace]
    assert made["values"]["env"] == [PROBES]
    assert made["values"]["metrics"] == {"serviceMonitor": {"interval": "10s"}}
    checks = {finding["check"]: finding["found"] for finding in made["findings"]}
    assert f"{namespace}/paused" in checks["suspended RayJobs"]
    assert f"{namespace}/scaled" in checks["RayClusters with Ray's autoscaler"]
    assert "Manta's has more fields" in checks["CRD rayjobs.ray.io"]
    assert [one for one in rendered("--values", str(file)) if one["kind"] == "Role"]
