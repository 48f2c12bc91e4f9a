"""The rules that the CRD's schema keeps from mattering, those about the status, and what is only warned of."""

import pytest

from tests.unit.manta_common.validation.beyond_schema import CASES, WARNINGS, Case


def sentence(case: Case) -> str:
    return case.says


@pytest.mark.parametrize("case", CASES + WARNINGS, ids=sentence)
def test_the_rule_is_kept(case: Case) -> None:
    assert case.good == []


@pytest.mark.parametrize("case", CASES + WARNINGS, ids=sentence)
def test_the_rule_is_broken(case: Case) -> None:
    first = case.bad[0]
    assert (first.path, first.message) == (case.path, case.message)
    assert first.fix
