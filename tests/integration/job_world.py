"""All services in one process on a real control plane, with one dashboard for all clusters; what tests do with jobs."""

import pathlib
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
LIMIT_SECONDS = 150
GROUPS = {"rayjobs": "apis/ray.io/v1", "rayclusters": "apis/ray.io/v1", "raycronjobs": "apis/ray.io/v1"}
GROUPS |= {"jobs": "apis/batch/v1", "pods": "api/v1", "services": "api/v1"}
CLUSTER = {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray-head", "image": "example/ray:1"}]}}}}
# A submitter that no node takes: the test does its work, whenever it likes.
NOWHERE = {
    "spec": {
        "nodeSelector": {"example.com/nowhere": "true"},
        "restartPolicy": "Never",
        "containers": [{"name": "submitter", "image": "example/ray:1"}],
    }
}
Json = dict[str, Any]


class Jobs:
    """The RayJobs, and what belongs to them, of one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def path(self, plural: str, name: str = "") -> str:
        """Where objects of a kind are."""
        return f"{GROUPS[plural]}/namespaces/{self.namespace}/{plural}/{name}".rstrip("/")

    def make(self, name: str, mode: str = "HTTPMode", **spec: Any) -> None:
        """Create a RayJob."""
        own = {} if "clusterSelector" in spec else {"rayClusterSpec": CLUSTER}
        self.create("rayjobs", name, {"submissionMode": mode, "entrypoint": "sleep 1", **own, **spec})

    def create(self, plural: str, name: str, spec: Json) -> None:
        """Create an object of Ray's."""
        kind = {"rayjobs": "RayJob", "rayclusters": "RayCluster", "raycronjobs": "RayCronJob"}[plural]
        body = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.plane.request("POST", self.path(plural), body)

    def change(self, name: str, **spec: Any) -> None:
        """Change a RayJob's spec."""
        self.plane.request("PATCH", self.path("rayjobs", name), {"spec": spec}, "application/merge-patch+json")

    def delete(self, name: str) -> None:
        """Delete a RayJob."""
        self.plane.request("DELETE", self.path("rayjobs", name))

    def find(self, plural: str, name: str) -> Json | None:
        """One object, if it is there."""
        return self.plane.find(self.path(plural, name))

    def status(self, name: str) -> Json:
        """What is said of a RayJob."""
        found: Json = (self.find("rayjobs", name) or {}).get("status", {})
        return found

    def until(self, what: str, check: Callable[[], object]) -> None:
        """Wait, within the limit of all waits here."""
        wait_until(what, lambda: bool(check()), limit_seconds=LIMIT_SECONDS)

    def reach(self, name: str, state: str) -> Json:
        """Wait until a RayJob has come so far; what is said of it then."""
        found: Json = {}

        def is_there() -> bool:
            nonlocal found
            found = self.status(name)
            return found.get("jobDeploymentStatus") == state

        self.until(f"{name} is {state}", is_there)
        return found

    def finish_submitter(self, name: str, phase: str) -> None:
        """Let the submitter's pod of a RayJob end."""
        (pod,) = self.pods(f"job-name={name}")
        self.patch_status(pod, {"phase": phase})

    def finish_sidecar(self, name: str, exit_code: int) -> None:
        """Let the submitter beside the head of a RayJob end."""
        (pod,) = self.pods(f"ray.io/cluster={self.status(name)['rayClusterName']}")
        ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
        times = {"startedAt": pod["status"]["startTime"], "finishedAt": pod["status"]["startTime"]}
        states = [
            one | ({"state": {"terminated": ended | times}} if one["name"] == "ray-job-submitter" else {})
            for one in pod["status"]["containerStatuses"]
        ]
        self.patch_status(pod, {"containerStatuses": states})

    def pods(self, selector: str) -> list[Json]:
        """Pods by their labels."""
        found: list[Json] = self.plane.request("GET", f"{self.path('pods')}?labelSelector={selector}")["items"]
        return found

    def patch_status(self, pod: Json, status: Json) -> None:
        """Say what a kubelet would say."""
        path = f"{self.path('pods', pod['metadata']['name'])}/status"
        self.plane.request("PATCH", path, {"status": status}, "application/merge-patch+json")


class JobWorld(Jobs):
    """A namespace whose RayJobs are looked after; every cluster's dashboard is at `dashboard`."""

    def __init__(self, plane: ControlPlane, namespace: str, dashboard: str, folder: pathlib.Path) -> None:
        super().__init__(plane, namespace)
        self.port = free_port()
        command = [MANTA, "up", "--kubeconfig", str(plane.kubeconfig), "--watch-namespaces", namespace]
        command += ["--http", f"127.0.0.1:{self.port}", "--data", str(folder), "--feature-gates", "RayCronJob=true"]
        settings = {
            "MANTA_DASHBOARD_GATEWAY_REACH": dashboard.removeprefix("http://"),
            "MANTA_JOB_RECONCILER_DELAY_RETRIES": "false",
        }
        self.process = Process("manta up", command, folder / "up.log", environment=settings)
        self.process.start()

    def end(self) -> None:
        """Stop the services."""
        self.process.kill()

    def metrics(self) -> str:
        """What the services measure."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=patient(10)) as answer:
            text: str = answer.read().decode()
        return text
