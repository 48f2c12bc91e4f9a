"""RayCronJobs on the plane: RayJobs that they made and that ended go when they are too many."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from manta_common.api.raycronjob import RayCronJob
from manta_common.bus.channel import OF_JOBS
from manta_common.errors import NotCaughtUp, NotFound
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import RAYCRONJOB, RAYJOB
from manta_common.kube.protocol import Kube
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Settler
from manta_common.store import Held
from manta_common.writes import Writes
from manta_janitor.picked import Picked
from manta_janitor.policies.history import Tick, surplus

log = logging.getLogger(__name__)


def schedule_of(job: Tick) -> Iterable[Key]:
    """The RayCronJob that made a job."""
    owner = job.schedule
    return [Key(job.metadata.namespace, owner.name)] if owner else []


SCHEDULES = Source("raycronjob", RayCronJob, family=OF_JOBS)
TICKS = Picked("rayjob", Tick, lambda job: job.schedule is not None, {"schedule": schedule_of}, family=OF_JOBS)


class HistoryService:
    """Implements the plane's `Service` for the history of RayCronJobs."""

    name = "janitor-history"
    sources: Sequence[Source[Any]] = (SCHEDULES, TICKS)

    def __init__(self, kube: Kube, means: Means, shape: Shape) -> None:
        self._kube = kube
        self.plane = Plane(means, self, shape)
        self._writes = Writes(kube, self.plane, self.sources)

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A schedule marks itself, a job the schedule that made it."""
        return [held.key] if word == SCHEDULES.word else schedule_of(held.object)

    async def settle(self, item: Item) -> None:
        """One pass. What it deletes is decided on again and carries its uid, so no view has to be compared before."""
        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=self._decide,
            carry_out=self._carry_out,
            children=[],
        ).settle(item)

    def _decide(self, view: View, item: Item) -> Sequence[Phase[Tick]]:
        schedule = view.of(SCHEDULES).get(item.key)
        if schedule is None or schedule.metadata.deletion_timestamp is not None:
            return []
        return [surplus(schedule, view.of(TICKS).find("schedule", item.key))]

    async def _carry_out(self, item: Item, action: Tick) -> None:
        """Read the schedule again and decide again; only what is still too much is deleted."""
        try:
            schedule = await self._kube.get(RAYCRONJOB, item.key, RayCronJob)
        except NotFound as error:
            raise NotCaughtUp("the schedule is gone by now") from error
        view = self.plane.view_of(item)
        if view is None or action not in surplus(schedule, view.of(TICKS).find("schedule", item.key)):
            raise NotCaughtUp("the schedule or its jobs have changed since the deletion was decided")
        place = Key(action.metadata.namespace, action.metadata.name)
        await self._writes.delete(item, RAYJOB, place, uid=action.metadata.uid)
        log.info("job beyond the history limit was deleted", extra={"key": str(item), "job": str(place)})
