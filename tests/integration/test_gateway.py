"""The gateway as it runs: watcher and gateway as processes, a real API server whose proxy leads to the dashboard."""

import base64
import functools
import os
import pathlib
import socket
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.dashboard import calls
from manta_common.dashboard.client import Dashboards
from manta_common.dashboard.reports import JOB_INFO, JobReport
from manta_common.keys import Key
from manta_common.partitions import partition_of
from tests.parts.control_plane import ControlPlane
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_jobs import JobScript

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
TOKEN = "sesame-open-for-manta"
LIMIT_SECONDS = 60


@pytest.fixture
def stub() -> Iterator[StubDashboard]:
    """A dashboard that the API server can reach: not on a loopback address."""
    stub = StubDashboard.start(_own_address())
    stub.token = TOKEN
    yield stub
    stub.stop()


class System:
    """Objects in a namespace of a real API server, and the processes that look after them."""

    def __init__(self, plane: ControlPlane, namespace: str, nats: Nats, folder: pathlib.Path) -> None:
        self.plane, self.namespace, self.nats, self.folder = plane, namespace, nats, folder
        self.processes: list[Process] = []

    def start(self, service: str) -> tuple[Process, str]:
        """Start a service; its process, and where it serves its pages."""
        port = free_port()
        environment = {
            "MANTA_KUBECONFIG": str(self.plane.kubeconfig),
            "MANTA_NATS_URLS": self.nats.url,
            "MANTA_WATCH_NAMESPACES": self.namespace,
            "MANTA_HTTP_ADDRESS": f"127.0.0.1:{port}",
            "MANTA_DASHBOARD_GATEWAY_REACH": "proxy",
            "MANTA_DASHBOARD_GATEWAY_REQUEST_LIMIT": "30s",  # a slow machine is no trouble to be told of
        }
        log = self.folder / f"{service}-{len(self.processes)}.log"
        process = Process(service, [MANTA, "run", service], log, environment={**os.environ, **environment})
        process.start()
        self.processes.append(process)
        url = f"http://127.0.0.1:{port}"
        process.wait_until("it is ready", lambda: _is_ready(url), limit_seconds=LIMIT_SECONDS)
        return process, url

    def create(self, path: str, body: dict[str, Any]) -> None:
        self.plane.request("POST", path.format(namespace=self.namespace), body)

    def put_token(self, token: str) -> None:
        data = {"auth_token": base64.b64encode(token.encode()).decode()}
        path = f"api/v1/namespaces/{self.namespace}/secrets/ray"
        self.plane.request("PATCH", path, {"data": data}, content_type="application/merge-patch+json")

    def cluster(self, stub: StubDashboard) -> None:
        """A cluster whose head Service leads to the stub."""
        port = int(stub.dashboard_url.rpartition(":")[2])
        service = {
            "metadata": {"name": "ray-head-svc", "labels": {"ray.io/node-type": "head"}},
            "spec": {"ports": [{"name": "dashboard", "port": port}]},
        }
        head = {"ip": _own_address(), "targetRef": {"kind": "Pod", "namespace": self.namespace, "name": "head"}}
        endpoints = {
            "metadata": {"name": "ray-head-svc"},
            "subsets": [{"addresses": [head], "ports": [{"name": "dashboard", "port": port}]}],
        }
        template = {"spec": {"containers": [{"name": "ray", "image": "example/ray:1"}]}}
        spec = {
            "rayVersion": "2.60.0",
            "authOptions": {"mode": "token"},
            "headGroupSpec": {"rayStartParams": {}, "template": template},
        }
        self.create("api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "ray"}})
        self.put_token(TOKEN)
        self.pod()
        self.create("api/v1/namespaces/{namespace}/services", service)
        self.create("api/v1/namespaces/{namespace}/endpoints", endpoints)
        self.create("apis/ray.io/v1/namespaces/{namespace}/rayclusters", _ray("RayCluster", "ray", spec))

    def pod(self) -> None:
        """A pod with the address of this machine: the API server's proxy sends to addresses of pods only."""
        container = {"name": "ray", "image": "example/ray:1"}
        body = {"metadata": {"name": "head"}, "spec": {"schedulerName": "nobody", "containers": [container]}}
        self.create("api/v1/namespaces/{namespace}/pods", body)
        status = {"phase": "Running", "podIP": _own_address(), "podIPs": [{"ip": _own_address()}]}
        path = f"api/v1/namespaces/{self.namespace}/pods/head/status"
        self.plane.request("PATCH", path, {"status": status}, content_type="application/merge-patch+json")

    def job(self, name: str, job_id: str) -> None:
        """A RayJob that waits for its job on the cluster."""
        spec = {"entrypoint": "python x.py", "clusterSelector": {"ray.io/cluster": "ray"}}
        self.create("apis/ray.io/v1/namespaces/{namespace}/rayjobs", _ray("RayJob", name, spec))
        status = {
            "jobId": job_id,
            "rayClusterName": "ray",
            "dashboardURL": "ray-head-svc:8265",
            "jobDeploymentStatus": "Running",
        }
        path = f"apis/ray.io/v1/namespaces/{self.namespace}/rayjobs/{name}/status"
        self.plane.request("PATCH", path, {"status": status}, content_type="application/merge-patch+json")


@pytest.fixture
def system(
    control_plane: ControlPlane, ray_crds: None, namespace: str, own_nats: Nats, tmp_path: pathlib.Path
) -> Iterator[System]:
    system = System(control_plane, namespace, own_nats, tmp_path)
    yield system
    for process in system.processes:
        process.stop()


@pytest.fixture
async def bus(own_nats: Nats) -> AsyncIterator[NatsBus]:
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        yield bus


class Reports:
    """What is said of the jobs of a namespace."""

    def __init__(self, bus: NatsBus, namespace: str) -> None:
        self._bus, self._namespace = bus, namespace

    async def last(self, job: str) -> tuple[int, JobReport] | None:
        key = Key(self._namespace, job)
        message = await self._bus.last(JOB_INFO.subject(partition_of(key), key))
        found = JOB_INFO.decode(message.body).object if message else None
        return (message.sequence, found) if message and found else None

    async def said(self, job: str, status: str, trouble: str = "") -> int:
        """The sequence of the report with this status and trouble, once it is there."""

        async def find() -> int | None:
            found = await self.last(job)
            kind = found[1].trouble.kind if found and found[1].trouble else ""
            return found[0] if found and (found[1].status, kind) == (status, trouble) else None

        return await eventually(f"{job} is {status} {trouble}", find, limit_seconds=LIMIT_SECONDS)


async def test_a_job_is_followed_by_the_api_servers_proxy(system: System, bus: NatsBus, stub: StubDashboard) -> None:
    first, second = stub.add(2, JobScript(seconds=3600))
    reports, cluster = Reports(bus, system.namespace), Key(system.namespace, "ray")
    system.cluster(stub)
    system.start("watcher")
    gateway, _ = system.start("dashboard-gateway")
    system.job("one", first)
    before = await reports.said("one", "RUNNING")
    system.job("two", second)
    await reports.said("two", "RUNNING")
    version = await Dashboards(bus).version(calls.AboutCluster(cluster=cluster))
    assert version.ray_version == "2.60.0"

    gateway.kill()
    stub.end(second, "SUCCEEDED")
    other, _ = system.start("dashboard-gateway")
    await reports.said("two", "SUCCEEDED")
    assert await reports.said("one", "RUNNING") == before  # a hand-over is no news

    stub.token = "another-token-for-manta"
    await reports.said("one", "RUNNING", "unauthorised")
    system.put_token(stub.token)
    await reports.said("one", "RUNNING")
    other.stop()
    texts = [process.log.read_text() for process in system.processes]
    assert not [text for text in texts if TOKEN in text or stub.token in text or "Traceback" in text]


async def test_the_pages_tell_of_clusters_and_not_of_secrets(system: System, bus: NatsBus, stub: StubDashboard) -> None:
    [name] = stub.add(1, JobScript(seconds=3600))
    system.cluster(stub)
    system.start("watcher")
    _, url = system.start("dashboard-gateway")
    system.job("one", name)
    await Reports(bus, system.namespace).said("one", "RUNNING")
    for page, told in (
        ("debug/clusters", f'"{system.namespace}/ray"'),
        ("debug/clusters", '"RUNNING"'),
        ("metrics", 'manta_dashboard_followed{component="dashboard-gateway",what="jobs"} 1'),
        ("metrics", 'manta_dashboard_breakers{component="dashboard-gateway",state="closed"} 1'),
    ):
        tells = functools.partial(_tells, f"{url}/{page}", told)
        wait_until(f"{page} tells {told}", tells, limit_seconds=LIMIT_SECONDS)
    assert not any(_tells(f"{url}/{page}", TOKEN) for page in ("debug/clusters", "metrics", "debug/settings"))


def _ray(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _is_ready(url: str) -> bool:
    try:
        return bool(_got(f"{url}/readyz"))
    except OSError:
        return False


def _tells(url: str, text: str) -> bool:
    return text in _got(url)


def _got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=patient(5)) as answer:
        text: str = answer.read().decode()
        return text


def _own_address() -> str:
    """An address of this machine that is not a loopback one: the API server sends to no others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        address: str = probe.getsockname()[0]
        return address
