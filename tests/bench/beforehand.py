"""What benches wait for before they measure: whoever comes first would pay for what a control plane still has to do."""

import time
from collections.abc import Mapping
from typing import Any

from tests.bench.cluster_sides import cpu_seconds
from tests.parts.control_plane import ControlPlane
from tests.parts.process import wait_until

LIMIT_SECONDS = 600
CALM_SECONDS = 3


class Calm:
    """Whether a program has hardly worked for a while."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: list[tuple[float, float]] = []  # when, and seconds of CPU until then

    def __call__(self) -> bool:
        used, now = cpu_seconds(self._pid), time.monotonic()
        self._seen.append((now, used))
        before = [cpu for at, cpu in self._seen if now - at >= CALM_SECONDS]
        return bool(before) and used - before[-1] < 0.1 * CALM_SECONDS


def until_calm(plane: ControlPlane, owners: Mapping[str, Mapping[str, Any]]) -> None:
    """Wait until the API server is through with new definitions and the garbage collector knows these kinds of Ray's.

    Before that it asks the API server for each owner of such a kind. `owners` are specs by kind.
    """
    wait_until("the API server is through with them", Calm(plane.api_server.pid), limit_seconds=LIMIT_SECONDS)
    for kind, spec in owners.items():
        _until_collected(plane, kind, spec)


def _until_collected(plane: ControlPlane, kind: str, spec: Mapping[str, Any]) -> None:
    place, name = f"apis/ray.io/v1/namespaces/default/{kind.lower()}s", "owner"
    made = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    owner = plane.request("POST", place, made)["metadata"]
    reference = {"apiVersion": "ray.io/v1", "kind": kind, "name": name, "uid": owner["uid"]}
    owned: dict[str, Any] = {"metadata": {"name": f"owned-by-{kind.lower()}", "ownerReferences": [reference]}}
    beside = "api/v1/namespaces/default/configmaps"
    plane.request("POST", beside, owned)
    plane.request("DELETE", f"{place}/{name}")
    left = f"{beside}/{owned['metadata']['name']}"
    wait_until(f"what a {kind} owned is gone", lambda: plane.find(left) is None, limit_seconds=LIMIT_SECONDS)
