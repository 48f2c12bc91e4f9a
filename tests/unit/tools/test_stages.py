"""The stages of `make test`: every level is in a lane, and a lane that fails is named."""

import pytest

from tests.parts.plugin import BUDGET_SECONDS
from tests.tools import stages

ELSEWHERE = {"bench"}  # measured by `make bench`


def test_every_level_is_in_one_lane_and_has_a_budget() -> None:
    found = {
        folder.relative_to(stages.ROOT / "tests").parts[0] for folder in (stages.ROOT / "tests").rglob("test_*.py")
    }
    planned = [level for lane in stages.LANES for level in lane]
    assert found - ELSEWHERE <= set(planned)
    assert len(planned) == len(set(planned))
    assert set(planned) == set(BUDGET_SECONDS)


def test_lanes_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PYTHON", "/bin/true")
    stages._tests({})


def test_a_failing_lane_is_named_with_the_command_that_runs_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PYTHON", "/bin/false")
    with pytest.raises(stages.StageFailed, match=r"pytest tests/integration .*` and `.* tests/unit tests/model .*`"):
        stages._tests({})
