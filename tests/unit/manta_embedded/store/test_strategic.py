"""What a strategic merge patch makes of lists and maps."""

from typing import Any

import pytest

from manta_common.kinds import POD, SERVICE
from manta_embedded.store.errors import StatusError
from manta_embedded.store.openapi import builtin_shape
from manta_embedded.store.strategic import merged


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}


A, B, C = ({"name": name, "image": f"{name}:1"} for name in "abc")
ORDER = "$setElementOrder/containers"
CASES = [
    pytest.param(pod(A, B), pod({"name": "b", "image": "b:2"}), pod(A, {"name": "b", "image": "b:2"}), id="one of two"),
    pytest.param(pod(A), pod(B), pod(B, A), id="a new item comes first, as the API server has it"),
    pytest.param(pod(A, B), pod({"name": "a", "$patch": "delete"}), pod(B), id="an item goes"),
    pytest.param(pod(A, B), pod({"$patch": "replace"}, C), pod(C), id="the list is replaced"),
    pytest.param(
        pod(A, B),
        {"spec": {ORDER: [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "a:2"}]}},
        pod(B, {"name": "a", "image": "a:2"}),
        id="an order that is asked for",
    ),
    pytest.param(
        pod(A, B), {"spec": {ORDER: [{"name": "b"}, {"name": "a"}]}}, pod(B, A), id="an order and nothing else"
    ),
    pytest.param(
        pod({**A, "env": [{"name": "X", "value": "1"}]}),
        pod({"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}]}),
        pod({**A, "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}]}),
        id="lists within items",
    ),
    pytest.param(
        pod({**A, "args": ["one", "two"]}), pod({"name": "a", "args": ["three"]}), pod({**A, "args": ["three"]}),
        id="a list without a key is replaced",
    ),
    pytest.param(pod(A, hostname="x"), {"spec": {"hostname": None}}, pod(A), id="a field goes"),
    pytest.param(
        {"metadata": {"finalizers": ["a/b", "c/d"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}},
        {"metadata": {"finalizers": ["c/d"]}},
        id="a value goes from a list of values",
    ),
    pytest.param(
        {"metadata": {"finalizers": ["a/b"]}}, {"metadata": {"finalizers": ["c/d"]}},
        {"metadata": {"finalizers": ["c/d", "a/b"]}}, id="a value comes to a list of values",
    ),
    pytest.param(
        pod(A, volumes=[{"name": "v", "emptyDir": {}}]),
        {"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}},
        pod(A, volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
        id="only some keys are kept",
    ),
    pytest.param(
        {"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"$patch": "replace", "b": "2"}}},
        {"metadata": {"labels": {"b": "2"}}}, id="a map is replaced",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("original", "patch", "wanted"), CASES)
def test_a_patch(original: dict[str, Any], patch: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert merged(original, patch, builtin_shape(POD)) == wanted


def test_ports_of_services_merge_by_port() -> None:
    original = {"spec": {"ports": [{"port": 80, "name": "a"}]}}
    patch = {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}
    found = merged(original, patch, builtin_shape(SERVICE))
    assert found == {"spec": {"ports": [{"port": 80, "name": "a", "targetPort": 8080}]}}


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        pytest.param(pod({"image": "x"}), "does not contain declared merge key: name", id="an item without its key"),
        pytest.param({"spec": {"$patch": "burn"}}, "unknown .patch type: burn", id="an unknown directive"),
        pytest.param([1], "is an object", id="a patch that is none"),
    ],
)
def test_a_patch_that_makes_no_sense(patch: Any, why: str) -> None:
    with pytest.raises(StatusError, match=why):
        merged(pod(A), patch, builtin_shape(POD))
