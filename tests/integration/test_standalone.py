"""`manta up` without a cluster, as a new user types it: real Ray on this machine, and what is told if it cannot be."""

import contextlib
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import yaml

from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.tools.catalogue import TOOLS

pytestmark = pytest.mark.timeout(400)
MANTA = str(pathlib.Path(sys.executable).parent / "manta")
RAY_SECONDS = 240
ROOM = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
SCRIPT = """
import os, ray
ray.init(logging_level="warning")

@ray.remote(num_cpus=0.5)
def where():
    import time; time.sleep(0.2)
    return ray.util.get_node_ip_address()

found = set(ray.get([where.options(scheduling_strategy="SPREAD").remote() for _ in range(40)]))
print("nodes", len(found), "greeting", os.environ["GREETING"])
"""


class Standalone:
    """A `manta up` with a data folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.port = folder, free_port()
        command = [MANTA, "up", "--data", str(folder / "data"), "--http", f"127.0.0.1:{self.port}"]
        self.process = Process("manta up", command, folder / "up.log")
        self.kubeconfig = folder / "data" / "api" / "kubeconfig"

    def start(self) -> None:
        """Start it, or start it again, and wait until it works."""
        self.process.start()
        self.process.wait_until("it is ready", self._is_ready, limit_seconds=60)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run the pinned kubectl against it."""
        command = [str(TOOLS["kubectl"].path), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=patient(60), check=False)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def forwarded(self, what: str, port: int) -> Iterator[str]:
        """A port of a pod or service on this machine, by kubectl; its URL."""
        command = [str(TOOLS["kubectl"].path), "--kubeconfig", str(self.kubeconfig), "port-forward", what, f":{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield f"http://{process.stdout.readline().split()[2]}"  # Forwarding from 127.0.0.1:4711 -> 8000
            finally:
                process.terminate()

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def manta(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Manta's against it."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(
            [MANTA, *arguments], env=environment, capture_output=True, text=True, timeout=RAY_SECONDS, check=False
        )

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.fixture
def standalone(tmp_path: pathlib.Path) -> Iterator[Standalone]:
    one = Standalone(tmp_path)
    yield one
    one.process.stop(limit_seconds=40)


def test_a_job_with_two_groups_runs_and_is_cleaned_up(standalone: Standalone) -> None:
    standalone.start()
    standalone.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(_sample()))
    wait_until("the job is over", lambda: _state(standalone) in ("Complete", "Failed"), limit_seconds=RAY_SECONDS)
    job = standalone.get("rayjob", "sample")
    assert job["status"]["jobStatus"] == "SUCCEEDED", job["status"]
    shown = standalone.manta("logs", "sample")
    assert "nodes 3 greeting hello" in shown.stdout, shown
    assert "nodes 3 greeting hello" in standalone.kubectl("logs", "job/sample")
    cluster = job["status"]["rayClusterName"]
    wait_until("its cluster is gone", lambda: cluster not in standalone.kubectl("get", "rayclusters"), limit_seconds=60)
    wait_until("no Ray runs", lambda: not _ray_processes(), limit_seconds=60)


def test_kubectl_reaches_into_pods(standalone: Standalone) -> None:
    standalone.start()
    web = _pod("web", "echo listening; exec python -m http.server 8000 --directory /etc/web", ports=[8000])
    web["spec"]["containers"][0]["volumeMounts"] = [{"name": "page", "mountPath": "/etc/web"}]
    web["spec"]["volumes"] = [{"name": "page", "configMap": {"name": "page"}}]
    ports = [{"name": "http", "port": 80, "targetPort": 8000}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    service["spec"] = {"selector": {"app": "web"}, "ports": ports}
    standalone.kubectl("create", "configmap", "page", "--from-literal=hello.txt=found")
    failing = _pod("failing", "echo going; echo why > /dev/termination-log; exit 3")
    standalone.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([web, service, failing]))
    standalone.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=200s")
    assert standalone.kubectl("exec", "web", "--", "cat", "/etc/web/hello.txt") == "found"
    with standalone.forwarded("service/web", 80) as url:
        assert _fetched(f"{url}/hello.txt") == "found"
    proxied = "/api/v1/namespaces/default/services/web:http/proxy/hello.txt"
    assert standalone.kubectl("get", "--raw", proxied) == "found"
    assert standalone.kubectl("logs", "web").startswith("listening\n")
    standalone.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/failing", "--timeout=200s")
    assert standalone.kubectl("logs", "-f", "failing") == "going\n"
    for told in ("Reason: Error Message: why Exit Code: 3", "Container started"):
        tells = functools.partial(_describes, standalone, "failing", told)
        wait_until(f"it is described: {told}", tells, limit_seconds=30)


def test_objects_survive_a_restart(standalone: Standalone) -> None:
    standalone.start()
    standalone.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    standalone.process.stop(limit_seconds=40)
    assert standalone.process.exit_code(within_seconds=1) == 0
    standalone.start()
    assert standalone.get("configmap", "kept")["data"] == {"a": "b"}


def test_a_folder_is_used_by_one_at_a_time(standalone: Standalone) -> None:
    standalone.start()
    again = standalone.manta("up", "--data", str(standalone.folder / "data"), "--http", "127.0.0.1:0")
    assert again.returncode == 78
    assert f"pid {standalone.process.pid}" in again.stderr
    assert "manta down" in again.stderr


