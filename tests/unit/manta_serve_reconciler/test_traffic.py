"""Capacity and traffic, step by step."""

import itertools
from datetime import timedelta

import pytest

from manta_common.api.rayservice import RayServiceStatus
from manta_serve_reconciler.policies import traffic
from manta_serve_reconciler.policies.traffic import Pace, Shares
from tests.unit.manta_serve_reconciler import made

Numbers = tuple[int, int, int, int]  # capacity and traffic of the old cluster, then of the new one


def shares(numbers: Numbers) -> Shares:
    """Both clusters; their traffic moved long ago."""
    old, new = numbers[:2], numbers[2:]
    parts = (
        RayServiceStatus(target_capacity=one, traffic_routed_percent=two, last_traffic_migrated_time=made.ago(60))
        for one, two in (old, new)
    )
    active, pending = parts
    return Shares(active=active, pending=pending)


def turn(numbers: Numbers, pace: Pace) -> Numbers:
    """One pass in which everything is ready."""
    found = shares(numbers)
    for role in ("pending", "active"):
        wanted = traffic.next_capacity(found, role, pace)
        if wanted is not None:
            new = (wanted, found.active.traffic_routed_percent or 0) if role == "active" else None
            old, coming = found.active, found.pending
            active = new or (old.target_capacity or 0, old.traffic_routed_percent or 0)
            taken = wanted if role == "pending" else coming.target_capacity or 0
            found = shares((*active, taken, coming.traffic_routed_percent or 0))
    weights = traffic.weights(found, pace, made.NOW, ready=True)
    return found.active.target_capacity or 0, weights[0], found.pending.target_capacity or 0, weights[1]


def course(numbers: Numbers, pace: Pace) -> list[Numbers]:
    """Every state until nothing moves any more."""
    found = [numbers]
    while (after := turn(found[-1], pace)) != found[-1]:
        found.append(after)
    return found[1:]


def test_an_upgrade_in_steps_of_50_and_25() -> None:
    assert course((100, 100, 0, 0), Pace(surge=50, step=25)) == [
        (100, 75, 50, 25),
        (100, 50, 50, 50),
        (50, 50, 50, 50),
        (50, 25, 100, 75),
        (50, 0, 100, 100),
        (0, 0, 100, 100),
    ]


def test_a_rollback_takes_the_same_steps_back() -> None:
    assert course((50, 50, 50, 50), Pace(surge=50, step=25, rolling_back=True)) == [
        (100, 75, 50, 25),
        (100, 100, 50, 0),
        (100, 100, 0, 0),
    ]


@pytest.mark.parametrize(("surge", "step"), [(100, 100), (50, 25), (25, 5), (30, 25), (1, 1)])
def test_an_upgrade_comes_to_its_end_and_never_goes_back(surge: int, step: int) -> None:
    states = course((100, 100, 0, 0), Pace(surge=surge, step=step))
    assert states[-1] == (0, 0, 100, 100)
    for before, after in itertools.pairwise(states):
        assert all(one >= two for one, two in zip(before[:2], after[:2], strict=True))
        assert all(one <= two for one, two in zip(before[2:], after[2:], strict=True))
        assert after[0] + after[2] >= 100


def test_traffic_waits_for_the_interval_and_for_a_cluster_that_is_ready() -> None:
    found, pace = shares((100, 100, 50, 0)), Pace(step=25, interval=timedelta(seconds=61))
    assert traffic.weights(found, pace, made.NOW, ready=True) == (100, 0)
    assert traffic.weights(found, Pace(step=25), made.NOW, ready=False) == (100, 0)
    assert traffic.weights(found, Pace(step=25), made.NOW, ready=True) == (75, 25)


def test_what_is_not_said_yet_means_everything_for_the_old_cluster() -> None:
    blank = Shares(active=RayServiceStatus(), pending=RayServiceStatus())
    assert traffic.weights(blank, Pace(), made.NOW, ready=True) == (100, 0)
    assert traffic.next_capacity(blank, "pending", Pace(surge=30)) == 30
    assert traffic.next_capacity(blank, "active", Pace(surge=30)) is None


def test_the_time_of_a_move_is_noted_only_when_something_moved() -> None:
    share = RayServiceStatus(traffic_routed_percent=25)
    assert traffic.moved(share, 25, made.NOW) is share
    assert traffic.moved(share, 50, made.NOW).last_traffic_migrated_time == made.NOW
