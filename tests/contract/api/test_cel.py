"""CEL rules: those of the suite's own kind, and every rule of our four kinds at every place."""

import functools
from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYCRONJOB, RAYJOB, RAYSERVICE, Kind
from manta_embedded.store.schema.ray import definitions
from tests.contract.api.api import Api
from tests.contract.api.steps import causes, define, merge, refusal, serve
from tests.contract.crd.examples import Example, examples
from tests.contract.crd.server import manifest

Obj = dict[str, Any]
RULED = Kind("ruled", "Ruled", "ruleds", "cel.contract.manta.example")
KINDS = {kind.kind: kind for kind in (RAYCLUSTER, RAYJOB, RAYSERVICE, RAYCRONJOB)}
EXAMPLES = list(examples())
INTEGER: Obj = {"type": "integer"}
TEXT: Obj = {"type": "string", "maxLength": 30}
NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def ruled(schema: Obj, *rules: Obj) -> Obj:
    return {**schema, "x-kubernetes-validations": list(rules)}


def pair(*rules: Obj) -> Obj:
    return ruled({"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}, *rules)


PARTS: Obj = {
    "type": "array",
    "maxItems": 5,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": ruled(
        {"type": "object", "required": ["name"], "properties": {"name": TEXT, "n": INTEGER}},
        {"rule": "!has(self.n) || !has(oldSelf.n) || self.n >= oldSelf.n", "message": "n never falls"},
    ),
}
SPEC: Obj = {
    "plain": pair({"rule": "self.a <= self.b"}),
    "told": pair({"rule": "self.a <= self.b", "message": "a is larger than b"}),
    "worked": pair({"rule": "self.a <= self.b", "messageExpression": "self.a > 5 ? 'a is far off' : 'a is off'"}),
    "pointed": pair(
        {"rule": "self.a <= self.b", "message": "too large", "reason": "FieldValueForbidden", "fieldPath": ".a"}
    ),
    "careful": pair({"rule": "!has(self.a) || !has(self.b) || self.a <= self.b", "message": "a is larger"}),
    "growing": ruled(INTEGER, {"rule": "self >= oldSelf", "message": "never less"}),
    "once": ruled(
        INTEGER, {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": True, "message": "once"}
    ),
    "numbers": ruled(
        {"type": "array", "items": INTEGER, "maxItems": 5}, {"rule": "self.all(n, n > 0)", "message": "all above zero"}
    ),
    "amount": ruled(TEXT, {"rule": "quantity(self).isLessThan(quantity('1Gi'))", "message": "too much"}),
    "span": ruled(TEXT, {"rule": "duration(self) <= duration('1h')", "message": "too long"}),
    "address": ruled(TEXT, {"rule": "isURL(self) && url(self).getScheme() == 'https'", "message": "not safe"}),
    "odd-name": ruled(
        {"type": "object", "properties": {"a-b": INTEGER}}, {"rule": "self.a__dash__b > 0", "message": "above zero"}
    ),
    "parts": PARTS,
    "needed": {"type": "object", "required": ["x"], "properties": {"x": INTEGER}},
}


@pytest.fixture
def rules(api: Api) -> Api:
    """An API that serves the kind of these tests."""
    define(api, RULED, {"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}})
    return api


def sample(**spec: Any) -> Obj:
    named = {name.replace("_", "-"): value for name, value in spec.items()}
    return {"apiVersion": RULED.api_version, "kind": RULED.kind, "metadata": {"name": "it"}, "spec": named}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"plain": {"a": 2, "b": 1}}, "spec.plain: Invalid value: failed rule: self.a <= self.b", id="plain"
        ),
        pytest.param({"told": {"a": 2, "b": 1}}, "spec.told: Invalid value: a is larger than b", id="with a message"),
        pytest.param(
            {"worked": {"a": 2, "b": 1}}, "spec.worked: Invalid value: a is off", id="with a message worked out"
        ),
        pytest.param({"pointed": {"a": 2, "b": 1}}, "spec.pointed.a: Forbidden: too large", id="with reason and field"),
        pytest.param(
            {"told": {"a": 2}},
            'spec.told: Invalid value: "object": no such key: b evaluating rule: a is larger than b',
            id="about something that is not there",
        ),
        pytest.param({"numbers": [1, 0]}, "spec.numbers: Invalid value: all above zero", id="over all items"),
        pytest.param({"amount": "2Gi"}, 'spec.amount: Invalid value: "2Gi": too much', id="about a quantity"),
        pytest.param({"span": "90m"}, 'spec.span: Invalid value: "90m": too long', id="about a duration"),
        pytest.param({"address": "http://a"}, 'spec.address: Invalid value: "http://a": not safe', id="about a URL"),
        pytest.param({"odd_name": {"a-b": 0}}, "spec.odd-name: Invalid value: above zero", id="about an odd name"),
    ],
)
def test_a_broken_rule_speaks(rules: Api, space: str, spec: Obj, said: str) -> None:
    status = refusal(lambda: rules.create(RULED, space, sample(**spec)))
    assert status["code"] == 422
    assert causes(status) == [said]


