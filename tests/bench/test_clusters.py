"""RayClusters: Manta beside KubeRay and beside bare pods, on the same control plane in the same run."""

import asyncio
import functools
import os
import pathlib
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
import uvloop

from manta_common.api.raycluster import RayCluster
from manta_common.kinds import POD
from manta_common.kube.client import connect
from manta_common.kube.settings import KubeSettings
from manta_common.ray.names import Place
from manta_common.ray.pods import worker_pods
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.integration.clusters import Clusters, operator, running
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

WORKERS, CLUSTERS, BYSTANDERS = 500, 100, 10
IN_FLIGHT = 16
LIMIT_SECONDS = 300
pytestmark = pytest.mark.timeout(900)
Start = Callable[[ControlPlane, str, pathlib.Path], Process]


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> None:
    """Our CRDs, which KubeRay works under too."""
    ensure([TOOLS["kuberay"]])
    crds.install(control_plane)


def kuberay(plane: ControlPlane, namespace: str, folder: pathlib.Path) -> Process:
    flags = ["--enable-leader-election=false", f"--watch-namespace={namespace}"]
    flags += [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
    environment = {"KUBECONFIG": str(plane.kubeconfig)}
    return Process("kuberay", [str(TOOLS["kuberay"].path), *flags], folder / "kuberay.log", environment=environment)


PEERS: dict[str, Start] = {"KubeRay": kuberay, "Manta": operator}


@contextmanager
def operated(start: Start, plane: ControlPlane, folder: pathlib.Path) -> Iterator[tuple[Clusters, Process]]:
    """A namespace of its own with an operator that has shown that it works."""
    with plane.fresh_namespace("bench") as namespace, running(start(plane, namespace, folder)) as process:
        clusters = Clusters(plane, namespace)
        clusters.create("first", manifests.worker(replicas=0))
        clusters.until("the operator works", lambda: count(clusters) == 1)
        yield clusters, process


@contextmanager
def nodes_paused(plane: ControlPlane) -> Iterator[None]:
    """Nobody schedules or runs a pod."""
    for process in (plane.scheduler, plane.kwok):
        process.pause()
    yield
    for process in (plane.scheduler, plane.kwok):
        process.resume()


def count(clusters: Clusters) -> int:
    """How many pods there are in a namespace, at the price of one."""
    page = clusters.api.request("GET", f"api/v1/namespaces/{clusters.namespace}/pods?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def took(what: str, begin: Callable[[], object], done: Callable[[], bool]) -> float:
    """Seconds from the beginning until it is done."""
    started = time.monotonic()
    begin()
    wait_until(what, done, limit_seconds=LIMIT_SECONDS)
    return time.monotonic() - started


def large(clusters: Clusters) -> None:
    clusters.create("large", manifests.worker(replicas=WORKERS, maxReplicas=WORKERS))


def create_raw(plane: ControlPlane, namespace: str) -> None:
    """The same pods without an operator, so many in flight."""
    spec = manifests.worker(replicas=WORKERS, maxReplicas=WORKERS)
    manifest = manifests.cluster(spec, name="raw", namespace=namespace, uid="00000000-0000-0000-0000-000000000000")
    of = msgspec.json.decode(msgspec.json.encode(manifest), type=RayCluster)
    bodies = worker_pods(of, of.spec.worker_group_specs[0], [Place(n) for n in range(WORKERS)], RaySettings())

    async def main() -> None:
        room = asyncio.Semaphore(IN_FLIGHT)
        async with connect(KubeSettings(), kubeconfig=str(plane.kubeconfig)) as kube:

            async def create(body: dict[str, object]) -> None:
                metadata = {**dict(body["metadata"]), "ownerReferences": []}  # type: ignore[call-overload]
                async with room:
                    await kube.create(POD, namespace, {**body, "metadata": metadata}, msgspec.Raw)

            await asyncio.gather(*(create(body) for body in bodies))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_creates_with_nodes_paused(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    rates = {}
    with control_plane.fresh_namespace("bench") as namespace, nodes_paused(control_plane):
        started = time.monotonic()
        create_raw(control_plane, namespace)
        rates["raw"] = WORKERS / (time.monotonic() - started)
    for name, start in PEERS.items():
        with operated(start, control_plane, tmp_path) as (clusters, _), nodes_paused(control_plane):
            begin = functools.partial(large, clusters)
            rates[name] = WORKERS / took("all pods are there", begin, lambda: count(clusters) == WORKERS + 2)
    print("\npods created per second, nodes paused:", shown(rates))
    assert rates["Manta"] > 0.6 * rates["raw"]
    assert rates["Manta"] > 1.5 * rates["KubeRay"]


def test_a_large_cluster_until_ready(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    rates = {}
    with control_plane.fresh_namespace("bench") as namespace:
        path = f"api/v1/namespaces/{namespace}/pods?fieldSelector=status.phase%3DRunning"
        seconds = took(
            "all bare pods run",
            lambda: create_raw(control_plane, namespace),
            lambda: len(control_plane.request("GET", path)["items"]) == WORKERS,
        )
        rates["raw"] = WORKERS / seconds
    for name, start in PEERS.items():
        with operated(start, control_plane, tmp_path) as (clusters, _):
            begin = functools.partial(large, clusters)
            rates[name] = WORKERS / took("it is ready", begin, lambda: clusters.status("large").get("state") == "ready")
    print("\npods ready per second:", shown(rates))
    assert rates["Manta"] > 0.75 * rates["raw"]


def test_many_clusters_until_ready(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    seconds, cpu = {}, {}
    for name, start in PEERS.items():
        with operated(start, control_plane, tmp_path) as (clusters, process):
            before = cpu_seconds(process.pid)
            seconds[name] = took("all are ready", functools.partial(many, clusters), functools.partial(ready, clusters))
            cpu[name] = cpu_seconds(process.pid) - before
    print(f"\nseconds until {CLUSTERS} clusters of 4 pods are ready:", shown(seconds), "CPU seconds:", shown(cpu))
    assert seconds["Manta"] < 0.5 * seconds["KubeRay"]
    assert cpu["Manta"] < 3 * cpu["KubeRay"]


def test_a_bystander_does_not_wait_for_a_large_cluster(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    seconds = {}
    for name, start in PEERS.items():
        with operated(start, control_plane, tmp_path) as (clusters, _):
            large(clusters)
            wait_until("it grows", lambda: count(clusters) > 50, limit_seconds=LIMIT_SECONDS)
            few = manifests.worker(replicas=BYSTANDERS - 1, maxReplicas=BYSTANDERS)
            begin = functools.partial(clusters.create, "small", few)
            seconds[name] = took("the bystander's pods are there", begin, functools.partial(all_there, clusters))
    print(f"\nseconds until a bystander's {BYSTANDERS} pods are created:", shown(seconds))
    assert seconds["Manta"] < 1


def test_writes_for_a_cluster_of_four(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    port = free_port()
    start = functools.partial(_with_port, port=port)
    with operated(start, control_plane, tmp_path) as (clusters, _):
        clusters.until_ready("first", 0)
        before = writes(port)
        clusters.create("four", manifests.worker(replicas=3))
        clusters.until_ready("four", 3)
        time.sleep(15)  # events are repeated after ten seconds, if at all
        after = writes(port)
    told = {kind: after[kind] - before.get(kind, 0) for kind in after if after[kind] != before.get(kind, 0)}
    print("\nwrites until a cluster of 4 pods is ready:", told)
    assert sum(told.values()) <= 10


def _with_port(plane: ControlPlane, namespace: str, folder: pathlib.Path, *, port: int) -> Process:
    return operator(plane, namespace, folder, "--http", f"127.0.0.1:{port}")


def many(clusters: Clusters) -> None:
    for number in range(CLUSTERS):
        clusters.create(f"c{number}", manifests.worker(replicas=3))


def ready(clusters: Clusters) -> bool:
    found = [one for one in clusters.all("rayclusters") if one["metadata"]["name"] != "first"]
    return len(found) == CLUSTERS and all(one.get("status", {}).get("state") == "ready" for one in found)


def all_there(clusters: Clusters) -> bool:
    path = f"api/v1/namespaces/{clusters.namespace}/pods?labelSelector=ray.io/cluster%3Dsmall"
    return len(clusters.api.request("GET", path)["items"]) == BYSTANDERS


def writes(port: int) -> dict[str, float]:
    """The calls that changed something so far, by verb and kind."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    pattern = r'manta_api_calls_total\{[^}]*verb="(create|patch|delete)",kind="(\w+)",outcome="ok"\} (\S+)'
    return {f"{verb} {kind}": float(number) for verb, kind, number in re.findall(pattern, text)}


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children."""
    children = [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return sum(map(_cpu_seconds, [pid, *children]))


def _cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shown(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:.1f}" for name, number in numbers.items())