def test_down_ends_it_and_says_so_when_there_is_nothing_to_end(standalone: Standalone) -> None:
    standalone.start()
    ended = standalone.manta("down", "--data", str(standalone.folder / "data"))
    assert (ended.returncode, standalone.process.exit_code(within_seconds=1)) == (0, 0)
    assert "no Manta runs" in standalone.manta("down", "--data", str(standalone.folder / "data")).stdout


def test_what_a_killed_one_left_is_ended_by_the_next(standalone: Standalone) -> None:
    standalone.start()
    standalone.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(_sleeper("orphan")))
    standalone.kubectl("wait", "--for=condition=Ready", "pod/orphan", "--timeout=200s")
    mark = "sleep 86399"
    assert _running(mark)
    standalone.process.kill()
    standalone.start()
    wait_until("at most the new one runs", lambda: len(_running(mark)) <= 1, limit_seconds=30)


def test_a_broken_file_is_kept_aside_and_told(standalone: Standalone) -> None:
    standalone.start()
    standalone.process.stop(limit_seconds=40)
    (journal,) = (standalone.folder / "data" / "api").glob("*.journal")
    journal.write_bytes(b"not a journal\n" * 20)
    standalone.start()
    assert "it is kept as" in standalone.process.log.read_text()
    assert standalone.kubectl("get", "crd", "-o", "name").count("ray.io") == 4


def test_a_port_that_is_taken_is_named(standalone: Standalone) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = standalone.manta("up", "--data", str(standalone.folder / "data"), "--http", f"127.0.0.1:{port}")
    assert done.returncode == 78
    assert f"127.0.0.1:{port}" in done.stderr


def test_the_demo_runs_and_leaves_nothing(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([MANTA, "demo"], capture_output=True, text=True, timeout=RAY_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pi is about 3.1" in done.stdout
    assert "nothing is left running" in done.stdout
    assert not _ray_processes()


@pytest.mark.parametrize(
    ("point", "signals"),
    [
        pytest.param("starting Manta", [signal.SIGINT], id="while it starts"),
        pytest.param("Manta is up", [signal.SIGTERM], id="by a kill, when it is up"),
        pytest.param("head", [signal.SIGINT, signal.SIGINT], id="twice, when a pod runs"),
    ],
)
def test_ctrl_c_ends_the_demo_with_everything(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, point: str, signals: list[signal.Signals]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    demo = Process("manta demo", [MANTA, "demo"], tmp_path / "demo.log")
    demo.start()
    demo.wait_until("it has come that far", lambda: point in demo.tail(100), limit_seconds=90)
    for number in signals:
        os.kill(demo.pid, number)
    assert demo.exit_code(within_seconds=60) == 130
    assert "nothing is left running" in demo.tail()
    assert not list(tmp_path.glob("manta-demo-*"))
    wait_until("nothing of it runs", lambda: not _running("manta-demo-"), limit_seconds=30)
    wait_until("no Ray runs", lambda: not _ray_processes(), limit_seconds=30)


def _sample() -> list[dict[str, Any]]:
    """A script in a ConfigMap, a runtime environment and two groups of workers."""
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"where.py": SCRIPT}}
    mounted = {"volumeMounts": [{"name": "code", "mountPath": "/home/ray/samples"}]}
    volumes = {"volumes": [{"name": "code", "configMap": {"name": "code"}}]}
    spec = {
        "entrypoint": "python /home/ray/samples/where.py",
        "runtimeEnvYAML": "env_vars:\n  GREETING: hello\n",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": _template("ray-head", mounted, volumes, memory="2Gi")},
            "workerGroupSpecs": [_group("first"), _group("second")],
        },
    }
    return [code, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "sample"}, "spec": spec}]


def _group(name: str) -> dict[str, Any]:
    counts = {"replicas": 1, "minReplicas": 0, "maxReplicas": 2}
    return {"groupName": name, **counts, "rayStartParams": {}, "template": _template("ray-worker", {}, {})}


def _template(name: str, container: dict[str, Any], spec: dict[str, Any], memory: str = "1Gi") -> dict[str, Any]:
    room = {bound: {**amounts, "memory": memory} for bound, amounts in ROOM.items()}
    one = {"name": name, "image": "rayproject/ray:2.60.0", "resources": room, **container}
    return {"spec": {"containers": [one], **spec}}


def _pod(name: str, script: str, ports: Sequence[int] = ()) -> dict[str, Any]:
    """A pod that runs a script once."""
    container: dict[str, Any] = {"name": "main", "image": "example/any:1", "command": ["bash", "-c", script]}
    if ports:
        container["ports"] = [{"containerPort": port} for port in ports]
        container["readinessProbe"] = {"tcpSocket": {"port": ports[0]}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=patient(30)) as answer:
        return str(answer.read().decode())


def _describes(standalone: Standalone, pod: str, text: str) -> bool:
    return text in " ".join(standalone.kubectl("describe", "pod", pod).split())


def _sleeper(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example/any:1", "command": ["sleep", "86399"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def _state(standalone: Standalone) -> str:
    return str(standalone.get("rayjob", "sample").get("status", {}).get("jobDeploymentStatus", ""))


def _ray_processes() -> list[str]:
    """Ray's own processes know the address of their pod."""
    return _running("10.244.")


def _running(word: str) -> list[str]:
    """Command lines of living processes that have a word in them, pytest's own aside."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if word in line and "pytest" not in line:
                found.append(line)
    return found
