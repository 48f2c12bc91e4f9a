"""The admission policies are made from the operator's rules, and the files in the project are up to date."""

import pathlib

import pytest

from manta_common.validation.admission.__main__ import files, main
from manta_common.validation.admission.cel import Refusal, text
from manta_common.validation.admission.kind_refusals import KIND_REFUSALS
from manta_common.validation.admission.policy import PLURALS, documents
from manta_common.validation.problem import Rule
from tests.examples import kinds
from tests.examples.example import Example
from tests.unit.manta_common.validation.policies import LEFT_OUT
from tests.unit.manta_common.validation.rules import every_rule

FILES = files()
FOLDER = pathlib.Path(__file__).parents[4] / "deploy" / "admission"
EXAMPLES: dict[str, tuple[Example, ...]] = {
    "RayCluster": (*kinds.CLUSTERS, kinds.UNIQUE_GROUPS),
    "RayJob": kinds.JOBS,
    "RayService": kinds.SERVICES,
    "RayCronJob": kinds.CRON_JOBS,
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == FILES[name], "run `make crds`"


def test_there_are_no_other_files() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(FILES)


def test_the_command_writes_the_files(tmp_path: pathlib.Path) -> None:
    main(tmp_path / "new")
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == FILES


def test_every_rule_is_in_a_policy_or_left_out_for_a_reason() -> None:
    covered = {refusal.rule for refusals in KIND_REFUSALS.values() for refusal in refusals}
    known = dict(every_rule())
    assert {name for name, rule in known.items() if rule not in covered} == {
        name for name, rule in known.items() if rule in LEFT_OUT
    }


@pytest.mark.parametrize("kind", PLURALS)
def test_every_rule_of_a_policy_has_an_example(kind: str) -> None:
    shown = {example.rule for example in EXAMPLES[kind]}
    assert [refusal.rule.message for refusal in KIND_REFUSALS[kind] if refusal.rule not in shown] == []


def test_a_policy_judges_what_users_write_and_lets_doubt_pass() -> None:
    policy, binding = documents("RayJob")
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert policy["spec"]["matchConstraints"]["resourceRules"] == [
        {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["rayjobs"]}
    ]
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


@pytest.mark.parametrize(
    ("refusal", "validation"),
    [
        pytest.param(
            Refusal(Rule("no", "."), "a"), {"expression": "!(a)", "message": "no"}, id="a rule about the whole object"
        ),
        pytest.param(
            Refusal(Rule("no", "."), "g.a", each="xs", prefix="p: "),
            {"expression": "xs.all(g, !(g.a))", "message": "p: no"},
            id="a rule about items, with a prefix",
        ),
        pytest.param(
            Refusal(Rule("no {n}!", "."), "a", holes={"n": "b"}),
            {"expression": "!(a)", "message": "no {n}!", "messageExpression": '"no " + string(b) + "!"'},
            id="a message with a hole",
        ),
        pytest.param(
            Refusal(Rule("no {n}", "."), "g.a", each="xs", holes={"n": "g.b"}),
            {
                "expression": "xs.all(g, !(g.a))",
                "message": "no {n}",
                "messageExpression": '[xs.filter(g, g.a)[0]].map(g, "no " + string(g.b))[0]',
            },
            id="a message about the first bad item",
        ),
    ],
)
def test_a_refusal_becomes_an_entry_of_the_policy(refusal: Refusal, validation: dict[str, str]) -> None:
    assert refusal.validation() == validation


def test_texts_are_quoted() -> None:
    assert text('a "b" \\c') == r'"a \"b\" \\c"'
