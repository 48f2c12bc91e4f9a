"""One followed cluster: what is known of it, where that is said, and when it is asked again."""

from collections.abc import Iterator
from typing import Any, Final

from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO, JobReport, ServeReport, is_same
from manta_dashboard_gateway.follow import NEW_FOR, Followed, FollowedJob, Serving
from manta_dashboard_gateway.pace import State
from manta_dashboard_gateway.publisher import Place
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import HeadProxy
from manta_dashboard_gateway.rounds import Rounds

MOVING: Final = frozenset({"NOT_STARTED", "DEPLOYING", "DELETING"})  # of applications, which will soon be otherwise
RUNNING: Final = "RUNNING"
NEVER: Final = float("-inf")
SURE_AFTER_SECONDS: Final = 1.0  # what an application says earlier may still be about what it ran before


class Poll:
    """One followed cluster."""

    def __init__(self, dashboard: Dashboard, rounds: Rounds, *, partition: int, due_at: float) -> None:
        self.dashboard, self.rounds, self.partition, self.due_at = dashboard, rounds, partition, due_at
        self.proxy: HeadProxy | None = None
        self.followed = Followed()
        self.jobs: dict[FollowedJob, JobReport] = {}
        self.serve: ServeReport | None = None
        self.unsaid = False
        self.hurries = 0  # how often somebody could not wait for the next round
        self.quick_until = self._sure_at = NEVER
        self.serve_place = Place(SERVE_INFO, partition, dashboard.target.cluster)
        self._places: dict[FollowedJob, Place[JobReport]] = {}

    def state(self, monotonic: float, *, new: bool) -> State:
        """How soon something may change; `new`: whether a job or the head has just begun."""
        waits_for_job = any(not _has_ended(self.jobs.get(job)) for job in self.followed.jobs)
        if not self.followed.serve and not waits_for_job:
            return "settled"
        if monotonic < self._sure_at or (new and waits_for_job):
            return "new"
        return self._serve_state(monotonic, new=new)

    def _serve_state(self, monotonic: float, *, new: bool) -> State:
        """The same of Serve; once it runs what it was told, nothing changes any more, however young it is."""
        found, is_told = self.serve, monotonic < self.quick_until
        if not self.followed.serve or found is None or found.trouble:
            return "new" if new or is_told else "usual"
        states = {one.status for one in found.applications.values()}
        if not states and not is_told:
            return "moving" if new else "usual"  # until it is told what to run, which is mostly done by way of us
        if (new or is_told) and not (states == {RUNNING} and self._is_reached(found)):
            return "new"
        return "moving" if states & MOVING else "usual"

    def _is_reached(self, found: ServeReport) -> bool:
        """Whether the proxy answers, if anybody wants to know of it."""
        is_asked = self.followed.serve is not None and self.followed.serve.proxy and self.proxy is not None
        return not is_asked or (found.proxy is not None and found.proxy.healthy)

    def follow(self, followed: Followed, proxy: HeadProxy | None, monotonic: float) -> None:
        """Ask for this from now on; what was not asked for before, or is wanted otherwise now, at once."""
        before, self.followed, self.proxy = self.followed, followed, proxy
        if before and _is_news(before, followed):
            self.due_at = min(self.due_at, monotonic)
        if before.serve and followed.serve and _is_told_anew(before.serve, followed.serve):
            self.hurry(monotonic)
        self.jobs = {job: self.jobs[job] for job in followed.jobs if job in self.jobs}
        self.serve = self.serve if followed.serve else None
        self._places = {job: self._places.get(job) or _place(job) for job in followed.jobs}

    def hurry(self, monotonic: float) -> None:
        """Something was changed on purpose: ask now, and often for a while, also if it is being asked already."""
        self.hurries += 1
        self.due_at, self.quick_until = monotonic, monotonic + NEW_FOR.total_seconds()
        self._sure_at = NEVER if _runs_nothing(self.serve) else monotonic + SURE_AFTER_SECONDS

    def place(self, job: FollowedJob) -> Place[JobReport]:
        """Where a job's report stands."""
        return self._places[job]

    def learn(self, job: FollowedJob, report: JobReport) -> None:
        """This is known of a job now; what a reader cannot tell from what was known is no news."""
        if not is_same(self.jobs.get(job), report):
            self.jobs[job] = report
            self.unsaid = True

    def learn_serve(self, report: ServeReport) -> None:
        """The same for Serve; when it ran nothing, what it says next can only be about what it was told."""
        if _runs_nothing(report):
            self._sure_at = NEVER
        if not is_same(self.serve, report):
            self.serve = report
            self.unsaid = True

    def words(self) -> Iterator[tuple[Place[Any], str, Any]]:
        """What is known of a cluster: where it belongs, whom it is about, and the report."""
        for job, report in self.jobs.items():
            yield self._places[job], job.uid, report
        if self.serve:
            yield self.serve_place, self.serve.cluster_uid, self.serve


def _is_news(before: Followed, after: Followed) -> bool:
    if after.serve != before.serve or not {*after.jobs} <= {*before.jobs}:
        return True
    return after.new_until is not None and (before.new_until is None or after.new_until > before.new_until)


def _is_told_anew(before: Serving, after: Serving) -> bool:
    return (before.config, before.capacity) != (after.config, after.capacity)


def _place(job: FollowedJob) -> Place[JobReport]:
    return Place(JOB_INFO, job.partition, job.key)


def _has_ended(report: JobReport | None) -> bool:
    return report is not None and report.is_terminal and not report.trouble


def _runs_nothing(report: ServeReport | None) -> bool:
    return report is not None and not report.trouble and not report.applications
