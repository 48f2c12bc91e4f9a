"""Ingress and Route to the dashboard."""

import copy
from typing import Any

import pytest

from manta_common.ray.ingress import ingress, ingress_changes, route
from tests.unit.manta_common.ray.clusters import HEAD, RAY, cluster

LABELS = {
    "ray.io/cluster": "demo",
    "ray.io/identifier": "demo-head",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}
ANNOTATIONS = {"a": "b", "kubernetes.io/ingress.class": "nginx"}
BACKEND = {"service": {"name": "demo-head-svc", "port": {"number": 8265}}}


def test_the_ingress() -> None:
    made = ingress(cluster({"metadata.annotations": ANNOTATIONS}))
    metadata = made["metadata"]
    assert (metadata["name"], metadata["labels"], metadata["annotations"]) == ("demo-head-ingress", LABELS, {"a": "b"})
    assert metadata["ownerReferences"][0]["controller"] is True
    path = {"path": "/", "pathType": "Prefix", "backend": BACKEND}
    assert made["spec"] == {"ingressClassName": "nginx", "rules": [{"http": {"paths": [path]}}]}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        pytest.param({"host": "ray.example"}, {"host": "ray.example"}, id="a host"),
        pytest.param({"host": ""}, {}, id="an empty host is any"),
        pytest.param({"path": "/ray"}, {"path": "/ray"}, id="a path"),
        pytest.param({"path": ""}, {"path": ""}, id="an empty path is taken at its word"),
        pytest.param({"pathType": "Exact"}, {"pathType": "Exact"}, id="a type of path"),
    ],
)
def test_options(options: dict[str, Any], rule: dict[str, str]) -> None:
    made = ingress(cluster({f"{HEAD}.ingressOptions": options}))["spec"]["rules"][0]
    found = {key: made["host"] for key in ("host",) if key in made} | made["http"]["paths"][0]
    assert found == {"path": "/", "pathType": "Prefix", "backend": BACKEND} | rule


def test_certificates_and_the_dashboard_s_port() -> None:
    tls = [{"hosts": ["ray.example"], "secretName": "s"}]
    ports = [{"name": "dashboard", "containerPort": 9}]
    spec = ingress(cluster({f"{HEAD}.ingressOptions": {"tls": tls}, f"{HEAD}.{RAY}.ports": ports}))["spec"]
    assert spec["tls"] == tls
    assert spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] == {"number": 9}
    assert "ingressClassName" not in spec


def found(**changes: Any) -> dict[str, Any]:
    made = copy.deepcopy(ingress(cluster({"metadata.annotations": {"a": "b"}})))
    made["metadata"] |= {key: value for key, value in changes.items() if key != "spec"}
    made["spec"] |= changes.get("spec", {})
    return made


@pytest.mark.parametrize(
    ("there", "patch"),
    [
        pytest.param(found(), {}, id="as it should be"),
        pytest.param(found(spec={"ingressClassName": "by-default"}), {}, id="a class that the cluster chose"),
        pytest.param(
            found(annotations={"a": "x", "foreign": "1"}),
            {"metadata": {"annotations": {"a": "b", "foreign": None}}},
            id="annotations as a whole, foreign ones go",
        ),
        pytest.param(found(labels=LABELS | {"x": "y"}), {"metadata": {"labels": {"x": None}}}, id="labels too"),
        pytest.param(
            found(spec={"tls": [{"secretName": "old"}]}),
            {"spec": {"tls": None}},
            id="a spec with too much",
        ),
        pytest.param(
            found(spec={"rules": []}),
            {"spec": {"rules": found()["spec"]["rules"]}},
            id="a spec that says something else",
        ),
    ],
)
def test_changes(there: dict[str, Any], patch: dict[str, Any]) -> None:
    assert ingress_changes(ingress(cluster({"metadata.annotations": {"a": "b"}})), there) == patch


def test_the_route() -> None:
    made = route(cluster({"metadata.annotations": ANNOTATIONS}))
    assert (made["apiVersion"], made["kind"], made["metadata"]["name"]) == (
        "route.openshift.io/v1",
        "Route",
        "demo-head-route",
    )
    assert (made["metadata"]["labels"], made["metadata"]["annotations"]) == (LABELS, ANNOTATIONS)
    assert made["spec"] == {
        "to": {"kind": "Service", "name": "demo-head-svc", "weight": 100},
        "port": {"targetPort": 8265},
        "wildcardPolicy": "None",
    }
