"""RayCronJobs on the plane: what marks a schedule, and one pass for it."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final, assert_never
from zoneinfo import ZoneInfo

import msgspec

from manta_common.api import labels
from manta_common.api.gates import Gates
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.bus.channel import OF_JOBS
from manta_common.deeds import Recheck, Tell
from manta_common.errors import AlreadyExists
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import RAYCRONJOB, RAYJOB
from manta_common.kube.events import Recorder, reference
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.kube.series import Notice
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Children, Settler
from manta_common.store import Held
from manta_common.writes import Writes
from manta_job_reconciler.actions import CreateJob, CronAction, DeleteJob, WriteSchedule
from manta_job_reconciler.policies.schedule import Scheduled, decide

CONTROLLER: Final = "raycronjob-controller"
log = logging.getLogger(__name__)


def schedule_of(job: RayJob) -> Iterable[Key]:
    """The RayCronJob that made a RayJob."""
    name = job.metadata.labels.get(labels.CRON_JOB_NAME)
    return [Key(job.metadata.namespace, name)] if name else []


SCHEDULES = Source("raycronjob", RayCronJob, family=OF_JOBS)
CHILDREN_JOBS = Source("rayjob", RayJob, {"schedule": schedule_of}, family=OF_JOBS)


class CronSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What schedules depend on beyond their specs."""

    gates: Gates
    local: tzinfo


class CronService:
    """Implements the plane's `Service` for RayCronJobs."""

    name = "cron-reconciler"
    sources: Sequence[Source[Any]] = (SCHEDULES, CHILDREN_JOBS)

    def __init__(self, kube: Kube, means: Means, settings: CronSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings, self._recorder = kube, settings, recorder
        self.plane = Plane(means, self, shape)
        self._writes = Writes(kube, self.plane, self.sources)

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A schedule marks itself, a job its schedule."""
        return [held.key] if word == SCHEDULES.word else schedule_of(held.object)

    async def settle(self, item: Item) -> None:
        """One pass."""
        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=self._decide,
            carry_out=self._carry_out,
            children=[Children(RAYJOB, CHILDREN_JOBS, _scope, _ours)],
        ).settle(item)

    def _decide(self, view: View, item: Item) -> Sequence[Phase[CronAction]]:
        cron = view.of(SCHEDULES).get(item.key)
        if cron is None:
            return []
        found = view.of(CHILDREN_JOBS).find("schedule", item.key)
        jobs = tuple(job for job in found if cron.metadata.uid in {each.uid for each in job.metadata.owner_references})
        scheduled = Scheduled(cron=cron, jobs=jobs, zone=self._zone(cron))
        return decide(scheduled, self._settings.gates, self._kube.now())

    def _zone(self, cron: RayCronJob) -> tzinfo:
        """The schedule's zone; one that nobody knows is found by validation, not here."""
        name = cron.spec.time_zone
        if not name or name == "Local":
            return self._settings.local
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            return self._settings.local

    async def _carry_out(self, item: Item, action: CronAction) -> None:
        match action:
            case CreateJob():
                await self._create(item, action)
            case DeleteJob():
                key = Key(item.key.namespace, action.name)
                await self._writes.delete(item, RAYJOB, key, uid=action.uid)
            case WriteSchedule():
                said = {"lastScheduleTime": _text(action.last_schedule_time)}
                patch = MergePatch({"metadata": {"resourceVersion": action.version}, "status": said})
                await self._writes.write_status(item, RAYCRONJOB, patch=patch, into=RayCronJob)
            case Tell():
                self._tell(item, action)
            case Recheck():
                self.plane.worker.recheck(item, action.at)
            case _:
                assert_never(action)
        log.info("action was carried out", extra={"action": type(action).__name__, "key": str(item)})

    async def _create(self, item: Item, action: CreateJob) -> None:
        """Create the job of a tick; its name is the tick's, so one that is there already is the same."""
        try:
            await self._writes.create(item, RAYJOB, action.manifest, into=RayJob)
        except AlreadyExists:
            log.debug("job of the tick is there already", extra={"key": str(item)})

    def _tell(self, item: Item, action: Tell) -> None:
        view = self.plane.view_of(item)
        held = view.of(SCHEDULES).held(item.key) if view else None
        notice = Notice(
            controller=CONTROLLER,
            type=action.severity,
            reason=action.reason,
            action=action.action,
            note=action.note,
        )
        self._recorder.record(reference(RAYCRONJOB, item.key, held.uid if held else ""), notice)


def _text(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _scope(item: Item) -> Scope:
    return Scope(namespace=item.key.namespace, labels=f"{labels.CRON_JOB_NAME}={item.key.name}")


def _ours(view: View, item: Item) -> list[Key]:
    found = view.of(CHILDREN_JOBS).find("schedule", item.key)
    return [Key(job.metadata.namespace, job.metadata.name) for job in found]
