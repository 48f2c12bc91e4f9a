"""The toy system on real parts: what its tests want of it, do to it, and see of it."""

import json
import pathlib
import secrets
import sys
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.toy_process import Settings
from tests.integration.toy_reconciler import OWNER
from tests.integration.toy_stream import Stream
from tests.parts.cluster import ApiError
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.process import Process, wait_until

TOYS = tuple(f"t{number}" for number in range(6))
USUAL = ("watcher-1", "reconciler-1", "reconciler-2")
LIMIT_SECONDS = 40
STEPPED_CLOCK = "tests.parts.stepped_clock"
SPEC = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "startAt": {"type": "string", "format": "date-time"},
        "note": {"type": "string"},
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.example.test"},
    "spec": {
        "group": "example.test",
        "scope": "Namespaced",
        "names": {"kind": "Toy", "plural": "toys", "singular": "toy"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": SPEC}}},
            }
        ],
    },
}


class Happened(msgspec.Struct, frozen=True):
    """One thing that happened to a part: ADDED, MODIFIED or DELETED."""

    what: str
    name: str
    uid: str


class World:
    """A real API server and NATS, with the processes of the toy system."""

    def __init__(self, plane: ControlPlane, nats: Sequence[str], namespace: str, folder: pathlib.Path) -> None:
        self.plane, self.nats, self.namespace, self.folder = plane, tuple(nats), namespace, folder
        self.stream = Stream(self.nats, namespace)
        self.processes: dict[str, Process] = {}
        self._noted: dict[str, int] = {}  # how long the logs were when a test began

    def start(self, name: str, *, clock_off_seconds: int = 0, **settings: Any) -> Process:
        """Start `watcher-1`, `reconciler-2` and so on, with settings that are not as usual."""
        usual = {
            "name": name,
            "role": name.split("-", maxsplit=1)[0],
            "kubeconfig": str(self.plane.proxy_kubeconfig),
            "nats": self.nats,
            "namespace": self.namespace,
        }
        given = msgspec.json.encode(msgspec.convert(usual | settings, Settings)).decode()
        clock = [STEPPED_CLOCK, str(clock_off_seconds)] if clock_off_seconds else []
        modules = [*clock, "tests.integration.toy_process"]
        log = self.folder / f"{name}.log"
        log.touch()
        process = self.processes[name] = Process(name, [sys.executable, "-m", *modules, given], log)
        self._noted[name] = log.stat().st_size
        process.start()
        return process

    def populated(self, **settings: Any) -> "World":
        """Start a watcher and two reconcilers, and wait until they have settled their toys."""
        for name in USUAL:
            self.start(name, **settings)
        self.want(2)
        self.settles(2)
        return self

    def restore(self) -> None:
        """The usual processes run, and have settled the usual toys; what a test has left behind is removed."""
        self.end(lambda name: name not in USUAL)
        for process in self.processes.values():
            process.resume()
        for name in (name for name in USUAL if name not in self.processes):
            self.start(name)
        self._remove_odd_ones()
        self.want(2)
        self.settles(2)
        self.is_shown()
        self._noted = {name: process.log.stat().st_size for name, process in self.processes.items()}

    def end(self, which: Callable[[str], bool] = lambda _: True) -> None:
        """End processes at once; those that have ended already are forgotten."""
        for name, process in list(self.processes.items()):
            if process.alive and which(name):
                process.kill()
            if not process.alive:
                del self.processes[name]

    def want(self, count: int, toys: Iterable[str] = TOYS, **spec: Any) -> None:
        """These toys shall have so many parts."""
        for toy in toys:
            body = {"apiVersion": "example.test/v1", "kind": "Toy", "metadata": {"name": toy}}
            path = f"{self._toys}/{toy}?fieldManager=test&force=true"
            self.plane.request("PATCH", path, body | {"spec": {"count": count, **spec}}, "application/apply-patch+yaml")

    def make_part(self, name: str, toy: str) -> str:
        """A part that is made by hand; its uid."""
        body = {"metadata": {"name": name, "labels": {OWNER: toy}}}
        uid: str = self.plane.request("POST", self._parts, body)["metadata"]["uid"]
        return uid

    def give_part(self, name: str, toy: str) -> None:
        """Let a part belong to another toy."""
        body = {"metadata": {"labels": {OWNER: toy}}}
        self.plane.request("PATCH", f"{self._parts}/{name}", body, "application/merge-patch+json")

    def delete_part(self, name: str) -> None:
        """Delete a part by hand."""
        self.plane.request("DELETE", f"{self._parts}/{name}")

    def delete_toy(self, name: str) -> None:
        """Delete a toy, but not its parts."""
        self.plane.request("DELETE", f"{self._toys}/{name}")

    def parts(self) -> dict[str, str]:
        """The parts that there are, with their uids."""
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in self._listed()["items"]}

    def made_at(self) -> dict[str, datetime]:
        """When the parts were made, by the API server's clock."""
        metas = [item["metadata"] for item in self._listed()["items"]]
        return {meta["name"]: datetime.fromisoformat(meta["creationTimestamp"]) for meta in metas}

    def version(self) -> str:
        """Up to where the parts have come."""
        version: str = self._listed()["metadata"]["resourceVersion"]
        return version

    def reported(self) -> dict[str, int]:
        """What the toys say of themselves."""
        found = self.plane.request("GET", self._toys)["items"]
        return {toy["metadata"]["name"]: toy.get("status", {}).get("count", -1) for toy in found}

    def history(self, since: str) -> list[Happened]:
        """Everything that happened to parts after a version."""
        end = f"end-{secrets.token_hex(4)}"  # no part of anything: what comes before it in the watch is all there was
        self.plane.request("POST", self._parts, {"metadata": {"name": end}})
        query = f"watch=1&resourceVersion={since}"
        request = urllib.request.Request(
            f"{self.plane.server}/{self._parts}?{query}", headers={"Authorization": f"Bearer {self.plane.token}"}
        )
        found: list[Happened] = []
        with urllib.request.urlopen(request, context=self.plane.tls, timeout=patient(LIMIT_SECONDS)) as answer:
            for event in map(json.loads, answer):
                meta = event["object"]["metadata"]
                if meta["name"] == end:
                    return found
                if OWNER in meta.get("labels", {}):
                    found.append(Happened(event["type"], meta["name"], meta["uid"]))
        raise AssertionError("the watch ended before its time")

    def settles(self, count: int, toys: Iterable[str] = TOYS, *, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait until there are these toys, every one has exactly its parts and says so, and there are no others."""
        names = tuple(toys)
        wanted = {f"{toy}-{number}" for toy in names for number in range(count)}
        self.eventually(
            f"{len(names)} toys have {count} parts each",
            lambda: set(self.parts()) == wanted and self.reported() == dict.fromkeys(names, count),
            limit_seconds=limit_seconds,
        )

    def is_shown(self) -> None:
        """Wait until the stream says of every toy and part that it is there, once, and of nothing else."""

        def shown() -> bool:
            there = {("toy", name) for name in self.reported()} | {("configmap", name) for name in self.parts()}
            standing = self.stream.standing()
            return standing.keys() == there and all(len(places) == 1 for places in standing.values())

        self.eventually("the stream shows what there is", shown)

    def eventually(self, what: str, check: Callable[[], object], *, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait for something; the processes' logs come with the failure."""

        def checked() -> bool:
            try:
                return bool(check())
            except (ApiError, OSError):  # the API server is down: not yet
                return False

        try:
            wait_until(what, checked, limit_seconds=limit_seconds)
        except TimeoutError as error:
            logs = "\n".join(f"--- {name}\n{process.tail(15)}" for name, process in self.processes.items())
            raise AssertionError(f"{error}\n{sorted(self.parts())}\n{self.reported()}\n{logs}") from None

    def logged(self, name: str, message: str) -> list[dict[str, Any]]:
        """The whole lines that a process logged with this message since the test began."""
        with self.processes[name].log.open() as log:
            log.seek(self._noted[name])
            lines = [json.loads(line) for line in log if line.startswith("{") and line.endswith("}\n")]
        return [line for line in lines if line["message"] == message]

    def metric(self, name: str, metric: str) -> float:
        """The sum of a metric that a process serves."""
        lines = [json.loads(line) for line in self.processes[name].log.read_text().splitlines() if "toy starts" in line]
        with urllib.request.urlopen(f"http://127.0.0.1:{lines[-1]['port']}/metrics", timeout=10) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        return sum(sample.value for family in families for sample in family.samples if sample.name == metric)

    def _remove_odd_ones(self) -> None:
        for toy in self.reported():
            if toy not in TOYS:
                self.delete_toy(toy)
        for part in self.parts():
            if part.split("-")[0] not in TOYS:
                self.delete_part(part)

    @property
    def _toys(self) -> str:
        return f"apis/example.test/v1/namespaces/{self.namespace}/toys"

    @property
    def _parts(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps"

    def _listed(self) -> Any:
        return self.plane.request("GET", f"{self._parts}?labelSelector={OWNER}")
