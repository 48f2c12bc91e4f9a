"""RayCronJobs in virtual time: every tick runs once, whatever dies, and of missed ticks only the last."""

from datetime import UTC
from typing import Any

import pytest

from manta_common.api.gates import Gates
from manta_common.kinds import CRD, RAYCRONJOB, RAYJOB
from manta_common.kube.events import Recorder
from manta_common.plane import Shape
from manta_embedded.sim.service import Seat
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from manta_embedded.store.schema.ray import definitions
from manta_job_reconciler.schedules import CronService, CronSettings
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.examples import manifests
from tests.model.seats import Seated

PARTITIONS = 3
SETTINGS = CronSettings(gates=Gates(), local=UTC)


class Process(Seated):
    """The part of the job-reconciler that looks after schedules."""

    def __init__(self, seat: Seat) -> None:
        recorder, shape = Recorder(seat.kube, seat.name), Shape(partitions=PARTITIONS)
        super().__init__(recorder, CronService(seat.kube, seat.means, SETTINGS, recorder, shape).plane)


def begin(world: World, **spec: Any) -> None:
    """A schedule for every minute; nobody runs the jobs it makes."""
    for definition in definitions():
        world.create(CRD, definition)
    world.start("watcher-1", lambda seat: Watcher(seat.means, seat.kube, Task(partitions=PARTITIONS)))
    world.start("schedules-1", Process)
    world.create(RAYCRONJOB, manifests.cron_job({"schedule": "* * * * *", **spec}, name="often"))


def ticks(world: World) -> list[str]:
    """The ticks that have a job."""
    found = (job["metadata"]["annotations"] for job in world.objects(RAYJOB))
    return sorted(each["ray.io/cronjob-scheduled-timestamp"][11:16] for each in found)


def last(world: World) -> str:
    """The last tick that was written."""
    status = (world.find(RAYCRONJOB, "often") or {}).get("status", {})
    return str(status.get("lastScheduleTime", ""))[11:16]


def test_of_missed_ticks_only_the_last_runs() -> None:
    async def scenario(world: World) -> None:
        begin(world)
        await world.sleep(150)
        assert ticks(world) == ["00:01", "00:02"]
        world.service("schedules-1").crash("away", again_after_seconds=300)
        await world.sleep(320)
        assert ticks(world) == ["00:01", "00:02", "00:07"]
        assert last(world) == "00:07"

    simulate(scenario)


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
@pytest.mark.parametrize("write", range(1, 5))
def test_a_crash_at_any_write_runs_no_tick_twice(write: int, policy: str) -> None:
    """Nobody ends the first job: under Forbid the next waits, under Replace it takes its place."""

    async def scenario(world: World) -> None:
        begin(world, concurrencyPolicy=policy)
        world.service("schedules-1").crash_at(write=write, applied=True)
        await world.sleep(70)
        assert ticks(world) == ["00:01"]
        await world.sleep(90)
        expected = {"Allow": ["00:01", "00:02"], "Forbid": ["00:01"], "Replace": ["00:02"]}
        assert ticks(world) == expected[policy]
        assert not world.repeats

    simulate(scenario, seed=write)


def test_a_tick_that_was_forbidden_runs_when_the_job_has_ended() -> None:
    async def scenario(world: World) -> None:
        begin(world, concurrencyPolicy="Forbid")
        await world.sleep(200)
        assert ticks(world) == ["00:01"]
        (job,) = world.objects(RAYJOB)
        world.delete(RAYJOB, job["metadata"]["name"])
        await world.until("the next runs", lambda: ticks(world) == ["00:03"], limit_seconds=10)

    simulate(scenario)


def test_a_suspended_schedule_catches_up_with_one_run() -> None:
    async def scenario(world: World) -> None:
        begin(world, suspend=True)
        await world.sleep(400)
        assert ticks(world) == []
        world.patch(RAYCRONJOB, "often", {"spec": {"suspend": False}})
        await world.until("one runs", lambda: ticks(world) == ["00:06"], limit_seconds=10)

    simulate(scenario)
