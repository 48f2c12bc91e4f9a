"""Asking the dashboard-gateway; what can go wrong is told in `manta_common.dashboard.calls`."""

from typing import TypeVar

from manta_common.bus.channel import Call
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Bus
from manta_common.dashboard import calls
from manta_common.dashboard.calls import Question
from manta_common.errors import Unreachable

GRACE_SECONDS = 2.0  # beyond the question's own limit, so that the gateway's error arrives and not our own

Q = TypeVar("Q", bound=Question)
A = TypeVar("A")


class Dashboards:
    """The dashboards of all Ray clusters, by way of whichever replica of the gateway answers."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def submit(self, question: calls.Submission) -> calls.Submitted:
        """Submit a job; AlreadyExists when another job has the id. It may be repeated."""
        return await self._ask(calls.SUBMIT, question)

    async def get(self, question: calls.AboutJob) -> calls.JobDetails:
        """One job as Ray knows it."""
        return await self._ask(calls.GET, question)

    async def list(self, question: calls.AboutCluster) -> calls.Jobs:
        """All submitted jobs of a cluster."""
        return await self._ask(calls.LIST, question)

    async def stop(self, question: calls.AboutJob) -> calls.Stopped:
        """Stop a job; one that has ended already is no error."""
        return await self._ask(calls.STOP, question)

    async def delete(self, question: calls.AboutJob) -> calls.Deleted:
        """Make Ray forget a job that has ended; Conflict while it has not."""
        return await self._ask(calls.DELETE, question)

    async def logs(self, question: calls.LogRange) -> calls.Log:
        """A part of a job's log."""
        return await self._ask(calls.LOGS, question)

    async def applications(self, question: calls.AboutCluster) -> calls.Applications:
        """Serve's applications and how they do."""
        return await self._ask(calls.GET_APPLICATIONS, question)

    async def deploy(self, question: calls.ServeConfig) -> calls.Deployed:
        """Give Serve the applications that it shall run."""
        return await self._ask(calls.PUT_APPLICATIONS, question)

    async def version(self, question: calls.AboutCluster) -> calls.Version:
        """Which Ray a cluster runs."""
        return await self._ask(calls.VERSION, question)

    async def _ask(self, call: Call[Q, A], question: Q) -> A:
        limit_seconds = question.limit_seconds + GRACE_SECONDS
        body = call.question.encode(question)
        answer = await self._bus.request(call.subject, body, limit_seconds=limit_seconds)
        try:
            return call.answer.decode(answer)
        except Poison as error:
            raise Unreachable(f"{call.subject}: {error}") from error
