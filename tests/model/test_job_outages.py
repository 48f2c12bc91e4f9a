"""What jobs lose while the API server, NATS or the gateway is away for a minute: time, and nothing else."""

import random
from collections.abc import Callable

import pytest

from manta_common.kinds import RAYCLUSTER, RAYJOB
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.troubles import Storm, Trouble, unreachable
from manta_embedded.sim.world import World
from manta_embedded.store.kube import Call
from tests.model.jobs import Scene

OUTAGE_SECONDS = 60.0
LIMIT_SECONDS = 120.0


class Away(Storm, frozen=True):
    """No call is answered, or carried out, and no watch brings anything."""

    def trouble(self, call: Call, chance: random.Random) -> Trouble | None:
        """Always the same."""
        return Trouble(error=unreachable, because="the API server is away")


def without_api_server(world: World) -> None:
    """Nobody reaches the API server for a minute."""
    for service in world.services.values():
        service.storm = Away()
    world.later(OUTAGE_SECONDS, _is_back, world)


def _is_back(world: World) -> None:
    for service in world.services.values():
        service.storm = None


def without_nats(world: World) -> None:
    """Nobody reaches NATS for a minute."""
    for service in world.services.values():
        service.cut(OUTAGE_SECONDS)


def without_wiped_nats(world: World) -> None:
    """The same, and NATS has forgotten everything when it is back."""
    without_nats(world)
    world.later(OUTAGE_SECONDS / 2, world.nats.wipe)


def without_gateway(world: World) -> None:
    """Nobody asks dashboards for a minute."""
    world.service("gateway-1").crash("away", again_after_seconds=OUTAGE_SECONDS)


OUTAGES = [without_api_server, without_nats, without_wiped_nats, without_gateway]
Outage = Callable[[World], None]
by_outage = pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
by_mode = pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])


@by_outage
@by_mode
@pytest.mark.parametrize(
    ("entrypoint", "state"),
    [("sleep 20", "Complete"), ("sleep 20; exit 1", "Failed"), ("sleep 90", "Complete")],
    ids=["ends well meanwhile", "ends badly meanwhile", "ends afterwards"],
)
def test_a_running_job_is_neither_submitted_again_nor_lost(
    outage: Outage, mode: str, entrypoint: str, state: str
) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode=mode, entrypoint=entrypoint)
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        outage(world)
        await world.sleep(OUTAGE_SECONDS)
        await scene.reach(state, limit_seconds=LIMIT_SECONDS)
        assert sum(scene.submitted.values()) == 1
        assert (scene.status()["failed"], scene.status()["succeeded"]) == ((1, 0) if state == "Failed" else (0, 1))
        scene.check_order()

    simulate(scenario)


@by_outage
@by_mode
@pytest.mark.parametrize("after_seconds", [0.0, 0.02, 0.05, 0.2, 1.0, 2.0, 3.0])
def test_a_job_that_begins_is_submitted_once(outage: Outage, mode: str, after_seconds: float) -> None:
    """The outage begins anywhere between the first write and the submission."""

    async def scenario(world: World) -> None:
        scene = Scene(world)
        await world.sleep(5)
        scene.make(mode=mode)
        await world.sleep(after_seconds)
        outage(world)
        await world.sleep(OUTAGE_SECONDS)
        await scene.reach("Complete", limit_seconds=LIMIT_SECONDS)
        assert sum(scene.submitted.values()) == 1
        scene.check_order()

    simulate(scenario)


@by_outage
def test_a_job_that_is_deleted_meanwhile_leaves_nothing(outage: Outage) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(entrypoint="sleep 100000")
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        outage(world)
        world.delete(RAYJOB, "a")
        await world.sleep(OUTAGE_SECONDS)
        await world.until("the job is gone", lambda: not world.objects(RAYJOB), limit_seconds=LIMIT_SECONDS)
        await world.until("its cluster is gone", lambda: not world.objects(RAYCLUSTER), limit_seconds=LIMIT_SECONDS)
        assert sum(scene.submitted.values()) == 1

    simulate(scenario)
