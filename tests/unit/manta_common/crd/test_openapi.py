"""OpenAPI becomes structural schema."""

import json
from typing import Any

import pytest

from manta_common.crd import kubernetes
from manta_common.crd.openapi import definitions, inlined

TEXT: dict[str, Any] = {"type": "string"}
SET: dict[str, Any] = {"type": "array", "x-kubernetes-list-type": "set"}
REF = "#/components/schemas/"


def taken(**schemas: Any) -> dict[str, Any]:
    document = {"components": {"schemas": {name.replace("_", "."): value for name, value in schemas.items()}}}
    return definitions([document], [next(iter(schemas)).replace("_", ".")])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"type": "string", "description": "prose", "enum": ["a"]}, TEXT, id="no prose, no enum"),
        pytest.param(
            {"type": "object", "required": ["b", "a"], "properties": {"b": {"type": "string", "default": ""}}},
            {"type": "object", "required": ["a", "b"], "properties": {"b": {"type": "string"}}},
            id="the default of a required field is only Go's zero",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": TEXT | {"default": "TCP"}, "b": {"type": "object", "default": {}}}},
            {"type": "object", "properties": {"a": TEXT | {"default": "TCP"}, "b": {"type": "object"}}},
            id="the default of an optional field is meant",
        ),
        pytest.param(
            SET | {"items": TEXT | {"default": ""}, "x-kubernetes-patch-strategy": "merge"},
            SET | {"items": TEXT},
            id="list types stay, patch strategies go",
        ),
    ],
)
def test_a_definition_becomes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert taken(one=given) == {"one": expected}


def test_references_are_followed_and_put_in_place() -> None:
    found = taken(
        one={"type": "object", "properties": {"two": {"allOf": [{"$ref": f"{REF}two"}], "default": {}}}},
        two={"type": "object", "properties": {"size": {"$ref": f"{REF}io.k8s.apimachinery.pkg.api.resource.Quantity"}}},
        three={"type": "string"},
    )
    assert set(found) == {"one", "two", "io.k8s.apimachinery.pkg.api.resource.Quantity"}
    whole = inlined(found["one"], found)
    assert whole["properties"]["two"]["properties"]["size"]["x-kubernetes-int-or-string"] is True


def test_the_stored_definitions_are_in_the_form_they_are_taken_in() -> None:
    text = kubernetes.stored()
    known = json.loads(text)
    lines = text.splitlines()
    assert len(lines) == len(known) + 2
    assert list(known) == sorted(known)
    assert set(kubernetes.ROOTS) <= set(known)


def test_a_definition_that_is_not_stored_is_an_error() -> None:
    with pytest.raises(KeyError):
        kubernetes.load()("io.k8s.api.core.v1.Node")
