"""`manta up` as a user types it: all services in one process against a real cluster, with its own NATS."""

import asyncio
import json
import pathlib
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
CLUSTER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "one"},
    "spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray", "image": "example/ray:1"}]}}}},
}


class Up:
    """A `manta up` that runs."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: pathlib.Path, *more: str) -> None:
        self.port, self.folder, self.namespace = free_port(), folder, namespace
        command = [MANTA, "up", "--kubeconfig", str(plane.kubeconfig), "--watch-namespaces", namespace]
        command += ["--http", f"127.0.0.1:{self.port}", *more]
        self.process = Process("manta up", command, folder / "up.log")
        self.process.start()
        self.process.wait_until("it is ready", self.ready, limit_seconds=60)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def ready(self) -> bool:
        try:
            return bool(self.get("/readyz"))
        except OSError:
            return False

    @property
    def nats_url(self) -> str:
        found = re.search(r'listen: "(.*)"', (self.folder / "nats" / "nats.conf").read_text())
        assert found
        return f"nats://{found.group(1)}"


@pytest.fixture
def up(control_plane: ControlPlane, ray_crds: None, namespace: str, tmp_path: pathlib.Path) -> Iterator[Up]:
    running = Up(control_plane, namespace, tmp_path, "--data", str(tmp_path))
    yield running
    running.process.kill()


def watched(url: str) -> int:
    """How many RayClusters the stream knows."""

    async def main() -> int:
        async with (
            open_bus(BusSettings(urls=(url,))) as bus,
            bus.replay(["manta.v1.state.*.*.raycluster.>"]) as batches,
        ):
            count = 0
            async for batch in batches:
                count += len(batch.messages)
                if batch.caught_up:
                    break
            return count

    return asyncio.run(main())


def test_it_runs_the_watcher_with_a_nats_of_its_own(control_plane: ControlPlane, up: Up) -> None:
    control_plane.request("POST", f"apis/ray.io/v1/namespaces/{up.namespace}/rayclusters", CLUSTER)
    wait_until("the cluster is published", lambda: watched(up.nats_url) == 1, limit_seconds=30)
    assert "watcher" in json.loads(up.get("/debug/state"))
    assert "manta_api_calls_total" in up.get("/metrics")


def test_sigterm_ends_it_in_good_order_with_its_nats(up: Up) -> None:
    pid = int((up.folder / "nats" / "nats.pid").read_text())
    up.process.stop(limit_seconds=20)
    assert up.process.exit_code(within_seconds=1) == 0, up.process.tail()
    assert not is_running(pid)


def test_its_nats_does_not_outlive_a_killed_process(up: Up) -> None:
    pid = int((up.folder / "nats" / "nats.pid").read_text())
    up.process.kill()
    wait_until("its NATS has ended", lambda: not is_running(pid), limit_seconds=10)


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has collected yet has."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is looked at
        return False


def test_it_uses_a_nats_that_is_given(
    control_plane: ControlPlane, ray_crds: None, namespace: str, own_nats: Nats, tmp_path: pathlib.Path
) -> None:
    running = Up(control_plane, namespace, tmp_path, "--nats", own_nats.url)
    try:
        control_plane.request("POST", f"apis/ray.io/v1/namespaces/{namespace}/rayclusters", CLUSTER)
        wait_until("the cluster is published", lambda: watched(own_nats.url) == 1, limit_seconds=30)
        assert not (tmp_path / "nats").exists()
    finally:
        running.process.kill()


@pytest.mark.parametrize(
    ("flags", "code", "complaint"),
    [
        pytest.param(["--kubeconfig", "/none"], 78, "/none", id="no such kubeconfig"),
        pytest.param(["--kubeconfig", "x", "--nats", "http://x"], 78, "nats://", id="a URL that is not NATS'"),
        pytest.param(["--kubeconfig", "x", "--feature-gates", "RayCronJobs=true"], 78, "RayCronJob", id="unknown gate"),
        pytest.param(["--nats", "nats://x"], 78, "--kubeconfig", id="a NATS without a cluster"),
    ],
)
def test_bad_input_is_told_in_a_sentence(flags: list[str], code: int, complaint: str) -> None:
    done = subprocess.run([MANTA, "up", *flags], capture_output=True, text=True, check=False, timeout=patient(60))
    assert done.returncode == code, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
