"""RayClusters on a real control plane: what a user does with them, and what a user sees."""

import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.examples import manifests
from tests.examples.example import Json
from tests.parts.cluster import Cluster
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
MERGE = "application/merge-patch+json"
LIMIT_SECONDS = 60


def operator(cluster: Cluster, namespace: str, folder: pathlib.Path, *more: str) -> Process:
    """A `manta up` for one namespace that is not started yet."""
    command = [MANTA, "up", "--kubeconfig", str(cluster.kubeconfig), "--watch-namespaces", namespace]
    return Process("manta up", [*command, "--http", f"127.0.0.1:{free_port()}", *more], folder / "manta.log")


@contextmanager
def running(process: Process) -> Iterator[Process]:
    """A process from start to end."""
    process.start()
    try:
        yield process
    finally:
        process.kill()


class Clusters:
    """The RayClusters of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.api, self.namespace = cluster, namespace

    def create(self, name: str, patch: Json | None = None, **metadata: Any) -> Json:
        """Create a RayCluster."""
        return self.post("rayclusters", manifests.cluster(patch, name=name, **metadata))

    def post(self, plural: str, body: Json) -> Json:
        """Create any object."""
        made: Json = self.api.request("POST", self._path(plural), body)
        return made

    def change(self, name: str, spec: Json) -> None:
        """Merge something into a RayCluster's spec."""
        self.api.request("PATCH", self._path("rayclusters", name), {"spec": spec}, MERGE)

    def resize(self, name: str, **group: Any) -> None:
        """Change the only worker group of a RayCluster."""
        self.change(name, manifests.worker(maxReplicas=100, **group))

    def delete(self, plural: str, name: str) -> None:
        """Delete any object."""
        self.api.request("DELETE", self._path(plural, name))

    def find(self, plural: str, name: str) -> Json | None:
        """Any object, if it is there."""
        return self.api.find(self._path(plural, name))

    def all(self, plural: str) -> list[Json]:
        """All objects of a kind."""
        found: list[Json] = self.api.request("GET", self._path(plural))["items"]
        return found

    def pods(self, name: str, **labels: str) -> list[Json]:
        """The pods of a RayCluster with these labels of ray.io."""
        wanted = {"ray.io/cluster": name} | {f"ray.io/{key.replace('_', '-')}": value for key, value in labels.items()}
        return [pod for pod in self.all("pods") if wanted.items() <= pod["metadata"].get("labels", {}).items()]

    def uids(self, name: str) -> set[str]:
        """Which pods a RayCluster has."""
        return {pod["metadata"]["uid"] for pod in self.pods(name)}

    def status(self, name: str) -> Json:
        """The status of a RayCluster."""
        found: Json = (self.find("rayclusters", name) or {}).get("status", {})
        return found

    def condition(self, name: str, type_: str) -> Json:
        """A condition of a RayCluster, empty when it has none of that type."""
        found = self.status(name).get("conditions", ())
        return next((condition for condition in found if condition["type"] == type_), {})

    def events(self, reason: str) -> list[Json]:
        """The events with this reason."""
        return [event for event in self.all("events") if event["reason"] == reason]

    def until(self, what: str, holds: Any, *, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait for a condition."""
        wait_until(what, holds, limit_seconds=limit_seconds)

    def until_ready(self, name: str, workers: int, *, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait until a RayCluster says that it is ready with so many workers, and just these pods run."""
        self.until(
            f"{name} is ready with {workers} workers",
            lambda: self._is_ready(name, workers),
            limit_seconds=limit_seconds,
        )

    def _is_ready(self, name: str, workers: int) -> bool:
        status, pods = self.status(name), self.pods(name)
        counts = (status.get("readyWorkerReplicas", 0), status.get("desiredWorkerReplicas", 0))
        is_whole = len(pods) == workers + 1 and all(_runs(pod) for pod in pods)  # the status may be of before
        return is_whole and status.get("state") == "ready" and counts == (workers, workers)

    def _path(self, plural: str, name: str = "") -> str:
        groups = {
            "rayclusters": "apis/ray.io/v1",
            "events": "apis/events.k8s.io/v1",
            "ingresses": "apis/networking.k8s.io/v1",
        }
        return f"{groups.get(plural, 'api/v1')}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")


def _runs(pod: Json) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
