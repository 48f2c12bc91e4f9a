"""A slot that keeps failing waits longer and longer, and is forgiven after a while."""

from datetime import timedelta

import pytest

from manta_cluster_reconciler.observed import Setback
from manta_cluster_reconciler.policies.setbacks import due_at, grown
from tests.unit.manta_cluster_reconciler.scenes import NOW


@pytest.mark.parametrize(
    ("since", "count"),
    [
        pytest.param(timedelta(seconds=3), 2, id="together with others of its worker"),
        pytest.param(timedelta(seconds=15), 3, id="once more"),
        pytest.param(timedelta(minutes=11), 1, id="after a long calm"),
    ],
)
def test_how_setbacks_are_counted(since: timedelta, count: int) -> None:
    assert grown(Setback(2, NOW - since), NOW).count == count


def test_the_first_failure_costs_no_time() -> None:
    assert due_at(None, NOW) == NOW
    assert grown(None, NOW) == Setback(1, NOW)


def test_the_delay_doubles_up_to_five_minutes() -> None:
    waits = [(due_at(Setback(count, NOW), NOW) - NOW).total_seconds() for count in range(1, 9)]
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]
