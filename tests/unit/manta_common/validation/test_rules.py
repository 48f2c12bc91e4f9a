"""Every rule of the operator: kept and broken, with the field's path and KubeRay's words."""

import pytest

from tests.examples import kinds
from tests.examples.example import Example, problems
from tests.unit.manta_common.validation import beyond_schema
from tests.unit.manta_common.validation.rules import every_rule

EXAMPLES = (*kinds.CLUSTERS, *kinds.JOBS, *kinds.SERVICES, *kinds.CRON_JOBS, *kinds.UNCHECKED)


def sentence(example: Example) -> str:
    return example.says


@pytest.mark.parametrize("example", EXAMPLES, ids=sentence)
def test_an_object_that_keeps_the_rule_has_no_problem(example: Example) -> None:
    assert problems(example.good, example.gates) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=sentence)
def test_an_object_that_breaks_the_rule_is_told_so_first(example: Example) -> None:
    first = problems(example.bad, example.gates)[0]
    assert (first.path, first.message) == (example.path, example.message)
    assert first.fix


def test_every_rule_has_an_example() -> None:
    shown = [example.rule for example in (*EXAMPLES, kinds.UNIQUE_GROUPS)] + [
        case.rule for case in beyond_schema.CASES + beyond_schema.WARNINGS
    ]
    assert [name for name, rule in every_rule() if rule not in shown] == []


@pytest.mark.parametrize("name", [name for name, _ in every_rule()])
def test_every_rule_says_how_to_mend_it(name: str) -> None:
    rule = dict(every_rule())[name]
    assert rule.fix.endswith(".")
    assert rule.fix != rule.message
