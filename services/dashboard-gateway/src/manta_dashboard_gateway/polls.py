"""Polls dashboards: what each one is asked, when, and what is said of it."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from manta_common.clock import Clock
from manta_common.dashboard.calls import JobDetails
from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO, JobReport, ServeReport
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_dashboard_gateway.cache import Cache
from manta_dashboard_gateway.follow import Followed, FollowedJob
from manta_dashboard_gateway.pace import Pace, delay_seconds, first_delay_seconds
from manta_dashboard_gateway.publisher import Place, Publisher
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.rounds import Limits, Rounds
from manta_dashboard_gateway.sayings import Said, is_about, job_report, serve_report
from manta_dashboard_gateway.seen import JOB_REPORTS, SERVE_REPORTS

T = TypeVar("T")
Answers = Cache[tuple[str, str], JobDetails]  # by cluster uid and job id


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """The clocks and the chance by which polls go."""

    now: Callable[[], datetime]
    clock: Clock
    chance: random.Random
    pace: Pace = Pace()


class Poll:
    """One followed cluster: what is known of it, and when it is to be asked again."""

    def __init__(self, dashboard: Dashboard, rounds: Rounds, *, partition: int, due_at: float) -> None:
        self.dashboard, self.rounds, self.partition, self.due_at = dashboard, rounds, partition, due_at
        self.followed = Followed()
        self.jobs: dict[FollowedJob, JobReport] = {}
        self.serve: ServeReport | None = None
        self.unsaid = False

    @property
    def settled(self) -> bool:
        """Whether all that is followed has ended."""
        reports = [self.jobs.get(job) for job in self.followed.jobs]
        return not self.followed.serve and all(one and one.is_terminal and not one.trouble for one in reports)

    def follow(self, followed: Followed, monotonic: float) -> None:
        """Ask for this from now on; what was not asked for before, at once."""
        added = {*followed.jobs} - {*self.followed.jobs} or (followed.serve and not self.followed.serve)
        if added and self.followed:
            self.due_at = min(self.due_at, monotonic)
        self.followed = followed
        self.jobs = {job: self.jobs[job] for job in followed.jobs if job in self.jobs}
        self.serve = self.serve if followed.serve else None


class Polls:
    """All followed clusters."""

    def __init__(self, publisher: Publisher, answers: Answers, times: Times, limits: Limits) -> None:
        self._publisher, self._answers, self._times, self._limits = publisher, answers, times, limits
        self._polls: dict[Key, Poll] = {}

    def __iter__(self) -> Iterator[Poll]:
        return iter(list(self._polls.values()))

    def find(self, cluster: Key, partition: int) -> Poll | None:
        """What is known of a cluster that was followed in this partition."""
        poll = self._polls.get(cluster)
        return poll if poll and poll.partition == partition else None

    def forget(self, cluster: Key) -> None:
        """Ask this cluster no more."""
        self._polls.pop(cluster, None)

    def keep(self, polls: Iterable[Poll]) -> None:
        """Forget all others."""
        self._polls = {poll.dashboard.target.cluster: poll for poll in polls}

    def follow(self, dashboard: Dashboard, followed: Followed, partition: int) -> Poll:
        """Ask a cluster for this from now on."""
        cluster, now = dashboard.target.cluster, self._times.clock.monotonic()
        poll = self._polls.get(cluster)
        if poll is None or poll.dashboard is not dashboard or poll.partition != partition:
            chance = self._times.chance.random()
            due_at = now + first_delay_seconds(self._times.pace, new=self._is_new(followed), chance=chance)
            rounds = Rounds(dashboard, self._limits, now=self._times.now)
            poll = self._polls[cluster] = Poll(dashboard, rounds, partition=partition, due_at=due_at)
        poll.follow(followed, now)
        return poll

    def late_seconds(self, poll: Poll) -> float:
        """How long a poll has been due; negative when it is not."""
        return self._times.clock.monotonic() - poll.due_at

    async def ask(self, poll: Poll, view: View) -> None:
        """Ask a dashboard; it is due again at its pace. What it said is to be said on."""
        await self._recall(poll, view)
        jobs, uid = poll.followed.jobs, poll.dashboard.target.uid
        said = await poll.rounds.jobs(job.job_id for job in jobs) if jobs else {}
        served = await poll.rounds.serve() if poll.followed.serve else None
        poll.jobs = {job: job_report(job, uid, said[job.job_id], poll.jobs.get(job)) for job in jobs}
        poll.serve = serve_report(uid, served, poll.serve) if served else None
        self._remember(uid, said)
        poll.due_at, poll.unsaid = self._times.clock.monotonic() + self._delay_seconds(poll), True

    async def say(self, poll: Poll, view: View) -> None:
        """Make the stream show what is known of a cluster."""
        await _all(
            [self._publisher.say(place, uid, report, shown=_shown(view, place)) for place, uid, report in _words(poll)]
        )
        poll.unsaid = False

    def is_unsaid(self, poll: Poll, view: View) -> bool:
        """Whether there is something to say, or the stream does not show any more what was said."""
        return poll.unsaid or any(self._publisher.is_lost(place, _shown(view, place)) for place, _, _ in _words(poll))

    async def _recall(self, poll: Poll, view: View) -> None:
        """What was said before, by whomever: trouble goes on since it began, and what Ray said last is kept."""
        unknown = [job for job in poll.followed.jobs if job not in poll.jobs]
        recalling = [self._publisher.recall(_job_place(job), _shown(view, _job_place(job))) for job in unknown]
        uid = poll.dashboard.target.uid
        for job, report in zip(unknown, await _all(recalling), strict=True):
            if report and is_about(report, job, uid):
                poll.jobs[job] = report
        if poll.followed.serve and poll.serve is None:
            place = _serve_place(poll)
            poll.serve = await self._publisher.recall(place, _shown(view, place))

    def _remember(self, uid: str, said: Mapping[str, Said]) -> None:
        for job_id, one in said.items():
            if one.details:
                self._answers.put((uid, job_id), one.details)
            else:
                self._answers.drop((uid, job_id))

    def _delay_seconds(self, poll: Poll) -> float:
        return delay_seconds(
            self._times.pace,
            poll.dashboard.course,
            new=self._is_new(poll.followed),
            settled=poll.settled,
            chance=self._times.chance.random(),
        )

    def _is_new(self, followed: Followed) -> bool:
        return followed.new_until is not None and self._times.now() < followed.new_until


def _words(poll: Poll) -> list[tuple[Place[Any], str, Any]]:
    """What is known of a cluster: where it belongs, whom it is about, and the report."""
    found: list[tuple[Place[Any], str, Any]] = [(_job_place(job), job.uid, poll.jobs[job]) for job in poll.jobs]
    if poll.serve:
        found.append((_serve_place(poll), poll.serve.cluster_uid, poll.serve))
    return found


def _job_place(job: FollowedJob) -> Place[JobReport]:
    return Place(JOB_INFO, job.partition, job.key)


def _serve_place(poll: Poll) -> Place[ServeReport]:
    return Place(SERVE_INFO, poll.partition, poll.dashboard.target.cluster)


def _shown(view: View, place: Place[Any]) -> int:
    """Which version of a report our own feed shows at its place; -1 when none."""
    source: Source[Any] = JOB_REPORTS if place.channel is JOB_INFO else SERVE_REPORTS
    held = view.of(source).held(place.key)
    return held.version if held and held.partition == place.partition else -1


async def _all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Everything at once; when something failed, the first error, after all have ended."""
    if len(work) == 1:  # as it mostly is: no need for a task
        return [await work[0]]
    found = await asyncio.gather(*work, return_exceptions=True)
    errors = [one for one in found if isinstance(one, BaseException)]
    if errors:
        raise errors[0]
    return [one for one in found if not isinstance(one, BaseException)]
