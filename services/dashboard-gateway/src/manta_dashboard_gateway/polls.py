"""Polls dashboards: what each one is asked, when, and what is said of it."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from manta_common.clock import Clock
from manta_common.dashboard.calls import JobDetails
from manta_common.dashboard.reports import JOB_INFO, ProxyReport
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_dashboard_gateway.cache import Cache
from manta_dashboard_gateway.follow import Followed, Serving
from manta_dashboard_gateway.pace import Pace, delay_seconds, first_delay_seconds
from manta_dashboard_gateway.poll import Poll
from manta_dashboard_gateway.publisher import Place, Publisher
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import HeadProxy
from manta_dashboard_gateway.rounds import Limits, Rounds
from manta_dashboard_gateway.sayings import Said, is_about, is_of, job_report, proxy_report, serve_report
from manta_dashboard_gateway.seen import JOB_REPORTS, SERVE_REPORTS

T = TypeVar("T")
Answers = Cache[tuple[str, str], JobDetails]  # by cluster uid and job id


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """The clocks and the chance by which polls go."""

    now: Callable[[], datetime]
    clock: Clock
    chance: random.Random
    pace: Pace = Pace()


class Polls:
    """All followed clusters."""

    def __init__(self, publisher: Publisher, answers: Answers, times: Times, limits: Limits) -> None:
        self._publisher, self._answers, self._times, self._limits = publisher, answers, times, limits
        self._polls: dict[Key, Poll] = {}
        self._new: set[Key] = set()  # those that are asked more often

    def __iter__(self) -> Iterator[Poll]:
        return iter(list(self._polls.values()))

    def find(self, cluster: Key, partition: int) -> Poll | None:
        """What is known of a cluster that was followed in this partition."""
        poll = self._polls.get(cluster)
        return poll if poll and poll.partition == partition else None

    def forget(self, cluster: Key) -> None:
        """Ask this cluster no more."""
        self._polls.pop(cluster, None)
        self._new.discard(cluster)

    def keep(self, polls: Iterable[Poll]) -> None:
        """Forget all others."""
        self._polls = {poll.dashboard.target.cluster: poll for poll in polls}
        self._new &= self._polls.keys()

    def follow(self, dashboard: Dashboard, proxy: HeadProxy | None, followed: Followed, *, partition: int) -> Poll:
        """Ask a cluster for this from now on."""
        cluster, now = dashboard.target.cluster, self._times.clock.monotonic()
        poll = self._polls.get(cluster)
        if poll is None or poll.dashboard is not dashboard or poll.partition != partition:
            chance, new = self._times.chance.random(), self._is_new(followed)
            due_at = now + first_delay_seconds(self._times.pace, new=new, untold=followed.untold, chance=chance)
            rounds = Rounds(dashboard, self._limits, now=self._times.now)
            poll = self._polls[cluster] = Poll(dashboard, rounds, partition=partition, due_at=due_at)
        poll.follow(followed, proxy, now)
        return poll

    def hurry(self, cluster: Key) -> Poll | None:
        """Ask a cluster now, if it is followed, and often for a while."""
        poll = self._polls.get(cluster)
        if poll:
            poll.hurry(self._times.clock.monotonic())
        return poll

    def late_seconds(self, poll: Poll) -> float:
        """How long a poll has been due; negative when it is not."""
        return self._times.clock.monotonic() - poll.due_at

    async def ask(self, poll: Poll, view: View) -> None:
        """Ask a dashboard; it is due again at its pace, or at once if somebody was in a hurry meanwhile."""
        hurries = poll.hurries
        await self._recall(poll, view)
        await self._ask_jobs(poll)
        if poll.followed.serve:
            await self._ask_serve(poll, poll.followed.serve)
        now = self._times.clock.monotonic()
        poll.due_at = now if poll.hurries != hurries else now + self._delay_seconds(poll, now)

    async def say(self, poll: Poll, view: View) -> None:
        """Make the stream show what is known of a cluster."""
        await _all(
            [self._publisher.say(place, uid, report, shown=_shown(view, place)) for place, uid, report in poll.words()]
        )
        poll.unsaid = False

    def is_unsaid(self, poll: Poll, view: View) -> bool:
        """Whether there is something to say, or the stream does not show any more what was said."""
        return poll.unsaid or any(self._publisher.is_lost(place, _shown(view, place)) for place, _, _ in poll.words())

    async def _recall(self, poll: Poll, view: View) -> None:
        """What was said before, by whomever: trouble goes on since it began, and what Ray said last is kept."""
        unknown = [job for job in poll.followed.jobs if job not in poll.jobs]
        if unknown:
            uid = poll.dashboard.target.uid
            places = [poll.place(job) for job in unknown]
            recalled = await _all([self._publisher.recall(place, _shown(view, place)) for place in places])
            for job, report in zip(unknown, recalled, strict=True):
                if report and is_about(report, job, uid):
                    poll.jobs[job] = report
        if poll.followed.serve and poll.serve is None:
            place = poll.serve_place
            poll.serve = await self._publisher.recall(place, _shown(view, place))

    async def _ask_jobs(self, poll: Poll) -> None:
        jobs, uid = poll.followed.jobs, poll.dashboard.target.uid
        said = await poll.rounds.jobs(job.job_id for job in jobs)
        for job in jobs:
            poll.learn(job, job_report(job, uid, said[job.job_id], poll.jobs.get(job)))
        self._remember(uid, said)

    async def _ask_serve(self, poll: Poll, serving: Serving) -> None:
        """Ask for applications and proxy at the same time: neither is held up by the other's trouble for long."""
        asked_at, uid = self._times.now(), poll.dashboard.target.uid
        asking = poll.rounds.serve(ready=serving.ready)
        if serving.proxy and poll.proxy:
            said, proxy = await asyncio.gather(asking, self._health(poll, poll.proxy, asked_at))
        else:
            said, proxy = await asking, None
        poll.learn_serve(serve_report(uid, said, poll.serve, proxy))

    async def _health(self, poll: Poll, proxy: HeadProxy, asked_at: datetime) -> ProxyReport | None:
        """How the proxy does; while it is not its turn, as far as is known."""
        known = poll.serve.proxy if poll.serve and poll.serve.cluster_uid == proxy.target.uid else None
        if not proxy.is_due:
            return known if known and is_of(known, proxy.target) else None
        return proxy_report(proxy.target, await proxy.problem(), asked_at, known)

    def _remember(self, uid: str, said: Mapping[str, Said]) -> None:
        for job_id, one in said.items():
            if one.details:
                self._answers.put((uid, job_id), one.details)
            else:
                self._answers.drop((uid, job_id))

    def _delay_seconds(self, poll: Poll, monotonic: float) -> float:
        state = poll.state(monotonic, new=self._is_new(poll.followed))
        if state == "new":
            self._new.add(poll.dashboard.target.cluster)
        else:
            self._new.discard(poll.dashboard.target.cluster)
        chance, course = self._times.chance.random(), poll.dashboard.course
        return delay_seconds(self._times.pace, course, state, chance=chance, new=len(self._new))

    def _is_new(self, followed: Followed) -> bool:
        return followed.new_until is not None and self._times.now() < followed.new_until


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
