"""RayServices when heads are lost, the gateway is away, and users change their minds in the middle of an upgrade."""

import pytest

from manta_common.kinds import RAYCLUSTER
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from tests.examples import manifests
from tests.model.clusters import pods
from tests.model.services import ONE, TWO, Arm, Scene, crashes, lose_head

MOST_WRITES = 9  # of the serve-reconciler when a running RayService is changed in place, events included
TOLERANT = {**manifests.CLUSTER, "gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}


def test_a_head_with_fault_tolerance_is_told_nothing_again_and_workers_go_on() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(rayClusterConfig=TOLERANT)
        await scene.reach_ready()
        await world.until("both answer", lambda: scene.status().get("numServeEndpoints") == 2)
        cluster = scene.active()
        lose_head(world, cluster)  # nobody is excused: the worker must go on answering
        await world.until("the worker alone answers", lambda: scene.status().get("numServeEndpoints") == 1)
        await world.until("both answer again", lambda: scene.status().get("numServeEndpoints") == 2)
        await world.sleep(30)
        assert scene.is_ready()
        assert scene.puts == {cluster: 1}
        assert scene.active() == cluster

    simulate(scenario)


def test_a_lost_head_during_an_upgrade_does_not_end_it() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        first = scene.active()
        scene.upgrade("2.57.0")
        await world.until("the new one is told", lambda: scene.puts[scene.pending()] == 1)
        second = scene.pending()
        lose_head(world, second)
        await world.until("it serves all the same", lambda: scene.is_ready() and scene.active() == second)
        assert scene.told(second) == {"one"}
        assert first != second

    simulate(scenario)


def test_the_head_that_serves_may_be_lost_while_another_cluster_comes() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        first = scene.active()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() != "")
        scene.excused = True
        lose_head(world, first)
        await world.until("the new one serves", lambda: scene.is_ready() and scene.active() != first)

    simulate(scenario)


def test_a_configuration_that_is_edited_during_an_upgrade_reaches_the_new_cluster_alone() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        first = scene.active()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() in scene.clusters())
        scene.change(serveConfigV2=TWO)
        await world.until("the new one serves", lambda: scene.is_ready() and scene.active() != first)
        await world.until("it runs both", lambda: scene.told(scene.active()) == {"one", "two"})
        assert scene.told(first) == {"one"}
        assert scene.puts[first] == 1

    simulate(scenario)


def test_a_spec_that_goes_back_during_an_upgrade_ends_with_that_spec_and_one_cluster() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(rayClusterDeletionDelaySeconds=5)
        await scene.reach_ready()
        first = scene.active()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() in scene.clusters())
        second = scene.pending()
        scene.upgrade("2.56.0")
        await world.until("another one is pending", lambda: scene.pending() not in {"", second})
        await world.until("it serves", lambda: scene.is_ready() and scene.active() not in {first, second})
        await world.until("the others are gone", lambda: scene.clusters() == {scene.active()})
        assert (world.find(RAYCLUSTER, scene.active()) or {})["spec"]["rayVersion"] == "2.56.0"

    simulate(scenario)


async def change_in_place(world: World, arm: Arm) -> None:
    scene = Scene(world)
    scene.make(upgradeStrategy={"type": "None"})
    await scene.reach_ready()
    before = scene.active()
    arm()
    group = {**manifests.GROUP, "groupName": "more"}
    config = {"rayVersion": "2.57.0", "workerGroupSpecs": [manifests.GROUP, group]}
    scene.change(serveConfigV2=TWO, rayClusterConfig=config)
    await world.until("serve is told", lambda: scene.told(before) == {"one", "two"})
    scene.change(serveConfigV2=ONE, rayClusterConfig={"rayVersion": "2.56.0"})
    await world.until("serve is told again", lambda: scene.told(before) == {"one"})
    await world.until("the group is there", lambda: len(pods(world, before)) == 3)
    await world.sleep(30)
    assert scene.is_ready()
    assert scene.clusters() == {before}
    assert not world.repeats


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
def test_a_crash_at_any_write_of_a_change_in_place_loses_nothing(write: int, applied: bool) -> None:
    crashes(change_in_place, write=write, applied=applied)


def test_no_write_was_left_out() -> None:
    assert not crashes(change_in_place, write=MOST_WRITES + 1, applied=True)
