"""What the schema of a custom resource adds to an object and takes from it."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import Kind
from tests.contract.api.api import Api
from tests.contract.api.steps import define, merge

Obj = dict[str, Any]
SAMPLE = Kind("shaped", "Shaped", "shapeds", "defaults.contract.manta.example")
NUMBER: Obj = {"type": "integer", "default": 7}
TEXT: Obj = {"type": "string"}
OBJECT: Obj = {"type": "object", "properties": {"n": NUMBER}}
SPEC: Obj = {
    "n": NUMBER,
    "nullable": {"type": "integer", "default": 7, "nullable": True},
    "t": TEXT,
    "made": {**OBJECT, "default": {}},
    "inner": OBJECT,
    "list": {"type": "array", "items": OBJECT},
    "map": {"type": "object", "additionalProperties": OBJECT},
    "texts": {"type": "object", "additionalProperties": TEXT},
    "either": {"x-kubernetes-int-or-string": True},
    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"inner": OBJECT}},
    "whole": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"t": TEXT}}},
    },
}
ALWAYS: Obj = {"n": 7, "nullable": 7, "made": {"n": 7}}


@pytest.fixture
def shapes(api: Api) -> Api:
    """An API that serves the kind of these tests."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": SPEC},
            "status": {"type": "object", "properties": {"phase": {"type": "string", "default": "New"}}},
        },
    }
    define(api, SAMPLE, schema, subresources={"status": {}})
    return api


def sample(spec: Obj | None) -> Obj:
    body: Obj = {"apiVersion": SAMPLE.api_version, "kind": SAMPLE.kind, "metadata": {"name": "it"}}
    return body if spec is None else {**body, "spec": spec}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        pytest.param({}, {}, id="what is missing gets its default"),
        pytest.param({"n": 1}, {"n": 1}, id="what is given stays"),
        pytest.param({"n": None}, {}, id="null is as good as missing"),
        pytest.param({"nullable": None}, {"nullable": None}, id="null stays where it is allowed"),
        pytest.param({"t": None}, {}, id="null without a default goes"),
        pytest.param({"texts": {"a": None, "b": "c"}}, {"texts": {"b": "c"}}, id="null in a map goes"),
        pytest.param({"made": {}}, {}, id="a default within an object that is given"),
        pytest.param({"inner": {}}, {"inner": {"n": 7}}, id="and within one that has no default itself"),
        pytest.param({"list": [{}, {"n": 1}]}, {"list": [{"n": 7}, {"n": 1}]}, id="each item gets its defaults"),
        pytest.param({"map": {"a": {}}}, {"map": {"a": {"n": 7}}}, id="each value of a map gets its defaults"),
        pytest.param({"unknown": 1, "inner": {"n": 1, "u": 1}}, {"inner": {"n": 1}}, id="what is unknown goes"),
        pytest.param({"list": [{"n": 1, "u": 1}]}, {"list": [{"n": 1}]}, id="what is unknown in an item goes"),
        pytest.param(
            {"open": {"u": {"v": [1]}, "inner": {"u": 1}}},
            {"open": {"u": {"v": [1]}, "inner": {"n": 7}}},
            id="what is unknown stays where that is said, not below what is known",
        ),
        pytest.param({"either": 5}, {"either": 5}, id="a number where a text may be too"),
        pytest.param({"either": "50%"}, {"either": "50%"}, id="a text where a number may be too"),
        pytest.param(
            {"whole": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "u": 1}, "spec": {"u": 1}, "u": 1}},
            {"whole": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": {}}},
            id="an object within an object keeps its type and metadata",
        ),
    ],
)
def test_a_spec_is_shaped_by_its_schema(shapes: Api, space: str, given: Obj, stored: Obj) -> None:
    made = shapes.create(SAMPLE, space, sample(given))
    assert made["spec"] == ALWAYS | stored
    assert shapes.get(SAMPLE, Key(space, "it"))["spec"] == made["spec"]


def test_no_parent_is_made_for_a_default(shapes: Api, space: str) -> None:
    made = shapes.create(SAMPLE, space, sample(None))
    assert "spec" not in made


def test_metadata_that_no_object_has_goes(shapes: Api, space: str) -> None:
    body = sample({})
    body["metadata"]["unknown"] = 1
    assert "unknown" not in shapes.create(SAMPLE, space, body)["metadata"]


def test_a_field_beside_spec_and_status_goes(shapes: Api, space: str) -> None:
    assert "other" not in shapes.create(SAMPLE, space, sample({}) | {"other": 1})


def test_a_status_given_at_the_beginning_goes(shapes: Api, space: str) -> None:
    assert "status" not in shapes.create(SAMPLE, space, sample({}) | {"status": {"phase": "Done"}})


def test_a_status_has_defaults_of_its_own(shapes: Api, space: str) -> None:
    shapes.create(SAMPLE, space, sample({}))
    found = merge(shapes, SAMPLE, Key(space, "it"), {"status": {"unknown": 1}}, "status")
    assert found["status"] == {"phase": "New"}


def test_a_patch_is_shaped_as_well(shapes: Api, space: str) -> None:
    shapes.create(SAMPLE, space, sample({"n": 1}))
    found = merge(shapes, SAMPLE, Key(space, "it"), {"spec": {"n": None, "unknown": 1}})
    assert found["spec"] == ALWAYS
