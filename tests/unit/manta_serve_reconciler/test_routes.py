"""Gateway and HTTPRoute: what is made, what counts as the same, and when somebody has taken them up."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_serve_reconciler.policies import routes
from tests.examples import manifests as examples
from tests.examples.example import Json, merged
from tests.unit.manta_serve_reconciler import made

OPTIONS: Json = {"stepSizePercent": 25, "intervalSeconds": 5, "gatewayClassName": "istio"}
STEPWISE: Json = {
    "upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": OPTIONS},
    "rayClusterConfig": {"enableInTreeAutoscaling": True},
}
SERVICE = made.service(STEPWISE)
PLACE = Key("ns", "demo-gateway")


def side(role: Any, name: str) -> Any:
    return made.side(role, name, cluster=made.cluster(name, SERVICE))


def route(*shares: tuple[str, int]) -> Json:
    """The route of some clusters."""
    return routes.http_route(SERVICE, [(side("active", name), weight) for name, weight in shares])


def held(**statuses: str) -> list[Json]:
    return [{"type": name, "status": status} for name, status in statuses.items()]


def parent(conditions: list[Json], **reference: str) -> Json:
    return {"status": {"parents": [{"parentRef": {"name": "demo-gateway", **reference}, "conditions": conditions}]}}


def test_a_gateway() -> None:
    found = routes.gateway(SERVICE)
    assert found["spec"] == {
        "gatewayClassName": "istio",
        "listeners": [{"name": "http", "protocol": "HTTP", "port": 80}],
    }
    owner = found["metadata"].pop("ownerReferences")[0]
    assert found["metadata"] == {"name": "demo-gateway", "namespace": "ns"}
    assert (owner["kind"], owner["name"], owner["controller"]) == ("RayService", "demo", True)


def test_a_route_of_two_clusters() -> None:
    common = {"namespace": "ns", "port": 8000}
    assert route(("old", 75), ("new", 25))["spec"] == {
        "parentRefs": [{"name": "demo-gateway", "namespace": "ns"}],
        "rules": [
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [
                    {"name": "old-serve-svc", "weight": 75, **common},
                    {"name": "new-serve-svc", "weight": 25, **common},
                ],
            }
        ],
    }


def test_a_route_leads_to_the_port_that_the_head_calls_serve() -> None:
    ports = [{"name": "dashboard", "containerPort": 8265}, {"name": "serve", "containerPort": 9000}]
    own = made.service(merged(STEPWISE, {"rayClusterConfig": examples.head_container(ports=ports)}))
    found = routes.http_route(own, [(made.side("active", "old", cluster=made.cluster("old", own)), 100)])
    assert found["spec"]["rules"][0]["backendRefs"][0]["port"] == 9000


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"status": {"conditions": []}}, True, id="somebody said something of it"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, True, id="labelled"),
        pytest.param({"spec": {"addresses": [{"value": "10.0.0.1"}]}}, True, id="an address was given"),
        pytest.param({"spec": {"gatewayClassName": "other"}}, False, id="another class"),
        pytest.param({"spec": {"listeners": []}}, False, id="no listener"),
        pytest.param(
            {"spec": {"listeners": [{"name": "http", "protocol": "HTTP", "port": 81}]}}, False, id="another port"
        ),
        pytest.param(
            {"spec": {"listeners": [{"name": "http", "protocol": "HTTP", "port": 80, "hostname": "a.b"}]}},
            True,
            id="more of the listener than we ask for",
        ),
    ],
)
def test_a_gateway_that_is_as_it_should_be(change: Json, same: bool) -> None:
    wanted = routes.gateway(SERVICE)
    assert routes.is_same_gateway(merged(wanted, change), wanted) is same


RULE: Json = route(("old", 100))["spec"]["rules"][0]
BACKEND: Json = RULE["backendRefs"][0]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"hostnames": [], "rules": [{**RULE, "filters": []}]}, True, id="empty lists are none"),
        pytest.param({"hostnames": ["a.example"]}, False, id="a host name"),
        pytest.param({"parentRefs": [{"name": "other", "namespace": "ns"}]}, False, id="another gateway"),
        pytest.param({"rules": [RULE, RULE]}, False, id="another rule"),
        pytest.param({"rules": [{**RULE, "matches": []}]}, False, id="another match"),
        pytest.param({"rules": [{**RULE, "filters": [{"type": "URLRewrite"}]}]}, False, id="a filter"),
        pytest.param({"rules": [{**RULE, "backendRefs": []}]}, False, id="no backend"),
        pytest.param({"rules": [{**RULE, "backendRefs": [{**BACKEND, "weight": 1}]}]}, False, id="another weight"),
        pytest.param({"rules": [{**RULE, "backendRefs": [{**BACKEND, "port": 1}]}]}, False, id="another port"),
        pytest.param(
            {"rules": [{**RULE, "backendRefs": [{**BACKEND, "kind": "Service", "group": ""}]}]},
            True,
            id="what the server adds",
        ),
    ],
)
def test_a_route_that_is_as_it_should_be(change: Json, same: bool) -> None:
    wanted = route(("old", 100))
    assert routes.is_same_route({**wanted, "spec": {**wanted["spec"], **change}}, wanted) is same


def test_a_weight_that_is_not_said_is_one() -> None:
    wanted = route(("old", 1))
    unsaid = {name: value for name, value in BACKEND.items() if name != "weight"}
    found = {"spec": {**wanted["spec"], "rules": [{**RULE, "backendRefs": [unsaid]}]}}
    assert routes.is_same_route(found, wanted)


@pytest.mark.parametrize(
    ("found", "ready"),
    [
        pytest.param(None, False, id="missing"),
        pytest.param({}, False, id="nobody cares"),
        pytest.param({"status": {"conditions": held(Accepted="True")}}, False, id="not programmed"),
        pytest.param({"status": {"conditions": held(Accepted="True", Programmed="False")}}, False, id="refused"),
        pytest.param({"status": {"conditions": held(Accepted="True", Programmed="True")}}, True, id="taken up"),
    ],
)
def test_a_gateway_is_ready(found: Json | None, ready: bool) -> None:
    assert routes.is_gateway_ready(found) is ready


WELL = held(Accepted="True", ResolvedRefs="True")


@pytest.mark.parametrize(
    ("found", "ready"),
    [
        pytest.param(None, False, id="missing"),
        pytest.param({"status": {"parents": None}}, False, id="nobody cares"),
        pytest.param(parent(WELL), True, id="taken up"),
        pytest.param(parent(WELL, namespace="ns"), True, id="taken up in the same namespace"),
        pytest.param(parent(WELL, namespace="other"), False, id="by a gateway of another namespace"),
        pytest.param(parent(WELL, name="other"), False, id="by another gateway"),
        pytest.param(parent(held(Accepted="True", ResolvedRefs="False")), False, id="a backend is not found"),
        pytest.param(parent(held(Accepted="True")), False, id="half"),
    ],
)
def test_a_route_is_ready(found: Json | None, ready: bool) -> None:
    assert routes.is_route_ready(found, PLACE) is ready
