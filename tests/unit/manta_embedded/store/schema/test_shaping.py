"""Defaults are set and unknown fields dropped; what needs neither stays the very same object."""

from typing import Any

import pytest

from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.node import Node
from manta_embedded.store.schema.shaping import shaped, unknown_fields

TEXT: Obj = {"type": "string"}
NUMBER: Obj = {"type": "integer", "default": 7}


def within(spec: Obj) -> Node:
    return Node({"type": "object", "properties": {"spec": spec}})


@pytest.mark.parametrize(
    ("spec", "given", "found"),
    [
        pytest.param({"properties": {"n": NUMBER}}, {}, {"n": 7}, id="a missing field gets its default"),
        pytest.param({"properties": {"n": NUMBER}}, {"n": 0}, {"n": 0}, id="a given one keeps its value"),
        pytest.param({"properties": {"n": NUMBER}}, {"n": None}, {"n": 7}, id="null counts as missing"),
        pytest.param(
            {"properties": {"n": NUMBER | {"nullable": True}}}, {"n": None}, {"n": None}, id="unless it is allowed"
        ),
        pytest.param({"properties": {"t": TEXT}}, {"t": None}, {}, id="null without a default is dropped"),
        pytest.param(
            {"properties": {"o": {"default": {}, "properties": {"n": NUMBER}}}},
            {},
            {"o": {"n": 7}},
            id="a default has defaults of its own",
        ),
        pytest.param({"properties": {"o": {"properties": {"n": NUMBER}}}}, {}, {}, id="but no parent is made for one"),
        pytest.param(
            {"properties": {"l": {"items": {"properties": {"n": NUMBER}}}}},
            {"l": [{}, {"n": 1}]},
            {"l": [{"n": 7}, {"n": 1}]},
            id="each item gets its defaults",
        ),
        pytest.param(
            {"additionalProperties": {"properties": {"n": NUMBER}}},
            {"a": {}},
            {"a": {"n": 7}},
            id="each value of a map gets its defaults",
        ),
        pytest.param({"properties": {"t": TEXT}}, {"t": "a", "u": 1}, {"t": "a"}, id="an unknown field is dropped"),
        pytest.param(
            {"x-kubernetes-preserve-unknown-fields": True, "properties": {"o": {"properties": {"t": TEXT}}}},
            {"u": {"v": 1}, "o": {"t": "a", "u": 1}},
            {"u": {"v": 1}, "o": {"t": "a"}},
            id="unknown fields are kept where that is said, not below what is known",
        ),
        pytest.param(
            {"properties": {"o": {"x-kubernetes-embedded-resource": True, "properties": {"spec": {}}}}},
            {"o": {"kind": "A", "metadata": {"name": "a", "odd": 1}, "u": 1}},
            {"o": {"kind": "A", "metadata": {"name": "a"}}},
            id="an object within keeps its type and metadata",
        ),
    ],
)
def test_a_spec_is_shaped(spec: Obj, given: Any, found: Any) -> None:
    assert shaped({"spec": given}, within(spec)) == {"spec": found}


def test_what_fits_stays_the_same_object() -> None:
    given = {"kind": "A", "metadata": {"name": "a"}, "spec": {"l": [{"n": 1}]}}
    node = within({"properties": {"l": {"items": {"properties": {"n": NUMBER}}}}})
    assert shaped(given, node) is given


def test_nothing_is_changed_in_place() -> None:
    given: Obj = {"spec": {"l": [{}], "u": 1}}
    shaped(given, within({"properties": {"l": {"items": {"properties": {"n": NUMBER}}}}}))
    assert given == {"spec": {"l": [{}], "u": 1}}


def test_unknown_fields_are_named_by_their_paths() -> None:
    given = {"metadata": {"odd": 1}, "spec": {"u": 1, "l": [{"v": 1}], "t": None}, "extra": {}}
    node = within({"properties": {"l": {"items": {"properties": {"n": NUMBER}}}, "t": TEXT}})
    assert unknown_fields(given, node) == ["extra", "metadata.odd", "spec.l[0].v", "spec.u"]
