"""RayCronJobs: ticks, suspension, concurrency and missed ticks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.deeds import Recheck, Tell
from manta_job_reconciler.actions import CreateJob, CronAction, DeleteJob, WriteSchedule
from manta_job_reconciler.policies.schedule import Scheduled, decide
from tests.unit.manta_job_reconciler.made import SPEC, job, observed, status

BORN = datetime(2026, 1, 1, tzinfo=UTC)


def cron(last: datetime | None = None, **spec: Any) -> RayCronJob:
    body = {
        "metadata": {
            "name": "nightly",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "3",
            "creationTimestamp": BORN,
        },
        "spec": {"schedule": "0 * * * *", "jobTemplate": {"rayClusterSpec": SPEC}, **spec},
        "status": {"lastScheduleTime": last} if last else {},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=RayCronJob)


def acts(about: RayCronJob, now: datetime, *jobs: RayJob) -> list[CronAction]:
    phases = decide(Scheduled(cron=about, jobs=jobs, zone=UTC), Gates(), now)
    return [action for phase in phases for action in phase]


def ticks(found: list[CronAction]) -> list[str]:
    return [
        each.manifest["metadata"]["annotations"]["ray.io/cronjob-scheduled-timestamp"]
        for each in found
        if isinstance(each, CreateJob)
    ]


def child(state: str, name: str = "old", **meta: Any) -> RayJob:
    return observed(job(meta={"name": name, "uid": "old-uid", **meta}), status(state)).job


def hours(number: float) -> datetime:
    return BORN + timedelta(hours=number)


def test_before_its_tick_a_schedule_waits() -> None:
    assert acts(cron(), hours(0.5)) == [Recheck(hours(1))]


def test_at_its_tick_a_job_is_made_and_the_tick_is_written() -> None:
    later, made, written = acts(cron(), hours(1))
    assert ticks([made]) == ["2026-01-01T01:00:00Z"]
    assert (written, later) == (WriteSchedule(hours(1), "3"), Recheck(hours(2)))


def test_a_tick_that_was_written_does_not_come_again() -> None:
    assert acts(cron(hours(1)), hours(1.5)) == [Recheck(hours(2))]


def test_of_missed_ticks_only_the_last_is_made_up_for() -> None:
    found = acts(cron(hours(1)), hours(100.5))
    assert ticks(found) == ["2026-01-05T04:00:00Z"]
    assert WriteSchedule(hours(100), "3") in found


@pytest.mark.parametrize(
    ("limit", "made"),
    [
        pytest.param(1800, 1, id="in time"),
        pytest.param(1799, 0, id="too late"),
        pytest.param(2**62, 1, id="longer than times can tell"),
    ],
)
def test_a_tick_may_come_too_late(limit: int, made: int) -> None:
    found = acts(cron(startingDeadlineSeconds=limit), hours(1.5))
    assert len(ticks(found)) == made
    assert WriteSchedule(hours(1), "3") in found


@pytest.mark.parametrize(
    ("policy", "state", "does"),
    [
        pytest.param("Allow", "Running", [Recheck, CreateJob, WriteSchedule], id="another beside it"),
        pytest.param("Forbid", "Running", [Recheck], id="not while it runs"),
        pytest.param("Forbid", "Complete", [Recheck, CreateJob, WriteSchedule], id="it has ended"),
        pytest.param("Replace", "Running", [Recheck, DeleteJob, CreateJob, WriteSchedule], id="instead of it"),
        pytest.param("Replace", "Failed", [Recheck, CreateJob, WriteSchedule], id="nothing to replace"),
        pytest.param("Forbid", "ValidationFailed", [Recheck, CreateJob, WriteSchedule], id="one that will never run"),
    ],
)
def test_concurrency(policy: str, state: str, does: list[type]) -> None:
    found = acts(cron(concurrencyPolicy=policy), hours(1), child(state))
    assert [type(each) for each in found] == does


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
def test_a_tick_whose_job_is_there_is_only_written(policy: str) -> None:
    minute = int(hours(1).timestamp()) // 60
    found = acts(cron(concurrencyPolicy=policy), hours(1), child("Running", f"nightly-{minute}"))
    assert found == [Recheck(hours(2)), WriteSchedule(hours(1), "3")]


def test_a_job_that_goes_already_is_not_deleted_again() -> None:
    found = acts(cron(concurrencyPolicy="Replace"), hours(1), child("Running", deletionTimestamp=BORN))
    assert [type(each) for each in found] == [Recheck, CreateJob, WriteSchedule]


def test_a_suspended_schedule_says_so() -> None:
    (told,) = acts(cron(suspend=True), hours(1))
    assert isinstance(told, Tell)
    assert (told.severity, told.reason) == ("Normal", "SuspendedRayCronJob")


def test_a_schedule_that_cannot_be_read_is_told() -> None:
    (told,) = acts(cron(schedule="never"), hours(1))
    assert isinstance(told, Tell)
    assert (told.reason, told.note.startswith("ns/nightly: invalid cron schedule: ")) == ("InvalidRayCronJobSpec", True)


def test_what_never_comes_is_not_waited_for() -> None:
    assert acts(cron(schedule="0 0 30 2 *"), hours(1)) == []


def test_a_schedule_that_goes_makes_nothing() -> None:
    gone = cron()
    meta = msgspec.structs.replace(gone.metadata, deletion_timestamp=BORN)
    assert acts(msgspec.structs.replace(gone, metadata=meta), hours(1)) == []
