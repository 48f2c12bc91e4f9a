"""RayClusters of a running KubeRay are taken over by Manta, and handed back, without a pod restarted."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.examples import manifests
from tests.integration.clusters import Clusters, operator, running
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

TOOL = TOOLS["kuberay"]
RECREATE = {"upgradeStrategy": {"type": "Recreate"}}


@pytest.fixture
def kuberay_crds(control_plane: ControlPlane) -> Iterator[None]:
    """KubeRay's own CRDs, which Manta works under too; ours come back at the end."""
    ensure([TOOL])
    crds.install(control_plane, TOOL.path.parent / "config/crd/bases")
    yield
    crds.install(control_plane)


def kuberay(plane: ControlPlane, namespace: str, folder: pathlib.Path) -> Process:
    flags = ["--enable-leader-election=false", f"--watch-namespace={namespace}"]
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
