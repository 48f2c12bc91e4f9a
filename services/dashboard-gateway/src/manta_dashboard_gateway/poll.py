"""One followed cluster: what is known of it, where that is said, and when it is asked again."""

from collections.abc import Iterator
from typing import Any, Final

from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO, JobReport, ServeReport, is_same
from manta_dashboard_gateway.follow import NEW_FOR, Followed, FollowedJob
from manta_dashboard_gateway.pace import State
from manta_dashboard_gateway.publisher import Place
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import HeadProxy
from manta_dashboard_gateway.rounds import Rounds

MOVING: Final = frozenset({"NOT_STARTED", "DEPLOYING", "DELETING"})  # of applications, which will soon be otherwise


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
        self.quick_until = float("-inf")
        self.serve_place = Place(SERVE_INFO, partition, dashboard.target.cluster)
        self._places: dict[FollowedJob, Place[JobReport]] = {}

    def state(self, monotonic: float, *, new: bool) -> State:
        """How soon something may change; it is new too while somebody is in a hurry."""
        if not self.followed.serve and all(_has_ended(self.jobs.get(job)) for job in self.followed.jobs):
            return "settled"
        if new or monotonic < self.quick_until:
            return "new"
        moving = self.serve and any(one.status in MOVING for one in self.serve.applications.values())
        return "moving" if moving else "usual"

    def follow(self, followed: Followed, proxy: HeadProxy | None, monotonic: float) -> None:
        """Ask for this from now on; what was not asked for before, or is wanted otherwise now, at once."""
        before, self.followed, self.proxy = self.followed, followed, proxy
        if before and _is_news(before, followed):
            self.due_at = min(self.due_at, monotonic)
        if before.serve and followed.serve and before.serve != followed.serve:
            self.hurry(monotonic)
        self.jobs = {job: self.jobs[job] for job in followed.jobs if job in self.jobs}
        self.serve = self.serve if followed.serve else None
        self._places = {job: self._places.get(job) or _place(job) for job in followed.jobs}

    def hurry(self, monotonic: float) -> None:
        """Something was changed on purpose: ask now, and often for a while, also if it is being asked already."""
        self.hurries += 1
        self.due_at, self.quick_until = monotonic, monotonic + NEW_FOR.total_seconds()

    def place(self, job: FollowedJob) -> Place[JobReport]:
        """Where a job's report stands."""
        return self._places[job]

    def learn(self, job: FollowedJob, report: JobReport) -> None:
        """This is known of a job now; what a reader cannot tell from what was known is no news."""
        if not is_same(self.jobs.get(job), report):
            self.jobs[job] = report
            self.unsaid = True

    def learn_serve(self, report: ServeReport) -> None:
        """The same for Serve."""
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


def _place(job: FollowedJob) -> Place[JobReport]:
    return Place(JOB_INFO, job.partition, job.key)


def _has_ended(report: JobReport | None) -> bool:
    return report is not None and report.is_terminal and not report.trouble
