"""The client-side limit lets a burst through, then so many a second, and says no at once if it would take too long."""

import pytest

from manta_common.errors import Misconfigured, Throttled
from manta_common.kube.limits import TokenBucket


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_without_a_rate_nobody_waits() -> None:
    bucket = TokenBucket(0, 0)
    assert [bucket.reserve() for _ in range(1000)] == [0.0] * 1000


def test_a_burst_goes_through_and_the_rest_waits_in_line() -> None:
    bucket = TokenBucket(10, 3, Clock())
    assert [bucket.reserve() for _ in range(6)] == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_time_fills_the_bucket_up_to_the_burst() -> None:
    clock = Clock()
    bucket = TokenBucket(10, 2, clock)
    assert [bucket.reserve() for _ in range(3)] == pytest.approx([0, 0, 0.1])
    clock.seconds += 60
    assert [bucket.reserve() for _ in range(3)] == pytest.approx([0, 0, 0.1])


async def test_a_turn_that_comes_too_late_is_refused_and_given_back() -> None:
    bucket = TokenBucket(1, 1, Clock())
    await bucket.turn(within_seconds=0)
    for _ in range(3):
        with pytest.raises(Throttled) as refusal:
            await bucket.turn(within_seconds=0.5)
        assert refusal.value.retry_after_seconds == pytest.approx(1)


async def test_a_turn_is_waited_for() -> None:
    bucket = TokenBucket(1000, 1)
    for _ in range(5):
        await bucket.turn(within_seconds=1)


@pytest.mark.parametrize(("qps", "burst"), [(10, 0), (-1, 5), (5, -1)])
def test_a_limit_that_lets_nothing_through_is_a_wrong_setting(qps: float, burst: int) -> None:
    with pytest.raises(Misconfigured, match="burst"):
        TokenBucket(qps, burst)
