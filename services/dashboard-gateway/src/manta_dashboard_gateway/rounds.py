"""One round of questions to one dashboard: by id for one job, the list for more."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import msgspec

from manta_common.dashboard.calls import JobDetails
from manta_common.errors import MantaError, NotFound, Unreachable
from manta_dashboard_gateway.ray import api
from manta_dashboard_gateway.ray.answers import Unreadable
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.transport import TooLarge
from manta_dashboard_gateway.sayings import Said

WITHOUT_LISTS = timedelta(minutes=1)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a dashboard may take to answer: about one job, with the list of all; and Serve's proxy in a head."""

    one_seconds: float = 5.0
    list_seconds: float = 15.0
    proxy_seconds: float = 2.0


class Rounds:
    """Asks for jobs, and remembers what makes the next round cheaper."""

    def __init__(self, dashboard: Dashboard, limits: Limits, *, now: Callable[[], datetime]) -> None:
        self._dashboard, self._limits, self._now = dashboard, limits, now
        self._absent: set[str] = set()  # ids that Ray did not know when it was asked for them
        self._lists_again_at: datetime | None = None

    async def jobs(self, job_ids: Iterable[str]) -> dict[str, Said]:
        """What Ray says of each of these jobs."""
        wanted = list(dict.fromkeys(job_ids))
        if not wanted:
            return {}
        if len(wanted) == 1 or (self._lists_again_at and self._now() < self._lists_again_at):
            return await self._by_id(wanted)
        asked_at = self._now()
        try:
            listed = await api.jobs(self._dashboard.poll, self._limits.list_seconds)
        except TooLarge:
            self._lists_again_at = self._now() + WITHOUT_LISTS
            return await self._by_id(wanted)
        except MantaError as error:
            return dict.fromkeys(wanted, Said(asked_at=asked_at, error=error))
        self._absent -= listed.keys()
        found = {job_id: self._listed(job_id, listed, asked_at) for job_id in wanted}
        missing = [job_id for job_id, said in found.items() if said is None]
        return {job_id: said for job_id, said in found.items() if said} | await self._by_id(missing)

    async def serve(self, *, ready: bool) -> Said:
        """What Serve says of its applications; a head that is not ready need not be asked."""
        asked_at = self._now()
        if not ready:
            return Said(asked_at=asked_at, error=Unreachable("the head pod is not ready"))
        try:
            found = await api.applications(self._dashboard.poll, self._limits.one_seconds)
        except MantaError as error:
            return Said(asked_at=asked_at, error=error)
        return Said(asked_at=asked_at, applications=found)

    def _listed(self, job_id: str, listed: dict[str, JobDetails], asked_at: datetime) -> Said | None:
        """What a list says; of a job that it lacks, nothing, unless Ray said by id already that it has none such."""
        if job_id in listed:
            return Said(asked_at=asked_at, details=listed[job_id])
        if job_id in self._absent:
            return Said(asked_at=asked_at, error=NotFound(f"Job {job_id} does not exist"))
        return None

    async def _by_id(self, job_ids: Iterable[str]) -> dict[str, Said]:
        """One after the other; a dashboard that does not answer once is not asked on."""
        found: dict[str, Said] = {}
        broken: Said | None = None
        for job_id in job_ids:
            said = broken or await self._one(job_id)
            found[job_id] = said
            if said.error and not isinstance(said.error, NotFound | Unreadable):
                broken = said
        return found

    async def _one(self, job_id: str) -> Said:
        asked_at = self._now()
        try:
            details = await api.job(self._dashboard.poll, job_id, self._limits.one_seconds)
        except MantaError as error:
            if isinstance(error, NotFound):
                self._absent.add(job_id)
            return Said(asked_at=asked_at, error=error)
        self._absent.discard(job_id)
        return Said(asked_at=asked_at, details=details)
