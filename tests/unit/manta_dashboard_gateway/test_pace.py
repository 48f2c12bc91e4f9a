"""How often a dashboard is asked."""

import pytest

from manta_dashboard_gateway.pace import Course, Pace, State, delay_seconds, first_delay_seconds

PACE = Pace()
WELL = Course()


def failing(times: int) -> Course:
    course = WELL
    for _ in range(times):
        course = course.failed(PACE)
    return course


@pytest.mark.parametrize(
    ("course", "state", "seconds"),
    [
        pytest.param(WELL, "usual", 3.0, id="usually"),
        pytest.param(WELL, "new", 0.5, id="while a job is new"),
        pytest.param(WELL, "moving", 1.0, id="while applications start"),
        pytest.param(WELL, "settled", 30.0, id="when all have ended"),
        pytest.param(failing(1), "usual", 6.0, id="after a failure"),
        pytest.param(failing(2), "usual", 12.0, id="after two"),
        pytest.param(failing(9), "usual", 30.0, id="after many"),
        pytest.param(failing(10_000), "usual", 30.0, id="after a night"),
        pytest.param(failing(9), "settled", 30.0, id="when all have ended, after many"),
        pytest.param(failing(1), "new", 1.0, id="a head that just begins to listen"),
        pytest.param(failing(9), "new", 3.0, id="a head that takes its time"),
        pytest.param(failing(2), "moving", 4.0, id="while applications start, badly"),
    ],
)
def test_the_delay_fits_the_course(course: Course, state: State, seconds: float) -> None:
    assert delay_seconds(PACE, course, state, chance=0) == seconds
    assert delay_seconds(PACE, course, state, chance=1) == pytest.approx(0.9 * seconds)


@pytest.mark.parametrize(
    ("new", "seconds"),
    [
        pytest.param(50, 0.5, id="not too many"),
        pytest.param(200, 2.0, id="many"),
        pytest.param(10_000, 3.0, id="very many"),
    ],
)
def test_what_is_new_shares_the_haste(new: int, seconds: float) -> None:
    assert delay_seconds(PACE, WELL, "new", chance=0, new=new) == seconds
    assert delay_seconds(PACE, WELL, "usual", chance=0, new=new) == 3.0


def test_the_first_question_is_spread_unless_it_is_urgent() -> None:
    assert first_delay_seconds(PACE, new=True, untold=False, chance=0.5) == 0
    assert first_delay_seconds(PACE, new=False, untold=False, chance=0.5) == 1.5


def test_serve_that_was_told_nothing_is_asked_when_it_is_told_or_soon() -> None:
    assert first_delay_seconds(PACE, new=True, untold=True, chance=0.5) == PACE.new_seconds


@pytest.mark.parametrize(
    ("course", "asking", "breaker"),
    [
        pytest.param(failing(0), True, "closed", id="well"),
        pytest.param(failing(2), False, "closed", id="a bad moment"),
        pytest.param(failing(3), False, "open", id="a bad time"),
        pytest.param(failing(3), True, "half_open", id="a bad time, and it is being tried"),
        pytest.param(failing(3).answered(), False, "closed", id="it answered again"),
        pytest.param(failing(3).answered().failed(PACE), False, "closed", id="a bad moment after a bad time"),
    ],
)
def test_the_breaker_opens_after_three_failures(course: Course, asking: bool, breaker: str) -> None:
    assert course.breaker(asking=asking) == breaker
