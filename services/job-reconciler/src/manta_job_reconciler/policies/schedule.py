"""RayCronJobs: which tick is due, whether it may run, and when the next one comes. Pure."""

from datetime import datetime, tzinfo

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.cron.grammar import parse
from manta_common.cron.ticks import last_tick, next_tick
from manta_common.deeds import Recheck, Tell
from manta_common.phases import Phase
from manta_common.validation.cron_job import validate_cron_job
from manta_job_reconciler import manifests
from manta_job_reconciler.actions import CreateJob, CronAction, DeleteJob, WriteSchedule
from manta_job_reconciler.reasons import ENDED, VALIDATION_FAILED


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """A RayCronJob, the RayJobs that it made, and the zone that its schedule is read in."""

    cron: RayCronJob
    jobs: tuple[RayJob, ...] = ()
    zone: tzinfo

    @property
    def active(self) -> tuple[RayJob, ...]:
        """The RayJobs that run or may still run; one that cannot be served does neither."""
        over = {*ENDED, VALIDATION_FAILED}
        return tuple(job for job in self.jobs if job.status.job_deployment_status not in over)


def decide(scheduled: Scheduled, gates: Gates, now: datetime) -> list[Phase[CronAction]]:
    """Return what is to be done for a schedule now."""
    cron = scheduled.cron
    if cron.metadata.deletion_timestamp is not None:
        return []
    wrong = validate_cron_job(cron, gates)
    if wrong:
        place = f"{cron.metadata.namespace}/{cron.metadata.name}"
        return [[Tell("Warning", "InvalidRayCronJobSpec", "Validate", f"{place}: {wrong[0].message}")]]
    if cron.spec.suspend:
        note = "RayCronJob suspended, no new RayJobs will be created"
        return [[Tell("Normal", "SuspendedRayCronJob", "Suspend", note)]]
    return _ticked(scheduled, now)


def _ticked(scheduled: Scheduled, now: datetime) -> list[Phase[CronAction]]:
    """At most one RayJob for all ticks that were missed: the latest of them, if it is not too late."""
    cron, schedule = scheduled.cron, parse(scheduled.cron.spec.schedule)
    base = cron.status.last_schedule_time or cron.metadata.creation_timestamp or now
    tick = last_tick(schedule, base, until=now, zone=scheduled.zone)
    upcoming = next_tick(schedule, max(base, now), scheduled.zone)
    later: list[CronAction] = [Recheck(upcoming)] if upcoming else []
    return [later, *(_run(scheduled, tick, now) if tick else ())]


def _run(scheduled: Scheduled, tick: datetime, now: datetime) -> list[Phase[CronAction]]:
    cron = scheduled.cron
    written: list[CronAction] = [WriteSchedule(tick, cron.metadata.resource_version)]
    child = manifests.cron_child(cron, tick)
    has_run = child["metadata"]["name"] in {job.metadata.name for job in scheduled.jobs}
    if has_run or _is_too_late(cron, tick, now):
        return [written]
    if cron.spec.concurrency_policy == "Forbid" and scheduled.active:
        return []  # the job that ends marks the schedule, and the tick is looked at again
    return [_replaced(scheduled), [CreateJob(child)], written]


def _is_too_late(cron: RayCronJob, tick: datetime, now: datetime) -> bool:
    limit = cron.spec.starting_deadline_seconds
    return limit is not None and (now - tick).total_seconds() > limit  # a limit may be longer than time itself


def _replaced(scheduled: Scheduled) -> list[CronAction]:
    if scheduled.cron.spec.concurrency_policy != "Replace":
        return []
    because = "the schedule replaces it"
    staying = (job for job in scheduled.active if job.metadata.deletion_timestamp is None)
    return [DeleteJob(job.metadata.name, job.metadata.uid, because) for job in staying]
