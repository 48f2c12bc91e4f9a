"""The probes of Ray's container."""

from typing import Any

import pytest

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, head, ray, worker

RAYLET = "wget --tries 1 -T 2 -q -O- http://localhost:{port}/api/local_raylet_healthz | grep success"
GCS = "wget --tries 1 -T 10 -q -O- http://localhost:{port}/api/gcs_healthz | grep success"
SERVE = "wget --tries 1 -T 10 -q -O- http://localhost:{port}/-/healthz | grep success"
R, G, S = RAYLET.format(port=52365), GCS.format(port=8265), SERVE.format(port=8000)
BY_SERVICE = {"metadata.labels": {"ray.io/originated-from-crd": "RayService"}}
NEW = {"spec.rayVersion": "2.53.0"}


def shell(*commands: str) -> dict[str, Any]:
    return {"exec": {"command": ["bash", "-c", " && ".join(commands)]}}


def http(port: int = 52365) -> dict[str, Any]:
    return {"httpGet": {"path": "/api/healthz", "port": port}}


def timing(initial: int, timeout: int, failures: int) -> dict[str, int]:
    return {
        "initialDelaySeconds": initial,
        "timeoutSeconds": timeout,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


@pytest.mark.parametrize(
    ("made", "live", "ready"),
    [
        pytest.param(head(), shell(R, G), shell(R, G), id="a head asks raylet and GCS"),
        pytest.param(worker(), shell(R), shell(R), id="a worker asks its raylet"),
        pytest.param(head(NEW), http(), http(), id="a head of Ray 2.53 has one endpoint"),
        pytest.param(worker(NEW), http(), http(), id="a worker of Ray 2.53 too"),
        pytest.param(worker({"spec.rayVersion": "nightly"}), shell(R), shell(R), id="an unknown version is an old one"),
        pytest.param(
            head({f"{HEAD}.rayStartParams": {"dashboard-agent-listen-port": "1", "dashboard-port": "2"}}),
            shell(RAYLET.format(port=1), GCS.format(port=2)),
            shell(RAYLET.format(port=1), GCS.format(port=2)),
            id="ports by the head's parameters",
        ),
        pytest.param(
            worker(NEW | {f"{GROUP}.rayStartParams": {"dashboard-agent-listen-port": "$PORT"}}),
            http(),
            http(),
            id="a port that is no number gives way to the usual one",
        ),
        pytest.param(
            head({f"{HEAD}.rayStartParams": {"dashboard-port": str(2**31)}}),
            shell(R, G),
            shell(R, G),
            id="one too large too",
        ),
    ],
)
def test_what_is_asked(made: dict[str, Any], live: dict[str, Any], ready: dict[str, Any]) -> None:
    found = ray(made)
    seconds = 5 if made["metadata"]["labels"]["ray.io/node-type"] == "head" else 2
    assert found["livenessProbe"] == live | timing(30, seconds, 120)
    assert found["readinessProbe"] == ready | timing(10, seconds, 10)


@pytest.mark.parametrize(
    ("changes", "serve"),
    [
        pytest.param({}, S, id="an old Ray"),
        pytest.param(NEW, S, id="a new Ray"),
        pytest.param(
            {f"{GROUP}.{RAY}.ports": [{"name": "serve", "containerPort": 9}]},
            SERVE.format(port=9),
            id="a serve port of its own",
        ),
    ],
)
def test_a_service_s_worker_is_ready_when_serve_answers_and_unready_at_once(
    changes: dict[str, Any], serve: str
) -> None:
    found = ray(worker(BY_SERVICE | changes))
    assert found["readinessProbe"] == shell(R, serve) | timing(10, 2, 1)
    assert found["livenessProbe"] == (http() if NEW.items() <= changes.items() else shell(R)) | timing(30, 2, 120)


def test_a_service_s_head_is_asked_like_any_other() -> None:
    assert ray(head(BY_SERVICE))["readinessProbe"] == shell(R, G) | timing(10, 5, 10)


def test_each_probe_of_the_user_s_stays() -> None:
    mine = {"tcpSocket": {"port": 1}}
    found = ray(head({f"{HEAD}.{RAY}.livenessProbe": mine}))
    assert found["livenessProbe"] == mine
    assert found["readinessProbe"]["exec"]


def test_no_probes_where_the_administrator_wants_none() -> None:
    found = ray(head(settings=RaySettings(probes=False)))
    assert "livenessProbe" not in found
    assert "readinessProbe" not in found
