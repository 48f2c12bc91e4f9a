"""What the schema of a custom resource refuses, in which words and at which field."""

import secrets
from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CRD, Kind
from tests.contract.api.api import Api
from tests.contract.api.steps import causes, define, merge, refusal
from tests.parts.cluster import ApiError

Obj = dict[str, Any]
SAMPLE = Kind("checked", "Checked", "checkeds", "validation.contract.manta.example")
SPEC: Obj = {
    "text": {"type": "string"},
    "number": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10},
    "large": {"type": "integer", "format": "int32"},
    "above": {"type": "number", "minimum": 0.5, "exclusiveMinimum": True},
    "even": {"type": "integer", "multipleOf": 2},
    "flag": {"type": "boolean"},
    "choice": {"type": "string", "enum": ["a", "b"]},
    "short": {"type": "string", "maxLength": 3},
    "long": {"type": "string", "minLength": 2},
    "like": {"type": "string", "pattern": "^a+$"},
    "time": {"type": "string", "format": "date-time"},
    "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "list": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "parts": {
        "type": "array",
        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "map": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
    "strict": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
    "one": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "whole": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


@pytest.fixture
def checks(api: Api) -> Api:
    """An API that serves the kind of these tests."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": SPEC},
            "status": {"type": "object", "properties": {"count": {"type": "integer"}}},
        },
    }
    define(api, SAMPLE, schema, subresources={"status": {}})
    return api


def sample(name: str = "it", **spec: Any) -> Obj:
    return {"apiVersion": SAMPLE.api_version, "kind": SAMPLE.kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"text": 5},
            ['spec.text: Invalid value: "integer": spec.text in body must be of type string: "integer"'],
            id="another type",
        ),
        pytest.param(
            {"number": "5"},
            ['spec.number: Invalid value: "string": spec.number in body must be of type integer: "string"'],
            id="a text for a number",
        ),
        pytest.param(
            {"flag": 1},
            ['spec.flag: Invalid value: "integer": spec.flag in body must be of type boolean: "integer"'],
            id="a number for a flag",
        ),
        pytest.param(
            {"large": True},
            ['spec.large: Invalid value: "": spec.large in body must be of type int32: ""'],
            id="a flag for a number with a format",
        ),
        pytest.param(
            {"large": 1.5},
            [
                '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.large',
                'spec.large: Invalid value: "float64": spec.large in body must be of type int32: "float64"',
            ],
            id="a fraction for a whole number",
        ),
        pytest.param(
            {"large": 2**31},
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.large'],
            id="a number beyond 32 bits",
        ),
        pytest.param(
            {"number": -1},
            ["spec.number: Invalid value: -1: spec.number in body should be greater than or equal to 0"],
            id="too small",
        ),
        pytest.param(
            {"number": 11},
            ["spec.number: Invalid value: 11: spec.number in body should be less than or equal to 10"],
            id="too large",
        ),
        pytest.param(
            {"above": 0.5},
            ["spec.above: Invalid value: 0.5: spec.above in body should be greater than 0.5"],
            id="not above",
        ),
        pytest.param(
            {"even": 3}, ["spec.even: Invalid value: 3: spec.even in body should be a multiple of 2"], id="no multiple"
        ),
        pytest.param(
            {"choice": "c"},
            ['spec.choice: Unsupported value: "c": supported values: "a", "b"'],
            id="none of those allowed",
        ),
        pytest.param({"short": "abcd"}, ["spec.short: Too long: may not be more than 3 bytes"], id="too long"),
        pytest.param(
            {"long": "a"},
            ['spec.long: Invalid value: "a": spec.long in body should be at least 2 chars long'],
            id="too short",
        ),
        pytest.param(
            {"like": "b"}, ["spec.like: Invalid value: \"b\": spec.like in body should match '^a+$'"], id="unlike"
        ),
        pytest.param(
            {"time": "tomorrow"},
            ['spec.time: Invalid value: "tomorrow": spec.time in body must be of type date-time: "tomorrow"'],
            id="no time",
        ),
        pytest.param(
            {"either": True},
            [
                '<nil>: Invalid value: "": "spec.either" must validate at least one schema (anyOf)',
                'spec.either: Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"',
                'spec.either: Invalid value: "boolean": spec.either in body must be of type integer: "boolean"',
            ],
            id="neither a number nor a text",
        ),
        pytest.param(
            {"list": []},
            ["spec.list: Invalid value: 0: spec.list in body should have at least 1 items"],
            id="too few items",
        ),
        pytest.param(
            {"list": ["a", "b", "c"]}, ["spec.list: Too many: 3: must have at most 2 items"], id="too many items"
        ),
        pytest.param(
            {"list": ["a", 1]},
            ['spec.list[1]: Invalid value: "integer": spec.list[1] in body must be of type string: "integer"'],
            id="an item of another type",
        ),
        pytest.param(
            {"list": ["a", None]},
            ['spec.list[1]: Invalid value: "null": spec.list[1] in body must be of type string: "null"'],
            id="an item that is null",
        ),
        pytest.param({"set": ["a", "b", "a"]}, ['spec.set[2]: Duplicate value: "a"'], id="twice in a set"),
        pytest.param(
            {"parts": [{"name": "a"}, {"name": "a"}]},
            ['spec.parts[1]: Duplicate value: {"name":"a"}'],
            id="twice in a map list",
        ),
        pytest.param({"parts": [{}]}, ["spec.parts[0].name: Required value"], id="an item without its key"),
        pytest.param(
            {"map": {"a": 1}},
            ['spec.map.a: Invalid value: "integer": spec.map.a in body must be of type string: "integer"'],
            id="a value of a map of another type",
        ),
        pytest.param(
            {"map": {"a": "", "b": "", "c": ""}},
            ["spec.map: Too many: 3: must have at most 2 items"],
            id="too many keys",
        ),
        pytest.param({"strict": {}}, ["spec.strict.x: Required value"], id="something missing"),
        pytest.param(
            {"one": {"a": "", "b": ""}},
            [
                (
                    '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). '
                    "Found 2 valid alternatives"
                )
            ],
            id="two of which one is allowed",
        ),
        pytest.param(
            {"whole": {"kind": "A"}},
            ["spec.whole.apiVersion: Required value"],
            id="an object that does not say what it is",
        ),
        pytest.param(
            {"choice": "c", "strict": {}, "number": -1},
            [
                "spec.number: Invalid value: -1: spec.number in body should be greater than or equal to 0",
                "spec.strict.x: Required value",
                'spec.choice: Unsupported value: "c": supported values: "a", "b"',
            ],
            id="everything at once",
        ),
    ],
)
def test_a_value_is_refused(checks: Api, space: str, spec: Obj, expected: list[str]) -> None:
    status = refusal(lambda: checks.create(SAMPLE, space, sample(**spec)))
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert causes(status) == sorted(expected)


def test_the_message_names_kind_and_object(checks: Api, space: str) -> None:
    status = refusal(lambda: checks.create(SAMPLE, space, sample(strict={})))
    assert status["message"] == f'Checked.{SAMPLE.group} "it" is invalid: spec.strict.x: Required value'
    assert (status["details"]["name"], status["details"]["kind"]) == ("it", "Checked")


def test_several_causes_stand_in_brackets(checks: Api, space: str) -> None:
    status = refusal(lambda: checks.create(SAMPLE, space, sample(list=["a", 1, 2])))
    assert status["message"].endswith(
        'is invalid: [spec.list[1]: Invalid value: "integer": spec.list[1] in body must be of type string: "integer", '
        'spec.list[2]: Invalid value: "integer": spec.list[2] in body must be of type string: "integer", '
        "spec.list: Too many: 3: must have at most 2 items]"
    )


def test_an_update_is_checked_as_well(checks: Api, space: str) -> None:
    checks.create(SAMPLE, space, sample(number=1))
    status = refusal(lambda: merge(checks, SAMPLE, Key(space, "it"), {"spec": {"number": 50}}))
    assert causes(status) == ["spec.number: Invalid value: 50: spec.number in body should be less than or equal to 10"]


def test_a_status_is_checked_by_paths_of_its_own(checks: Api, space: str) -> None:
    checks.create(SAMPLE, space, sample())
    status = refusal(lambda: merge(checks, SAMPLE, Key(space, "it"), {"status": {"count": "one"}}, "status"))
    assert causes(status) == ['status.count: Invalid value: "string": count in body must be of type integer: "string"']


def test_what_was_wrong_before_may_stay(api: Api, space: str) -> None:
    word = f"tightened{secrets.token_hex(3)}"
    kind = Kind(word, word.capitalize(), f"{word}s", SAMPLE.group)
    names: Obj = {"a": {"type": "string"}, "b": {"type": "string"}}
    define(api, kind, {"type": "object", "properties": {"spec": {"type": "object", "properties": names}}})
    api.create(kind, space, sample(a="old") | {"kind": kind.kind})
    tighten(api, kind, space)
    place = Key(space, "it")
    assert merge(api, kind, place, {"spec": {"b": "new"}})["spec"] == {"a": "old", "b": "new"}
    status = refusal(lambda: merge(api, kind, place, {"spec": {"a": "other"}}))
    assert causes(status) == ['spec.a: Unsupported value: "other": supported values: "fine"']


def tighten(api: Api, kind: Kind, space: str) -> None:
    """Allow one value only, and return once that is so."""
    place = Key("", f"{kind.plural}.{kind.group}")
    definition = api.get(CRD, place)
    version = definition["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["a"]["enum"] = ["fine"]
    api.update(CRD, place, definition)
    api.eventually("the new schema is in force", lambda: refuses(api, kind, space))


def refuses(api: Api, kind: Kind, space: str) -> bool | None:
    name = f"probe-{secrets.token_hex(3)}"
    try:
        api.create(kind, space, sample(name, a="wrong") | {"kind": kind.kind})
    except ApiError as error:
        return error.code == 422
    return None
