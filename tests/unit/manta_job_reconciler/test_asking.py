"""What Ray is asked about a job, and what its answers mean."""

import asyncio

import pytest

from manta_common.dashboard.calls import AboutJob, JobDetails
from manta_common.errors import MantaError, NotCaughtUp, NotFound, Unreachable
from manta_job_reconciler.asking import SOON_SECONDS, Ray, Unasked
from tests.unit.manta_job_reconciler.made import job, running, settled


class Answers:
    """A gateway that says one thing."""

    def __init__(self, answer: JobDetails | MantaError) -> None:
        self._answer = answer
        self.asked: list[AboutJob] = []

    async def get(self, question: AboutJob) -> JobDetails:
        self.asked.append(question)
        if isinstance(self._answer, MantaError):
            raise self._answer
        return self._answer


def ray(answer: JobDetails | MantaError) -> tuple[Ray, Answers]:
    gateway = Answers(answer)
    return Ray(settled(job(), running()), gateway), gateway  # type: ignore[arg-type]  # it asks nothing else


def details(status: str) -> JobDetails:
    return JobDetails(job_id="demo-1", status=status)


@pytest.mark.parametrize(
    ("answer", "absent", "error"),
    [
        pytest.param(NotFound("no such job"), True, None, id="it is not there"),
        pytest.param(NotFound("no such job"), False, None, id="it has not ended: it is not there"),
        pytest.param(details("RUNNING"), False, None, id="it has not ended: it runs"),
        pytest.param(details("RUNNING"), True, NotCaughtUp, id="it is there and runs"),
        pytest.param(details("SUCCEEDED"), True, NotCaughtUp, id="it is there and has ended"),
        pytest.param(details("SUCCEEDED"), False, NotCaughtUp, id="it has ended"),
        pytest.param(Unreachable("no answer"), True, Unasked, id="ray cannot be asked"),
    ],
)
def test_what_is_confirmed(answer: JobDetails | MantaError, absent: bool, error: type[MantaError] | None) -> None:
    asked, _ = ray(answer)
    if error is None:
        asyncio.run(asked.confirm(absent=absent))
    else:
        with pytest.raises(error):
            asyncio.run(asked.confirm(absent=absent))


def test_a_look_takes_little_time() -> None:
    asked, gateway = ray(details("PENDING"))
    assert asyncio.run(asked.look()) == details("PENDING")
    assert [question.limit_seconds for question in gateway.asked] == [SOON_SECONDS]


def test_a_look_that_fails_shows_nothing() -> None:
    assert asyncio.run(ray(Unreachable("no answer"))[0].look()) is None
