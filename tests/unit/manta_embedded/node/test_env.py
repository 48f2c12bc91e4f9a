"""The environment of containers."""

import base64
from typing import Any

import pytest

from manta_embedded.node import env
from manta_embedded.node.env import Sources
from manta_embedded.node.faults import CannotStart

POD: dict[str, Any] = {
    "metadata": {"name": "one", "namespace": "ns", "uid": "u", "labels": {"ray.io/cluster": "demo"}},
    "spec": {"containers": [], "nodeName": "manta"},
}
SOURCES = Sources(
    configmaps={"map": {"data": {"mode": "fast", "not=good": "x"}}, "gone": None},
    secrets={"key": {"data": {"token": base64.b64encode(b"s3cret").decode()}}},
    addresses=("10.0.0.1", "10.0.0.9"),
    allocatable={"cpu": "16", "memory": "8Gi"},
)


def made(*variables: dict[str, Any], **container: Any) -> dict[str, str]:
    """The environment of a container with these variables."""
    found = {"name": "main", "env": list(variables), **container}
    return env.environment(POD, found, {"PATH": "/bin"}, SOURCES)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("$(A) and $(B)", "1 and 2", id="variables"),
        pytest.param("$(C)", "$(C)", id="one that is not there stays"),
        pytest.param("$$(A) $$", "$(A) $", id="a dollar sign"),
        pytest.param("$A ${A} $(", "$A ${A} $(", id="what only looks like one"),
        pytest.param("$(A)$(A)", "11", id="twice"),
    ],
)
def test_expansion(text: str, wanted: str) -> None:
    assert env.expanded(text, {"A": "1", "B": "2"}) == wanted


def test_later_variables_see_earlier_ones() -> None:
    found = made({"name": "A", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)/$(PATH)"})
    assert found == {"PATH": "/bin", "A": "$(B)", "B": "b", "C": "b//bin"}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("metadata.name", "one"),
        ("metadata.namespace", "ns"),
        ("metadata.labels['ray.io/cluster']", "demo"),
        ("metadata.annotations['none']", ""),
        ("metadata.labels", 'ray.io/cluster="demo"'),
        ("spec.nodeName", "manta"),
        ("status.podIP", "10.0.0.9"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_the_downward_api(path: str, wanted: str) -> None:
    assert made({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}})["X"] == wanted


@pytest.mark.parametrize(
    ("resource", "divisor", "wanted"),
    [
        ("limits.memory", "1Mi", "512"),
        ("limits.memory", "0", "536870912"),
        ("requests.cpu", "1", "2"),
        ("requests.cpu", "1m", "1500"),
        ("limits.cpu", "1", "16"),
        ("requests.memory", "1", "0"),
    ],
)
def test_amounts(resource: str, divisor: str, wanted: str) -> None:
    reference = {"resource": resource, "divisor": divisor}
    resources = {"limits": {"memory": "512Mi"}, "requests": {"cpu": "1500m"}}
    assert made({"name": "X", "valueFrom": {"resourceFieldRef": reference}}, resources=resources)["X"] == wanted


def test_maps_and_secrets() -> None:
    found = made(
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}},
        {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "x", "optional": True}}},
        envFrom=[{"configMapRef": {"name": "map"}, "prefix": "M_"}, {"secretRef": {"name": "no", "optional": True}}],
    )
    assert found == {"PATH": "/bin", "KEY": "s3cret", "M_mode": "fast"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "gone", "key": "x"}}, 'configmap "gone" not found'),
        ({"configMapKeyRef": {"name": "map", "key": "x"}}, "couldn't find key x in ConfigMap ns/map"),
        ({"secretKeyRef": {"name": "key", "key": "x"}}, "couldn't find key x in Secret ns/key"),
        ({"fieldRef": {"fieldPath": "spec.magic"}}, 'field label not supported: "spec.magic"'),
        ({"resourceFieldRef": {"resource": "cpu"}}, 'unsupported container resource: "cpu"'),
        ({"fileKeyRef": {"key": "x"}}, "env X: standalone has no source of the kind fileKeyRef"),
    ],
)
def test_what_is_missing_is_named(source: dict[str, Any], message: str) -> None:
    with pytest.raises(CannotStart) as refused:
        made({"name": "X", "valueFrom": source})
    assert (refused.value.reason, refused.value.message) == ("CreateContainerConfigError", message)


def test_references() -> None:
    spec = {
        "initContainers": [{"envFrom": [{"secretRef": {"name": "a"}}]}],
        "containers": [{"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "b", "key": "k"}}}]}],
    }
    assert env.references(spec) == ({"b"}, {"a"})
