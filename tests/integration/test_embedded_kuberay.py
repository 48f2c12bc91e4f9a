"""KubeRay itself works on the embedded API: what is said of a real API server holds for this one too."""

import asyncio
import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any, cast

import pytest

from manta_embedded.api.serve import Api
from manta_embedded.sim.history import History
from manta_embedded.sim.loop import VirtualLoop
from manta_embedded.sim.nodes import Nodes
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

LIMIT_SECONDS = 50  # kubectl itself is given 60
LIMIT = f"--timeout={patient(LIMIT_SECONDS):g}s"
CRDS = TOOLS["kuberay"].path.parent / "config/crd/bases"


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[EmbeddedCluster]:
    """The embedded API with two nodes that run pods in name only, and KubeRay's own CRDs."""
    ensure([TOOLS["kuberay"], TOOLS["kubectl"]])
    found = EmbeddedCluster.start(tmp_path)
    found.do(_have_nodes)
    found.kubectl("apply", "--server-side", "-f", str(CRDS))
    found.kubectl("wait", "--for=condition=Established", LIMIT, "-f", str(CRDS))
    yield found
    found.stop()


@pytest.fixture
def kuberay(cluster: EmbeddedCluster, tmp_path: pathlib.Path) -> Iterator[Process]:
    """KubeRay, with the embedded API as its cluster."""
    command = [str(TOOLS["kuberay"].path), "--enable-leader-election=false"]
    command += [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
    environment = {"KUBECONFIG": str(cluster.kubeconfig)}
    process = Process("kuberay", command, tmp_path / "kuberay.log", environment=environment)
    process.start()
    yield process
    process.kill()


def _have_nodes(api: Api) -> None:
    loop = asyncio.get_running_loop()
    history = History(loop.time, lambda: None)
    nodes = Nodes(api.store, cast(VirtualLoop, loop), history, random.Random(0))
    nodes.add(2)


def _raycluster() -> dict[str, Any]:
    def template(name: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": name, "image": "rayproject/ray:2.52.0"}]}}

    workers = {
        "groupName": "workers",
        "replicas": 2,
        "minReplicas": 0,
        "maxReplicas": 4,
        "rayStartParams": {},
        "template": template("ray-worker"),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "proof"},
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
            "workerGroupSpecs": [workers],
        },
    }


def test_kuberay_makes_a_cluster_ready_scales_it_and_clears_it_away(cluster: EmbeddedCluster, kuberay: Process) -> None:
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(_raycluster()))
    cluster.kubectl("wait", "raycluster/proof", "--for=jsonpath={.status.state}=ready", LIMIT)
    assert _roles(cluster) == ["head", "worker", "worker"]
    service = cluster.request("GET", "api/v1/namespaces/default/services/proof-head-svc")
    assert {port["name"]: port["port"] for port in service["spec"]["ports"]}["dashboard"] == 8265
    patch = '[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1}]'
    cluster.kubectl("patch", "raycluster", "proof", "--type=json", "-p", patch)
    wait_until("one worker is left", lambda: _roles(cluster) == ["head", "worker"], limit_seconds=LIMIT_SECONDS)
    cluster.kubectl("delete", "raycluster", "proof", LIMIT)
    wait_until("all its pods are gone", lambda: not _roles(cluster), limit_seconds=LIMIT_SECONDS)
    assert kuberay.alive


def _roles(cluster: EmbeddedCluster) -> list[str]:
    pods = cluster.request("GET", "api/v1/namespaces/default/pods")["items"]
    return sorted(pod["metadata"]["labels"]["ray.io/node-type"] for pod in pods)
