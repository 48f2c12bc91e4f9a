"""RayJobs of a schedule: as many as it wants to keep stay, and the others go once."""

from manta_common.kinds import RAYCRONJOB, RAYJOB
from manta_common.plane import Shape
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from manta_janitor.history import HistoryService
from tests.examples import manifests
from tests.model.endings import PARTITIONS, end, ground, tell


def start(world: World) -> None:
    """A watcher, a janitor of histories, and a schedule that keeps two that succeeded."""
    ground(world)
    world.start("history-1", lambda seat: HistoryService(seat.kube, seat.means, Shape(partitions=PARTITIONS)).plane)
    world.create(RAYCRONJOB, manifests.cron_job({"successfulJobsHistoryLimit": 2}, name="s"))


def make(world: World, name: str) -> None:
    """A RayJob of the schedule that runs."""
    schedule = world.find(RAYCRONJOB, "s")
    assert schedule
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "name": "s", "uid": schedule["metadata"]["uid"]}
    world.create(RAYJOB, manifests.job(name=name, ownerReferences=[{**owner, "controller": True}]))
    tell(world, name, jobDeploymentStatus="Running")


def names(world: World) -> list[str]:
    return [job["metadata"]["name"] for job in world.objects(RAYJOB)]


async def ticks(world: World) -> None:
    start(world)
    world.create(RAYJOB, manifests.job(name="mine"))
    for number in range(6):
        make(world, f"s-{number}")
        await world.sleep(2)
        end(world, f"s-{number}", *(("Failed", "FAILED") if number == 1 else ()))
    await world.until("two are left", lambda: names(world) == ["mine", "s-1", "s-4", "s-5"], limit_seconds=30)
    world.patch(RAYCRONJOB, "s", {"spec": {"failedJobsHistoryLimit": 0}})
    await world.until("it heeds a new limit", lambda: names(world) == ["mine", "s-4", "s-5"], limit_seconds=10)
    assert not world.repeats


def test_the_history_of_a_schedule_is_kept_short() -> None:
    simulate(ticks)


async def raised(world: World) -> None:
    """The limit is raised before the feed shows it."""
    start(world)
    for number in range(3):
        make(world, f"s-{number}")
    await world.sleep(5)
    world.service("history-1").lag(8, lag_seconds=3)
    for number in range(3):
        end(world, f"s-{number}")
    world.patch(RAYCRONJOB, "s", {"spec": {"successfulJobsHistoryLimit": 3}})
    await world.sleep(20)
    assert names(world) == ["s-0", "s-1", "s-2"]


def test_a_limit_that_was_raised_a_moment_ago_counts() -> None:
    simulate(raised)