def test_rules_that_are_kept_say_nothing(rules: Api, space: str) -> None:
    rules.create(
        RULED,
        space,
        sample(
            plain={"a": 1, "b": 2},
            careful={"a": 5},
            growing=1,
            once=1,
            numbers=[1, 2],
            amount="512Mi",
            span="59m",
            address="https://a/b",
            odd_name={"a-b": 1},
        ),
    )


def test_a_transition_is_judged_by_what_was_there_before(rules: Api, space: str) -> None:
    place = Key(space, "it")
    rules.create(RULED, space, sample())
    merge(rules, RULED, place, {"spec": {"growing": 5}})
    merge(rules, RULED, place, {"spec": {"growing": 6}})
    status = refusal(lambda: merge(rules, RULED, place, {"spec": {"growing": 4}}))
    assert causes(status) == ["spec.growing: Invalid value: 4: never less"]
    merge(rules, RULED, place, {"spec": {"growing": None}})


def test_an_optional_old_value_lets_the_first_one_pass(rules: Api, space: str) -> None:
    rules.create(RULED, space, sample(once=1))
    status = refusal(lambda: merge(rules, RULED, Key(space, "it"), {"spec": {"once": 2}}))
    assert causes(status) == ["spec.once: Invalid value: 2: once"]


def test_items_of_a_map_list_are_known_again_wherever_they_stand(rules: Api, space: str) -> None:
    rules.create(RULED, space, sample(parts=[{"name": "a", "n": 1}, {"name": "b", "n": 5}]))
    place = Key(space, "it")
    merge(
        rules, RULED, place, {"spec": {"parts": [{"name": "b", "n": 5}, {"name": "c", "n": 0}, {"name": "a", "n": 2}]}}
    )
    status = refusal(lambda: merge(rules, RULED, place, {"spec": {"parts": [{"name": "b", "n": 4}]}}))
    assert causes(status) == ["spec.parts[0]: Invalid value: n never falls"]


def test_rules_are_not_asked_while_something_is_missing(rules: Api, space: str) -> None:
    status = refusal(lambda: rules.create(RULED, space, sample(told={"a": 2, "b": 1}, needed={})))
    assert causes(status) == [NOT_CHECKED, "spec.needed.x: Required value"]


@functools.cache
def ray_definitions() -> dict[Kind, Obj]:
    """The definitions of our four kinds."""
    return {KINDS[definition["spec"]["names"]["kind"]]: definition for definition in definitions()}


@pytest.fixture
def ray(api: Api) -> Api:
    """An API that serves our four kinds."""
    serve(api, ray_definitions())
    return api


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_a_rule_of_our_own_kinds_lets_pass_and_refuses(ray: Api, space: str, example: Example) -> None:
    kind, place = KINDS[example.kind], Key(space, "it")
    before = ray.create(kind, space, manifest(example.kind, example.before))
    status = refusal(lambda: ray.update(kind, place, before | {"spec": example.failing}))
    assert status["code"] == 422
    (complaint,) = causes(status)
    assert complaint.startswith(f"{example.field}: Invalid value")
    assert complaint.endswith(f": {example.rule.message}")
    for spec in example.passing:
        ray.delete(kind, place)
        ray.create(kind, space, manifest(example.kind, example.before))
        current = ray.get(kind, place)
        ray.update(kind, place, current | {"spec": spec})
