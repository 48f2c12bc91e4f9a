"""The real node is real: containers run, services resolve, tokens count, what fails restarts, what is deleted ends."""

import functools
import json
import pathlib
import secrets
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from tests.parts.node import BUSYBOX_IMAGE, RealNode
from tests.parts.node_images import Image
from tests.parts.process import wait_until
from tests.tools.catalogue import TOOLS

LIMIT_SECONDS = 60
PAGE = "served by a pod"
FETCH = ("timeout", "5", "wget", "-q", "-O", "-")  # wget's own limit, -T, crashes the static busybox of Debian 12
KUBECTL_IMAGE = "manta.test/kubectl:1"
SERVE = f"printf '{PAGE}' > /www/index.html && exec httpd -f -p 8080 -h /www"
MODEST = {
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    "volumeMounts": [{"name": "www", "mountPath": "/www"}],
}
ROOT = pathlib.Path(__file__).parents[2]
DOOMED_RUN = """
import pathlib, sys, time
from tests.parts.enclosure import Enclosure
enclosure = Enclosure(pathlib.Path(sys.argv[1]))
enclosure.open()
enclosure.process("sleeper", ["sleep", sys.argv[2]], enclosure.folder / "sleeper.log").start()
print(enclosure.link, flush=True)
time.sleep(600)
"""


