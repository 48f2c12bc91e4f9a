"""Delays grow from the shortest to the longest, with a third of them left to chance."""

import pytest

from manta_common.delays import delay_seconds


@pytest.mark.parametrize(
    ("failures", "chance", "seconds"),
    [
        pytest.param(0, 0, 0.5, id="the first is the shortest"),
        pytest.param(3, 0, 4, id="each is twice the one before"),
        pytest.param(10, 0, 60, id="none is longer than the longest"),
        pytest.param(100_000, 0, 60, id="however often it failed"),
        pytest.param(3, 1, 4 * 2 / 3, id="a third is left to chance"),
        pytest.param(100_000, 0.5, 50, id="of the longest too, so that those who wait longest do not meet"),
    ],
)
def test_a_delay(failures: int, chance: float, seconds: float) -> None:
    assert delay_seconds(failures, shortest=0.5, longest=60, chance=chance) == pytest.approx(seconds)
