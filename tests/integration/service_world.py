"""All services in one process on a real control plane, with stubs for Serve; what tests do with RayServices."""

import collections
import http.client
import pathlib
import sys
import threading
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.examples import manifests
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.parts.weighted_proxy import GENERATION_HEADER, SERVICE_HEADER

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
LIMIT_SECONDS = 150
MERGE = "application/merge-patch+json"
GROUPS = {"rayservices": "apis/ray.io/v1", "rayclusters": "apis/ray.io/v1", "pods": "api/v1"}
GROUPS |= dict.fromkeys(("gateways", "httproutes"), "apis/gateway.networking.k8s.io/v1")
ONE = "applications:\n- name: one\n  import_path: a.b:app\n  route_prefix: /one\n"
TWO = f"{ONE}- name: two\n  import_path: a.c:app\n  route_prefix: /two\n"
Json = dict[str, Any]


class Services:
    """The RayServices, and what belongs to them, of one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def path(self, plural: str, name: str = "") -> str:
        """Where objects of a kind are."""
        return f"{GROUPS[plural]}/namespaces/{self.namespace}/{plural}/{name}".rstrip("/")

    def make(self, name: str, **spec: Any) -> None:
        """Create a RayService."""
        self.plane.request("POST", self.path("rayservices"), self.manifest(name, **spec))

    def manifest(self, name: str, **spec: Any) -> Json:
        """A RayService whose cluster has a head alone, or as the spec says."""
        alone = {**manifests.CLUSTER, "workerGroupSpecs": []}
        about = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name}}
        return about | {"spec": {"serveConfigV2": ONE, "rayClusterConfig": alone, **spec}}

    def change(self, name: str, **spec: Any) -> None:
        """Change a RayService's spec."""
        self.plane.request("PATCH", self.path("rayservices", name), {"spec": spec}, MERGE)

    def upgrade(self, name: str, version: str) -> None:
        """Ask for another cluster."""
        self.change(name, rayClusterConfig={"rayVersion": version})

    def delete(self, name: str) -> None:
        """Delete a RayService."""
        self.plane.request("DELETE", self.path("rayservices", name))

    def find(self, plural: str, name: str) -> Json | None:
        """One object, if it is there."""
        return self.plane.find(self.path(plural, name))

    def names(self, plural: str) -> set[str]:
        """What there is of a kind."""
        return {each["metadata"]["name"] for each in self.plane.request("GET", self.path(plural))["items"]}

    def status(self, name: str) -> Json:
        """What is said of a RayService."""
        found: Json = (self.find("rayservices", name) or {}).get("status", {})
        return found

    def active(self, name: str) -> str:
        """The cluster that serves."""
        return str(self.status(name).get("activeServiceStatus", {}).get("rayClusterName", ""))

    def pending(self, name: str) -> str:
        """The cluster to come."""
        return str(self.status(name).get("pendingServiceStatus", {}).get("rayClusterName", ""))

    def holds(self, name: str, type_: str) -> bool:
        """Whether a condition is True."""
        found = self.status(name).get("conditions", ())
        return any(each["type"] == type_ and each["status"] == "True" for each in found)

    def weights(self, name: str) -> dict[str, int]:
        """How the route of a RayService divides the traffic among clusters."""
        route = self.find("httproutes", f"{name}-httproute")
        backends = route["spec"]["rules"][0]["backendRefs"] if route else []
        return {each["name"].removesuffix("-serve-svc"): each["weight"] for each in backends}

    def until(self, what: str, check: Callable[[], object]) -> None:
        """Wait, within the limit of all waits here."""
        wait_until(what, lambda: bool(check()), limit_seconds=LIMIT_SECONDS)


class ServiceWorld(Services):
    """A namespace whose RayServices are looked after; every dashboard and proxy is at `serves`."""

    def __init__(self, plane: ControlPlane, namespace: str, serves: str, folder: pathlib.Path) -> None:
        super().__init__(plane, namespace)
        self.port = free_port()
        command = [MANTA, "up", "--kubeconfig", str(plane.kubeconfig), "--watch-namespaces", namespace]
        command += ["--http", f"127.0.0.1:{self.port}", "--data", str(folder)]
        settings = {"MANTA_DASHBOARD_GATEWAY_REACH": serves}
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


class Load:
    """Requests without a pause by one connection, and a book of who answered them."""

    def __init__(self, url: str, *, per_second: float = 50) -> None:
        self.split: dict[int, collections.Counter[str]] = {}  # by generation of the route: answers of each Service
        self.failures: list[str] = []
        self._place, self._every_seconds = url.removeprefix("http://"), 1 / per_second
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=patient(10))

    @property
    def answered(self) -> int:
        """How many requests were answered well."""
        return sum(sum(each.values()) for each in list(self.split.values()))

    def by_newest(self) -> int:
        """How many requests were answered well by the newest route that was seen."""
        return sum(self.split[max(self.split)].values()) if self.split else 0

    def last(self) -> str:
        """The Service that all requests go to by the newest route that was seen; nothing when it is divided."""
        if not self.split:
            return ""
        newest = self.split[max(self.split)]
        return next(iter(newest)) if len(newest) == 1 else ""

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._place, timeout=patient(15))
        while not self._over.wait(self._every_seconds):
            try:
                connection.request("GET", "/one")
                answer = connection.getresponse()
                self._note(answer, answer.read().decode())
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
        connection.close()

    def _note(self, answer: http.client.HTTPResponse, text: str) -> None:
        if answer.status != 200:
            self.failures.append(f"{answer.status}: {text}")
            return
        generation = int(answer.headers[GENERATION_HEADER])
        self.split.setdefault(generation, collections.Counter())[answer.headers[SERVICE_HEADER]] += 1
