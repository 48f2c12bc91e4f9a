"""Cells: ages, pods in every state, and the paths of CRDs."""

from typing import Any

import pytest

from manta_embedded.api import pod_cells
from manta_embedded.api.ages import told
from manta_embedded.api.custom_columns import found_at

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5, "2m5s"),
        (10 * MINUTE + 5, "10m"),
        (2 * HOUR, "120m"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (9 * DAY, "9d"),
        (2 * 365 * DAY + 3 * DAY, "2y3d"),
        (9 * 365 * DAY, "9y"),
    ],
)
def test_an_age(seconds: float, text: str) -> None:
    assert told(seconds) == text


def pod(phase: str, *states: dict[str, Any], **more: Any) -> dict[str, Any]:
    statuses = [
        {"name": f"c{number}", "ready": "running" in state, "state": state} for number, state in enumerate(states)
    ]
    containers = [{"name": f"c{number}"} for number in range(max(len(states), 1))]
    meta: dict[str, Any] = {"name": "one", **more.pop("metadata", {})}
    spec = {"containers": containers, **more.pop("spec", {})}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase, "containerStatuses": statuses, **more}}


RUNNING: dict[str, Any] = {"running": {}}
INIT = {"initContainers": [{"name": "init"}]}


def initial(**state: Any) -> list[dict[str, Any]]:
    return [{"name": "init", "state": state}]


@pytest.mark.parametrize(
    ("given", "status", "ready"),
    [
        pytest.param(pod("Pending"), "Pending", "0/1", id="waits for a node"),
        pytest.param(pod("Running", RUNNING, RUNNING), "Running", "2/2", id="runs"),
        pytest.param(
            pod("Running", {"waiting": {"reason": "CrashLoopBackOff"}}), "CrashLoopBackOff", "0/1", id="crashes"
        ),
        pytest.param(pod("Failed", {"terminated": {"exitCode": 3}}), "ExitCode:3", "0/1", id="ended without a reason"),
        pytest.param(
            pod("Failed", {"terminated": {"reason": "OOMKilled", "exitCode": 137}}), "OOMKilled", "0/1", id="no memory"
        ),
        pytest.param(pod("Failed", reason="Evicted"), "Evicted", "0/1", id="was thrown out"),
        pytest.param(pod("Running", RUNNING, metadata={"deletionTimestamp": "x"}), "Terminating", "1/1", id="is going"),
        pytest.param(
            pod("Pending", spec=INIT, initContainerStatuses=initial(running={})), "Init:0/1", "0/1", id="begins"
        ),
        pytest.param(
            pod("Pending", spec=INIT, initContainerStatuses=initial(terminated={"exitCode": 2})),
            "Init:ExitCode:2",
            "0/1",
            id="its beginning failed",
        ),
    ],
)
def test_a_pod(given: dict[str, Any], status: str, ready: str) -> None:
    assert (pod_cells.status(given), pod_cells.ready(given)) == (status, ready)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.parts[0].name", ["a"]),
        (".spec.parts[-1].name", ["b"]),
        (".spec.parts[*].name", ["a", "b"]),
        ('.spec.parts[?(@.name=="b")].size', [2]),
        (".spec['size']", [3]),
        (".metadata.labels.ray\\.io/cluster", ["x"]),
        (".spec.absent.more", []),
        (".spec.parts[7].name", []),
    ],
)
def test_a_path(path: str, found: list[Any]) -> None:
    obj = {
        "metadata": {"labels": {"ray.io/cluster": "x"}},
        "spec": {"size": 3, "parts": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]},
    }
    assert found_at(obj, path) == found
