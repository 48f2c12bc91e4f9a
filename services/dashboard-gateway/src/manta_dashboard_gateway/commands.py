"""Answers to calls: each with a deadline, equal questions asked once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import msgspec

from manta_common.bus.channel import Call
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Answer
from manta_common.dashboard import calls
from manta_common.dashboard.calls import Question
from manta_common.errors import NotCaughtUp, Refused, Unreachable
from manta_common.feed import View
from manta_common.keys import Key
from manta_dashboard_gateway.cache import SingleFlight
from manta_dashboard_gateway.dashboards import Dashboards
from manta_dashboard_gateway.polls import Answers
from manta_dashboard_gateway.ray import api
from manta_dashboard_gateway.ray.dashboard import Dashboard

Q = TypeVar("Q", bound=Question)
A = TypeVar("A")


class Commands:
    """Any replica answers for any cluster: all of them see all clusters."""

    def __init__(
        self, view: Callable[[], View], dashboards: Dashboards, answers: Answers, deployed: Callable[[Key], None]
    ) -> None:
        self._view, self._dashboards, self._answers, self._deployed = view, dashboards, answers, deployed
        self._flight = SingleFlight()

    @property
    def counts(self) -> tuple[int, int, int]:
        """Questions answered by what was known, by asking, and together with an equal one."""
        return self._answers.hits, self._answers.misses, self._flight.shared

    def verbs(self) -> Mapping[str, Answer]:
        """What is answered."""
        return dict(
            [
                self._verb(calls.SUBMIT, self._submit),
                self._verb(calls.GET, self._get),
                self._verb(calls.LIST, self._list),
                self._verb(calls.STOP, self._stop),
                self._verb(calls.DELETE, self._delete),
                self._verb(calls.LOGS, self._logs),
                self._verb(calls.GET_APPLICATIONS, self._applications),
                self._verb(calls.PUT_APPLICATIONS, self._deploy),
                self._verb(calls.VERSION, self._version),
            ]
        )

    def _verb(self, call: Call[Q, A], answer: Callable[[Dashboard, Q], Awaitable[A]]) -> tuple[str, Answer]:
        async def answered(body: bytes, _: Mapping[str, str]) -> bytes:
            question = _question(call, body)
            async with _deadline(question):
                return call.answer.encode(await answer(self._dashboard(question), question))

        return call.verb, answered

    def _dashboard(self, question: Question) -> Dashboard:
        try:
            dashboard = self._dashboards.of(self._view(), question.cluster)
        except NotCaughtUp as error:
            raise Unreachable("this gateway does not know all clusters yet") from error
        if question.cluster_uid not in ("", dashboard.target.uid):
            raise Refused(404, calls.UNKNOWN_CLUSTER, f"the RayCluster {question.cluster} was made anew")
        return dashboard

    async def _submit(self, dashboard: Dashboard, question: calls.Submission) -> calls.Submitted:
        return await api.submit(dashboard.command, question)

    async def _get(self, dashboard: Dashboard, question: calls.AboutJob) -> calls.JobDetails:
        place = (dashboard.target.uid, question.job_id)
        known = self._answers.find(place, max_age_seconds=question.max_age_seconds)
        if known:
            return msgspec.structs.replace(known[0], age_seconds=known[1])
        ask = partial(api.job, dashboard.command, question.job_id, question.limit_seconds)
        details = await self._flight.run(("get", *place), ask)
        self._answers.put(place, details)
        return details

    async def _list(self, dashboard: Dashboard, question: calls.AboutCluster) -> calls.Jobs:
        ask = partial(api.jobs, dashboard.command, question.limit_seconds)
        found = await self._flight.run(("list", dashboard.target.uid), ask)
        return calls.Jobs(tuple(msgspec.structs.replace(one, message="") for one in found.values()))

    async def _stop(self, dashboard: Dashboard, question: calls.AboutJob) -> calls.Stopped:
        self._answers.drop((dashboard.target.uid, question.job_id))
        return await api.stop(dashboard.command, question.job_id, question.limit_seconds)

    async def _delete(self, dashboard: Dashboard, question: calls.AboutJob) -> calls.Deleted:
        self._answers.drop((dashboard.target.uid, question.job_id))
        await api.delete(dashboard.command, question.job_id, question.limit_seconds)
        return calls.Deleted()

    async def _logs(self, dashboard: Dashboard, question: calls.LogRange) -> calls.Log:
        start, tail = question.start, question.tail
        ask = partial(api.log, dashboard.command, question.job_id, question.limit_seconds, start=start, tail=tail)
        return await self._flight.run(("logs", dashboard.target.uid, question.job_id, start, tail), ask)

    async def _applications(self, dashboard: Dashboard, question: calls.AboutCluster) -> calls.Applications:
        ask = partial(api.applications, dashboard.command, question.limit_seconds)
        return await self._flight.run(("applications", dashboard.target.uid), ask)

    async def _deploy(self, dashboard: Dashboard, question: calls.ServeConfig) -> calls.Deployed:
        try:
            await api.deploy(dashboard.command, question.config, question.limit_seconds)
        finally:  # what was not answered may have been taken
            self._deployed(question.cluster)
        return calls.Deployed()

    async def _version(self, dashboard: Dashboard, question: calls.AboutCluster) -> calls.Version:
        ask = partial(api.version, dashboard.command, question.limit_seconds)
        return await self._flight.run(("version", dashboard.target.uid), ask)


def _question(call: Call[Q, Any], body: bytes) -> Q:
    try:
        question = call.question.decode(body)
    except Poison as error:
        raise Refused(400, "BadRequest", f"{call.subject}: {error}") from error
    if not 0 < question.limit_seconds <= calls.LONGEST_SECONDS:
        raise Refused(400, "BadRequest", f"limit_seconds must be above 0 and at most {calls.LONGEST_SECONDS:g}")
    return question


@asynccontextmanager
async def _deadline(question: Question) -> AsyncIterator[None]:
    """A block that ends with Unreachable when the question's time is up."""
    try:
        async with asyncio.timeout(question.limit_seconds):
            yield
    except TimeoutError as error:
        text = f"the dashboard of {question.cluster} did not answer in {question.limit_seconds:g} s"
        raise Unreachable(text) from error
