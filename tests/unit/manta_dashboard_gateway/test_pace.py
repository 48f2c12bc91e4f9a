"""How often a dashboard is asked."""

import pytest

from manta_dashboard_gateway.pace import Course, Pace, delay_seconds, first_delay_seconds

PACE = Pace()
WELL = Course()


def failing(times: int) -> Course:
    course = WELL
    for _ in range(times):
        course = course.failed(PACE)
    return course


@pytest.mark.parametrize(
    ("course", "new", "settled", "seconds"),
    [
        pytest.param(WELL, False, False, 3.0, id="usually"),
        pytest.param(WELL, True, False, 0.5, id="while a job is new"),
        pytest.param(WELL, False, True, 30.0, id="when all have ended"),
        pytest.param(WELL, True, True, 30.0, id="when all have ended, however new"),
        pytest.param(failing(1), False, False, 6.0, id="after a failure"),
        pytest.param(failing(2), False, False, 12.0, id="after two"),
        pytest.param(failing(9), False, False, 30.0, id="after many"),
        pytest.param(failing(10_000), False, False, 30.0, id="after a night"),
        pytest.param(failing(1), True, False, 1.0, id="a head that just begins to listen"),
        pytest.param(failing(9), True, False, 3.0, id="a head that takes its time"),
    ],
)
def test_the_delay_fits_the_course(course: Course, new: bool, settled: bool, seconds: float) -> None:
    assert delay_seconds(PACE, course, new=new, settled=settled, chance=0) == seconds
    assert delay_seconds(PACE, course, new=new, settled=settled, chance=1) == pytest.approx(0.9 * seconds)


def test_the_first_question_is_spread_unless_it_is_urgent() -> None:
    assert first_delay_seconds(PACE, new=True, chance=0.5) == 0
    assert first_delay_seconds(PACE, new=False, chance=0.5) == 1.5


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
