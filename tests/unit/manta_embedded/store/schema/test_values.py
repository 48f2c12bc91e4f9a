"""What a schema says against a value, in the API server's words."""

from typing import Any

import pytest

from manta_embedded.store.objects import Obj
from tests.unit.manta_embedded.store.schema.reviews import causes, gadget, gadgets


def field(schema: Obj, **rest: Any) -> Obj:
    return {"type": "object", "properties": {"f": schema}, **rest}


INTEGER: Obj = {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10}
INT_OR_STRING: Obj = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
MANY = [
    pytest.param(
        field({"type": "string"}),
        5,
        ['spec.f: Invalid value: "integer": spec.f in body must be of type string: "integer"'],
        id="another type",
    ),
    pytest.param(
        field(INTEGER),
        "a",
        ['spec.f: Invalid value: "string": spec.f in body must be of type integer: "string"'],
        id="a text for a number",
    ),
    pytest.param(
        field({"type": "integer", "format": "int32"}),
        1.5,
        [
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f',
            'spec.f: Invalid value: "float64": spec.f in body must be of type int32: "float64"',
        ],
        id="a fraction for a whole number",
    ),
    pytest.param(field(INTEGER), 3.0, [], id="a whole number written as a fraction"),
    pytest.param(
        field(INTEGER),
        -1,
        ["spec.f: Invalid value: -1: spec.f in body should be greater than or equal to 0"],
        id="too small",
    ),
    pytest.param(
        field(INTEGER),
        11,
        ["spec.f: Invalid value: 11: spec.f in body should be less than or equal to 10"],
        id="too large",
    ),
    pytest.param(
        field({"type": "integer", "format": "int32"}),
        2**31,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f'],
        id="beyond 32 bits",
    ),
    pytest.param(
        field({"type": "string", "enum": ["a", "b"]}),
        "c",
        ['spec.f: Unsupported value: "c": supported values: "a", "b"'],
        id="none of those allowed",
    ),
    pytest.param(
        field({"type": "string", "maxLength": 3}),
        "abcd",
        ["spec.f: Too long: may not be more than 3 bytes"],
        id="too long",
    ),
    pytest.param(
        field({"type": "string", "minLength": 1}),
        "",
        ['spec.f: Invalid value: "": spec.f in body should be at least 1 chars long'],
        id="too short",
    ),
    pytest.param(
        field({"type": "string", "pattern": "^a+$"}),
        "b",
        ["spec.f: Invalid value: \"b\": spec.f in body should match '^a+$'"],
        id="unlike its pattern",
    ),
    pytest.param(
        field({"type": "string", "format": "date-time"}),
        "tomorrow",
        ['spec.f: Invalid value: "tomorrow": spec.f in body must be of type date-time: "tomorrow"'],
        id="no time",
    ),
    pytest.param(
        field({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        [],
        ["spec.f: Invalid value: 0: spec.f in body should have at least 1 items"],
        id="too few items",
    ),
    pytest.param(
        field({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
        ["a", "b"],
        ["spec.f: Too many: 2: must have at most 1 item"],
        id="too many items",
    ),
    pytest.param(
        field({"type": "array", "items": {"type": "string"}}),
        ["a", 1],
        ['spec.f[1]: Invalid value: "integer": spec.f[1] in body must be of type string: "integer"'],
        id="an item of another type",
    ),
    pytest.param(
        field({"type": "object", "additionalProperties": {"type": "string"}}),
        {"a": 1},
        ['spec.f.a: Invalid value: "integer": spec.f.a in body must be of type string: "integer"'],
        id="a value of a map of another type",
    ),
    pytest.param(
        field({"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}),
        {},
        ["spec.f.x: Required value"],
        id="something missing",
    ),
    pytest.param(field(INT_OR_STRING), "50%", [], id="a text where a number or a text may be"),
    pytest.param(
        field(INT_OR_STRING),
        True,
        [
            '<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
            'spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean"',
            'spec.f: Invalid value: "boolean": spec.f in body must be of type integer: "boolean"',
        ],
        id="neither a number nor a text",
    ),
    pytest.param(
        field({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        ["a", "b", "a", "a"],
        ['spec.f[2]: Duplicate value: "a"'],
        id="twice in a set",
    ),
    pytest.param(
        field(
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            }
        ),
        [{"k": "a"}, {"k": "a"}],
        ['spec.f[1]: Duplicate value: {"k":"a"}'],
        id="a key twice in a map list",
    ),
    pytest.param(
        field({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
        {"kind": "Pod", "metadata": {"labels": {"a": "-"}}},
        [
            "spec.f.apiVersion: Required value",
            (
                'spec.f.metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of '
                "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
        ],
        id="an object within an object",
    ),
]


@pytest.mark.parametrize(("schema", "value", "expected"), MANY)
def test_a_value_is_judged(schema: Obj, value: Any, expected: list[str]) -> None:
    assert causes(gadgets(schema), gadget({"f": value})) == sorted(expected)


def test_what_was_wrong_before_may_stay_but_not_become_otherwise_wrong() -> None:
    served = gadgets(
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"type": "string"}}}
    )
    before = gadget({"a": "old"})
    assert causes(served, gadget({"a": "old", "b": "new"}), before) == []
    assert causes(served, gadget({"a": "other"}), before) == [
        'spec.a: Unsupported value: "other": supported values: "x"'
    ]


def test_a_status_is_judged_alone_and_by_its_own_paths() -> None:
    status: Obj = {"type": "object", "properties": {"n": {"type": "integer"}}}
    served = gadgets({"type": "object", "required": ["missing"]}, status=status)
    new = gadget({}) | {"status": {"n": "one"}}
    assert causes(served, new, gadget({}), subresource="status") == [
        'status.n: Invalid value: "string": n in body must be of type integer: "string"'
    ]


def test_true_is_not_what_one_was() -> None:
    served = gadgets(field({"type": "integer", "format": "int32"}))
    assert causes(served, gadget({"f": True}), gadget({"f": 1})) == [
        'spec.f: Invalid value: "": spec.f in body must be of type int32: ""'
    ]
