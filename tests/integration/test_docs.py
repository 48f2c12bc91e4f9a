"""Every command of the documents, typed as it stands there; see tests/tools/documents.py for how pages are written."""

import pathlib
import urllib.request
from collections.abc import Iterator

import pytest
import yaml

from tests.integration.clusters import MANTA, running
from tests.integration.mover import Mover
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.parts.reader import Reader
from tests.parts.stub_dashboard import StubDashboard
from tests.tools.documents import Page, pages

pytestmark = pytest.mark.timeout(600)
MANTA_SYSTEM, KUBERAY_SYSTEM = "manta-system", "kuberay-system"


def _of(stage: str) -> pytest.MarkDecorator:
    found = [page for page in pages() if page.stage == stage]
    return pytest.mark.parametrize("page", found, ids=lambda page: page.path.stem)


@_of("standalone")
def test_on_this_machine(page: Page, tmp_path: pathlib.Path) -> None:
    reader = Reader(tmp_path)
    try:
        reader.read(page)
    finally:
        reader.stop()


@_of("cluster")
def test_on_a_cluster(page: Page, cluster_reader: Reader) -> None:
    cluster_reader.read(page)


@_of("cluster with KubeRay")
def test_on_a_cluster_with_kuberay(page: Page, control_plane: ControlPlane, cluster_reader: Reader) -> None:
    control_plane.request("POST", "api/v1/namespaces", {"metadata": {"name": KUBERAY_SYSTEM}})
    Mover(control_plane, cluster_reader.folder.parent).install_kuberay(KUBERAY_SYSTEM, ["--enable-metrics=true"], [])
    cluster_reader.read(page)
    control_plane.request("DELETE", f"api/v1/namespaces/{KUBERAY_SYSTEM}")


@pytest.fixture
def cluster_reader(manta: dict[str, str], tmp_path: pathlib.Path) -> Iterator[Reader]:
    """A reader with a kubeconfig; nothing that was made by a page is left for the next one."""
    reader = Reader(tmp_path, manta)
    try:
        yield reader
    finally:
        reader.stop()
        reader.run(f"helm uninstall manta --namespace {MANTA_SYSTEM} --ignore-not-found --wait")
        reader.run("kubectl delete rayjob,rayservice,raycluster,raycronjob --all")


@pytest.fixture(scope="module")
def manta(
    control_plane: ControlPlane, ray_crds: None, stub: StubDashboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """A Manta for one namespace, and the variables by which a reader finds the cluster and it."""
    folder, port = tmp_path_factory.mktemp("docs"), free_port()
    with control_plane.fresh_namespace("docs") as name:
        config = yaml.safe_load(control_plane.kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = name
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        command = [MANTA, "up", "--kubeconfig", str(control_plane.kubeconfig), "--watch-namespaces", name]
        command += ["--http", f"127.0.0.1:{port}", "--feature-gates", "RayCronJob=true"]
        reach = {"MANTA_DASHBOARD_GATEWAY_REACH": stub.dashboard_url.removeprefix("http://")}
        with running(Process("manta up", command, folder / "manta.log", environment=reach)) as process:
            process.wait_until("it is ready", lambda: _answers(f"http://127.0.0.1:{port}/readyz"), limit_seconds=60)
            yield {"KUBECONFIG": str(kubeconfig), "MANTA_URL": f"http://127.0.0.1:{port}"}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