class Pod:
    """One pod on the real node."""

    def __init__(self, node: RealNode, namespace: str, name: str) -> None:
        self.node, self.namespace, self.name = node, namespace, name
        self.path = f"api/v1/namespaces/{namespace}/pods"

    def create(self, container: dict[str, Any], **fields: Any) -> "Pod":
        """Make it of one container; its name is its label, too."""
        spec = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": BUSYBOX_IMAGE, **container}],
            **fields,
        }
        body = {"metadata": {"name": self.name, "labels": {"app": self.name}}, "spec": spec}
        self.node.request("POST", self.path, body)
        return self

    def kubectl(self, *arguments: str) -> str:
        return self.node.kubectl("--namespace", self.namespace, *arguments)

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.node.request("GET", f"{self.path}/{self.name}")["status"]
        return status

    def container(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.status().get("containerStatuses", [])
        return found[0] if found else {}

    def wait_for_phase(self, phase: str) -> "Pod":
        wait_until(f"pod {self.name} is {phase}", lambda: self._has_phase(phase), limit_seconds=LIMIT_SECONDS)
        return self

    def log(self) -> str:
        return self.kubectl("logs", self.name)

    def execute(self, *command: str) -> str:
        return self.kubectl("exec", self.name, "--", *command)

    def _has_phase(self, phase: str) -> bool:
        status = self.status()
        assert phase == "Failed" or status["phase"] != "Failed", f"{status}\n{self.log()}"
        return bool(status["phase"] == phase)


def shell(script: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", script]}


def idle_pod(node: RealNode, namespace: str, name: str) -> Pod:
    return Pod(node, namespace, name).create({"command": ["sleep", "3600"]}).wait_for_phase("Running")


def answers(pod: Pod, *command: str) -> str | None:
    """What a command in a pod says, if it succeeds."""
    try:
        return pod.execute(*command)
    except subprocess.CalledProcessError:
        return None


def _says(pod: Pod, text: str, *command: str) -> bool:
    """Whether a command in a pod succeeds and says something."""
    return text in (answers(pod, *command) or "")


def fetched(url: str) -> str | None:
    """A page, if it can be had."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            text: str = answer.read().decode()
    except OSError:
        return None
    return text


def service(pod: Pod) -> dict[str, Any]:
    """The service of a pod's name."""
    spec: dict[str, Any] = pod.node.request("GET", f"api/v1/namespaces/{pod.namespace}/services/{pod.name}")["spec"]
    return spec


def is_in_back_off(container: dict[str, Any]) -> bool:
    waiting = container.get("state", {}).get("waiting", {})
    return bool(waiting.get("reason") == "CrashLoopBackOff" and container["restartCount"] >= 1)


def new_mark() -> str:
    """Seconds to sleep, by which a process is known."""
    return str(10**8 + secrets.randbelow(10**8))


def sleepers(mark: str) -> list[str]:
    """The processes of this machine, in whatever container, that sleep for so long."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if command == f"sleep\0{mark}\0".encode():
            found.append(process.name)
    return found


@pytest.fixture
def web(real_node: RealNode, node_namespace: str) -> Pod:
    """A web server behind a service of the same name."""
    pod = Pod(real_node, node_namespace, "web").create(shell(f"mkdir /www && {SERVE}"))
    spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    path = f"api/v1/namespaces/{node_namespace}/services"
    real_node.request("POST", path, {"metadata": {"name": "web"}, "spec": spec})
    return pod.wait_for_phase("Running")


def test_a_pod_runs_a_command_and_its_log_can_be_read(real_node: RealNode, node_namespace: str) -> None:
    pod = Pod(real_node, node_namespace, "greeter").create(shell("echo hello from $(hostname)"))
    assert pod.wait_for_phase("Succeeded").log() == "hello from greeter\n"


def test_a_command_is_executed_in_a_running_pod(real_node: RealNode, node_namespace: str) -> None:
    pod = idle_pod(real_node, node_namespace, "patient")
    assert pod.execute("sh", "-c", "echo $((6 * 7)) in $(hostname)") == "42 in patient\n"
    with pytest.raises(subprocess.CalledProcessError) as failure:
        pod.execute("sh", "-c", "exit 3")
    assert failure.value.returncode == 3


def test_a_service_is_resolved_and_reached_from_another_pod(web: Pod) -> None:
    name = f"web.{web.namespace}.svc.cluster.local"
    client = idle_pod(web.node, web.namespace, "client")
    address = service(web)["clusterIP"]
    resolves = functools.partial(_says, client, address, "nslookup", name)
    wait_until("the name is resolved", resolves, limit_seconds=LIMIT_SECONDS)
    get = (*FETCH, f"http://{name}")
    wait_until("the service answers a pod", lambda: answers(client, *get) == PAGE, limit_seconds=LIMIT_SECONDS)


def test_a_service_is_reached_from_this_machine_through_its_node_port(web: Pod) -> None:
    url = f"http://{web.node.enclosure.address}:{service(web)['ports'][0]['nodePort']}"
    wait_until("the service answers us", lambda: fetched(url) == PAGE, limit_seconds=LIMIT_SECONDS)


def test_a_pod_cannot_call_this_machine(real_node: RealNode, node_namespace: str) -> None:
    pod = idle_pod(real_node, node_namespace, "prisoner")
    with socket.create_server(("", 0)) as listener:
        host, port = real_node.enclosure.outer_address, listener.getsockname()[1]
        call = f"import socket; socket.create_connection(({host!r}, {port}), 5)"
        real_node.enclosure.run(sys.executable, "-c", call)  # the node itself can
        with pytest.raises(subprocess.CalledProcessError) as failure:
            pod.execute(*FETCH, f"http://{host}:{port}")
    assert "Connection refused" in failure.value.stderr


def test_the_token_of_a_pod_opens_the_api_server(real_node: RealNode, node_namespace: str) -> None:
    real_node.import_image(Image(KUBECTL_IMAGE, {"bin/kubectl": TOOLS["kubectl"].path}, entrypoint=("/bin/kubectl",)))
    name = {"name": "KUBERNETES_SERVICE_HOST", "value": "kubernetes.default.svc"}  # else it is the service's address
    pod = Pod(real_node, node_namespace, "caller").create(
        {"image": KUBECTL_IMAGE, "args": ["auth", "whoami", "-o", "json"], "env": [name]}
    )
    said = json.loads(pod.wait_for_phase("Succeeded").log())
    assert said["status"]["userInfo"]["username"] == f"system:serviceaccount:{node_namespace}:default"


def test_a_pod_without_rights_and_with_limits_becomes_ready(real_node: RealNode, node_namespace: str) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    real_node.request("PATCH", f"api/v1/namespaces/{node_namespace}", label, "application/merge-patch+json")
    pod = Pod(real_node, node_namespace, "modest").create(
        MODEST | shell(SERVE), volumes=[{"name": "www", "emptyDir": {}}]
    )
    wait_until("the probe succeeds", lambda: pod.container().get("ready", False), limit_seconds=LIMIT_SECONDS)
    assert pod.execute("id", "-u") == "1000\n"
    assert pod.execute("sh", "-c", "touch /file || echo read-only") == "read-only\n"


def test_a_failing_container_is_restarted_with_back_off(real_node: RealNode, node_namespace: str) -> None:
    pod = Pod(real_node, node_namespace, "failing").create(shell("exit 7"), restartPolicy="Always")
    wait_until("it waits for its restart", lambda: is_in_back_off(pod.container()), limit_seconds=LIMIT_SECONDS)
    assert pod.container()["lastState"]["terminated"]["exitCode"] == 7


def test_a_run_that_is_killed_leaves_no_process_and_no_network(real_node: RealNode, tmp_path: pathlib.Path) -> None:
    mark = new_mark()
    command = [sys.executable, "-c", DOOMED_RUN, str(tmp_path / "enclosure"), mark]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        try:
            link = pathlib.Path("/sys/class/net", run.stdout.readline().strip() or "(the run ended early)")
            wait_until("one sleeps", lambda: link.exists() and len(sleepers(mark)) == 1, limit_seconds=LIMIT_SECONDS)
        finally:
            run.kill()
    wait_until("nobody sleeps", lambda: sleepers(mark) == [], limit_seconds=LIMIT_SECONDS)
    wait_until(f"{link} is gone", lambda: not link.exists(), limit_seconds=LIMIT_SECONDS)


def test_deleting_a_pod_ends_its_processes(real_node: RealNode, node_namespace: str) -> None:
    mark = new_mark()
    pod = Pod(real_node, node_namespace, "sleeper").create({"command": ["sleep", mark]}).wait_for_phase("Running")
    wait_until("it sleeps", lambda: len(sleepers(mark)) == 1, limit_seconds=LIMIT_SECONDS)
    pod.kubectl("delete", "pod", pod.name, "--wait=false")
    wait_until("nobody sleeps", lambda: sleepers(mark) == [], limit_seconds=LIMIT_SECONDS)
    wait_until("the pod is gone", lambda: pod.kubectl("get", "pods", "-o", "name") == "", limit_seconds=LIMIT_SECONDS)
