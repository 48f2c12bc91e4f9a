"""CEL rules: what they see, when they are asked, and what they say."""

from typing import Any

import pytest

from manta_embedded.store.objects import Obj
from tests.unit.manta_embedded.store.schema.reviews import causes, gadget, gadgets

NUMBERS: Obj = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


def ruled(schema: Obj, *rules: Obj) -> Obj:
    return {**schema, "x-kubernetes-validations": list(rules)}


@pytest.mark.parametrize(
    ("rule", "spec", "said"),
    [
        pytest.param({"rule": "self.a <= self.b"}, {"a": 1, "b": 2}, None, id="kept"),
        pytest.param(
            {"rule": "self.a <= self.b"},
            {"a": 2, "b": 1},
            "spec: Invalid value: failed rule: self.a <= self.b",
            id="broken, without a message",
        ),
        pytest.param(
            {"rule": "self.a <= self.b", "message": "a is too large"},
            {"a": 2, "b": 1},
            "spec: Invalid value: a is too large",
            id="broken, with a message",
        ),
        pytest.param(
            {"rule": "self.a <= self.b", "messageExpression": "'a is ' + string(self.a)", "message": "a"},
            {"a": 2, "b": 1},
            "spec: Invalid value: a is 2",
            id="with a message that is an expression",
        ),
        pytest.param(
            {"rule": "self.a <= self.b", "messageExpression": "''", "message": "a"},
            {"a": 2, "b": 1},
            "spec: Invalid value: a",
            id="with an expression that says nothing",
        ),
        pytest.param(
            {"rule": "self.a <= self.b", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".a"},
            {"a": 2, "b": 1},
            "spec.a: Forbidden: m",
            id="with a reason and a field",
        ),
        pytest.param(
            {"rule": "self.a <= self.b", "message": "m"},
            {"a": 2},
            'spec: Invalid value: "object": no such key: b evaluating rule: m',
            id="about something that is not there",
        ),
        pytest.param(
            {"rule": "self.a / self.b > 0"},
            {"a": 2, "b": 0},
            'spec: Invalid value: "object": division by zero evaluating rule: self.a / self.b > 0',
            id="that cannot be worked out",
        ),
        pytest.param({"rule": "!has(self.b) || self.b > 1"}, {"a": 1}, None, id="about something that may be there"),
    ],
)
def test_a_rule_speaks(rule: Obj, spec: Obj, said: str | None) -> None:
    assert causes(gadgets(ruled(NUMBERS, rule)), gadget(spec)) == ([said] if said else [])


def value_of(schema: Obj, rule: str) -> Any:
    return gadgets({"type": "object", "properties": {"v": ruled(schema, {"rule": rule})}})


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        pytest.param({"type": "string"}, "self.matches('^[a-z]+$')", "abc", id="patterns"),
        pytest.param({"type": "string"}, "quantity(self).isLessThan(quantity('1Gi'))", "512Mi", id="quantities"),
        pytest.param({"type": "string"}, "duration(self) > duration('1m')", "90s", id="durations"),
        pytest.param({"type": "string"}, "isURL(self) && url(self).getHost() == 'a:1'", "http://a:1/p", id="URLs"),
        pytest.param({"type": "number"}, "self > 0.5", 1, id="numbers that are whole by chance"),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}},
            "self.all(x, x > 0) && self.exists(x, x == 2)",
            [1, 2],
            id="macros over lists",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string"}},
            "self.all(k, self[k] != '')",
            {"a-b": "c"},
            id="maps by any key",
        ),
        pytest.param(
            {"type": "object", "properties": {"a-b": {"type": "integer"}, "namespace": {"type": "integer"}}},
            "self.a__dash__b == 1 && self.__namespace__ == 2",
            {"a-b": 1, "namespace": 2},
            id="names that are no words",
        ),
    ],
)
def test_a_rule_sees(schema: Obj, rule: str, value: Any) -> None:
    assert causes(value_of(schema, rule), gadget({"v": value})) == []
    assert len(causes(value_of(schema, f"!({rule})"), gadget({"v": value}))) == 1


def test_a_transition_is_judged_only_when_there_was_something_before() -> None:
    served = value_of({"type": "integer"}, "self >= oldSelf")
    assert causes(served, gadget({"v": 1}), gadget({})) == []
    assert causes(served, gadget({"v": 2}), gadget({"v": 1})) == []
    assert causes(served, gadget({"v": 1}), gadget({"v": 2})) == [
        "spec.v: Invalid value: 1: failed rule: self >= oldSelf"
    ]


def test_an_optional_old_value_is_judged_from_the_first_day() -> None:
    rule = {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": True, "message": "m"}
    served = gadgets({"type": "object", "properties": {"v": ruled({"type": "integer"}, rule)}})
    assert causes(served, gadget({"v": 1})) == []
    assert causes(served, gadget({"v": 2}), gadget({"v": 1})) == ["spec.v: Invalid value: 2: m"]


def test_what_has_not_changed_may_break_a_rule() -> None:
    served = gadgets({"type": "object", "properties": {"v": ruled({"type": "integer"}, {"rule": "self > 5"}), "w": {}}})
    assert causes(served, gadget({"v": 1, "w": 1}), gadget({"v": 1})) == []


def test_items_of_a_map_list_are_known_again_by_their_keys() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer"}}}
    items = {"items": ruled(item, {"rule": "self.n >= oldSelf.n", "message": "m"})}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], **items}
    served = gadgets({"type": "object", "properties": {"l": listed}})
    before = gadget({"l": [{"k": "a", "n": 1}, {"k": "b", "n": 5}]})
    assert causes(served, gadget({"l": [{"k": "b", "n": 6}, {"k": "a", "n": 1}]}), before) == []
    assert causes(served, gadget({"l": [{"k": "b", "n": 4}]}), before) == ["spec.l[0]: Invalid value: m"]


def test_the_order_of_a_set_has_no_meaning() -> None:
    listed = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    served = gadgets({"type": "object", "properties": {"l": ruled(listed, {"rule": "self == oldSelf"})}})
    assert causes(served, gadget({"l": ["a", "b"]}), gadget({"l": ["b", "a"]})) == []


def test_rules_wait_until_the_object_has_its_shape() -> None:
    served = gadgets(ruled({**NUMBERS, "required": ["b"]}, {"rule": "self.a > 5"}))
    assert causes(served, gadget({"a": 1})) == [
        (
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation"
        ),
        "spec.b: Required value",
    ]
