"""Which ended RayJobs of a schedule are too many. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from manta_common.api.raycronjob import RayCronJob
from manta_common.api.wire import Time, Wire
from manta_janitor.observed import Going, Owner

SUCCEEDED = frozenset({"Complete"})
FAILED = frozenset({"Failed", "ValidationFailed"})


class TickMeta(Going, frozen=True, kw_only=True):
    """Which RayJob it is, whose, since when, and whether it goes already."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: Time | None = None
    owner_references: tuple[Owner, ...] = ()


_NOBODYS = TickMeta()


class TickStatus(Wire, frozen=True, kw_only=True):
    """How a RayJob ended, and when."""

    job_deployment_status: str = ""
    end_time: Time | None = None


_NO_STATUS = TickStatus()


class Tick(Wire, frozen=True, kw_only=True):
    """A RayJob, as far as the history of the schedule is concerned that made it; of others nothing is kept."""

    metadata: TickMeta = TickMeta()
    status: TickStatus = TickStatus()

    def __post_init__(self) -> None:
        """Forget all of it, if it is no schedule's."""
        if self.schedule is None:
            msgspec.structs.force_setattr(self, "metadata", _NOBODYS)
            msgspec.structs.force_setattr(self, "status", _NO_STATUS)

    @property
    def schedule(self) -> Owner | None:
        """The RayCronJob that made it."""
        owners = self.metadata.owner_references
        return next((owner for owner in owners if owner.controller and owner.kind == "RayCronJob"), None)

    @property
    def ended_at(self) -> datetime:
        """When it ended; one that was refused never began."""
        return self.status.end_time or self.metadata.creation_timestamp or datetime.min.replace(tzinfo=UTC)


def surplus(schedule: RayCronJob, jobs: Iterable[Tick]) -> list[Tick]:
    """Return those that ended before the ones that the schedule wants to keep, oldest end first."""
    own = [job for job in jobs if job.schedule and job.schedule.uid == schedule.metadata.uid]
    staying = [job for job in own if job.metadata.deletion_timestamp is None]
    good, bad = schedule.spec.successful_jobs_history_limit, schedule.spec.failed_jobs_history_limit
    return [*_beyond(staying, SUCCEEDED, good), *_beyond(staying, FAILED, bad)]


def _beyond(jobs: list[Tick], states: frozenset[str], limit: int | None) -> list[Tick]:
    if limit is None:
        return []
    ended = [job for job in jobs if job.status.job_deployment_status in states]
    ended.sort(key=lambda job: (job.ended_at, job.metadata.name))
    return ended[: max(0, len(ended) - limit)]
