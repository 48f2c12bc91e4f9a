"""On which addresses services are reached, and what stands behind them."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_embedded.node.service_ways import Way, targets, ways

KEY = Key("ns", "svc")
SERVE = {"name": "serve", "port": 80, "targetPort": 8000}


def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A service in front of an application."""
    usual = {"selector": {"app": "x"}, "clusterIP": "10.96.0.9", "ports": list(ports or [SERVE])}
    return {"metadata": {"name": "svc", "namespace": "ns"}, "spec": {**usual, **spec}}


def pod(address: str, *, ready: bool = True, app: str = "x", port: str = "serve") -> dict[str, Any]:
    """A pod that listens on port 8000, and calls it so."""
    return {
        "metadata": {"name": f"pod-{address}", "namespace": "ns", "labels": {"app": app}},
        "spec": {"containers": [{"ports": [{"name": port, "containerPort": 8000}]}]},
        "status": {
            "podIP": address,
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


INSIDE = Way(KEY, 80, "10.96.0.9", 80)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param(service(), [INSIDE], id="by its own address"),
        pytest.param(
            service({**SERVE, "nodePort": 30080}, type="NodePort"),
            [INSIDE, Way(KEY, 80, "", 30080)],
            id="by a port of this machine too",
        ),
        pytest.param(
            service({**SERVE, "nodePort": 30080}, type="LoadBalancer"),
            [INSIDE, Way(KEY, 80, "", 30080)],
            id="a load balancer has such a port",
        ),
        pytest.param(service({**SERVE, "protocol": "UDP"}), [], id="only TCP"),
        pytest.param(service(clusterIP="None"), [], id="a headless one has no address"),
        pytest.param(service(selector={}), [], id="one without a selector has no pods that we know"),
    ],
)
def test_a_service_is_reached(given: dict[str, Any], found: list[Way]) -> None:
    assert list(ways(KEY, given, inside=True)) == found


def test_without_a_network_of_pods_only_ports_of_the_machine_count() -> None:
    given = service({**SERVE, "nodePort": 30080}, type="NodePort")
    assert list(ways(KEY, given, inside=False)) == [Way(KEY, 80, "", 30080)]


def test_pods_behind_a_port_are_those_that_are_ready() -> None:
    pods = [pod("10.0.0.2"), pod("10.0.0.3", ready=False), pod("10.0.0.4", app="y")]
    assert targets(service(), 80, pods) == [("10.0.0.2", 8000)]


def test_a_port_by_name_is_looked_up_in_each_pod() -> None:
    named = service({"name": "serve", "port": 80, "targetPort": "serve"})
    assert targets(named, 80, [pod("10.0.0.2"), pod("10.0.0.3", port="other")]) == [("10.0.0.2", 8000)]


def test_a_port_that_the_service_has_no_longer_leads_nowhere() -> None:
    assert targets(service(), 81, [pod("10.0.0.2")]) == []
