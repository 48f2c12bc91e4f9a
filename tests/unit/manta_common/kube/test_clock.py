"""The server's clock is known ever better, and a local clock that jumps changes nothing."""

import random
from email.utils import formatdate

import pytest

from manta_common.kube.clock import ServerClock

SERVER_AT_ZERO = 1_800_000_000.25  # the server's time when our monotonic clock shows 0


class World:
    """A monotonic clock, a wall clock and a server's clock that the test moves."""

    def __init__(self, server_at_zero: float = SERVER_AT_ZERO) -> None:
        self.monotonic, self.wall_ahead, self.server_at_zero = 0.0, -500.0, server_at_zero

    def clock(self) -> ServerClock:
        return ServerClock(lambda: self.monotonic, lambda: self.server + self.wall_ahead)

    @property
    def server(self) -> float:
        return self.server_at_zero + self.monotonic

    def answer(self, clock: ServerClock, *, there_seconds: float = 0.0, back_seconds: float = 0.0) -> None:
        """One request: so long on its way, and so long its answer."""
        sent_at = self.monotonic
        self.monotonic += there_seconds
        date = formatdate(int(self.server), usegmt=True)
        self.monotonic += back_seconds
        clock.observe(date, sent_at=sent_at, received_at=self.monotonic)

    def error(self, clock: ServerClock) -> float:
        return abs(clock.now().timestamp() - self.server)


def test_before_the_first_answer_the_local_clock_counts() -> None:
    world = World()
    assert world.clock().now().timestamp() == pytest.approx(world.server - 500)
    assert world.clock().uncertainty_seconds == float("inf")


def test_one_answer_is_good_to_half_a_second_and_the_way() -> None:
    world = World()
    clock = world.clock()
    world.answer(clock, there_seconds=0.1, back_seconds=0.1)
    assert world.error(clock) <= 0.6
    assert clock.uncertainty_seconds <= 0.6 + 1e-6


def test_answers_around_the_turn_of_a_second_tell_it_to_the_millisecond() -> None:
    world = World()
    clock = world.clock()
    for _ in range(400):  # two seconds, an answer every 5 ms
        world.answer(clock, there_seconds=0.001, back_seconds=0.001)
        world.monotonic += 0.003
    assert world.error(clock) <= 0.007
    assert clock.uncertainty_seconds <= 0.01


@pytest.mark.parametrize("seed", range(20))
def test_the_truth_is_always_within_the_uncertainty(seed: int) -> None:
    chance = random.Random(seed)
    world = World(SERVER_AT_ZERO + chance.random())
    clock = world.clock()
    for _ in range(200):
        world.monotonic += chance.expovariate(1)
        world.answer(clock, there_seconds=chance.expovariate(20), back_seconds=chance.expovariate(20))
        assert world.error(clock) <= clock.uncertainty_seconds + 1e-6
        assert world.server - clock.earliest_now().timestamp() + 1e-6 >= 0
        assert world.server - clock.earliest_now().timestamp() <= 2 * clock.uncertainty_seconds
    assert clock.uncertainty_seconds < 0.2


def test_before_the_first_answer_nothing_is_sure() -> None:
    assert World().clock().earliest_now().timestamp() == 0


def test_a_step_of_the_local_clock_changes_nothing() -> None:
    world = World()
    clock = world.clock()
    world.answer(clock)
    before = clock.now()
    world.wall_ahead = 3600.0
    assert clock.now() == before


def test_a_server_whose_clock_was_set_is_followed() -> None:
    world = World()
    clock = world.clock()
    world.answer(clock)
    world.server_at_zero -= 3600
    world.answer(clock)
    assert world.error(clock) <= 1


def test_two_servers_that_differ_a_little_move_it_a_little() -> None:
    world = World()
    clock = world.clock()
    steps = []
    for number in range(2000):
        world.server_at_zero = SERVER_AT_ZERO + (0.02 if number % 2 else 0)
        before = clock.now().timestamp() - world.monotonic
        world.answer(clock)
        steps.append(abs(clock.now().timestamp() - world.monotonic - before))
        world.monotonic += 0.003
    assert max(steps[1000:]) <= 0.03


def test_slow_drift_is_followed() -> None:
    world = World()
    clock = world.clock()
    for _ in range(10_000):
        world.monotonic += 1.003
        world.server_at_zero += 300e-6  # three times what we allow for
        world.answer(clock, there_seconds=0.001, back_seconds=0.001)
    assert world.error(clock) <= 0.1


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Nov 2026 04:52:27 GMT"])
def test_a_header_that_is_no_date_is_left_alone(date: str) -> None:
    world = World()
    clock = world.clock()
    clock.observe(date, sent_at=0, received_at=0)
    assert clock.uncertainty_seconds == float("inf")
