"""RayServices in virtual time: they serve, are updated and replaced through crashes, and no request need be lost."""

from typing import Any

import pytest

from manta_common.kinds import POD, RAYCLUSTER, RAYSERVICE, SERVICE
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.simulate import explore, simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.world import World
from tests.model.clusters import pods
from tests.model.services import TWO, Arm, Scene, crashes, lose_head

SEEDS = 5
# Writes of the serve-reconciler, events included:
BEGINNING_WRITES = 12  # from a new RayService to one that serves
UPGRADE_WRITES = 14


def test_a_service_becomes_ready_and_then_costs_nothing() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        await world.sleep(30)
        version = scene.version()
        assert scene.status()["serviceStatus"] == "Running"
        assert scene.puts == {scene.active(): 1}
        await world.sleep(600)
        assert scene.version() == version
        assert not world.repeats

    simulate(scenario)


async def beginning(world: World, arm: Arm) -> None:
    scene = Scene(world)
    arm()
    scene.make()
    await scene.reach_ready()
    await world.sleep(90)
    assert scene.clusters() == {scene.active()}
    assert not world.repeats


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, BEGINNING_WRITES + 1))
def test_a_crash_at_any_write_of_the_beginning_leaves_no_trace(write: int, applied: bool) -> None:
    crashes(beginning, write=write, applied=applied)


def test_no_write_of_the_beginning_was_left_out() -> None:
    assert not crashes(beginning, write=BEGINNING_WRITES + 1, applied=True)


async def upgrade(world: World, arm: Arm) -> None:
    scene = Scene(world)
    scene.make(rayClusterDeletionDelaySeconds=5)
    await scene.reach_ready()
    first = scene.active()
    arm()
    scene.upgrade("2.57.0")
    await world.until("another cluster serves", lambda: scene.active() != first and scene.is_ready())
    await world.sleep(40)
    assert scene.clusters() == {scene.active()}
    assert not world.repeats


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, UPGRADE_WRITES + 1))
def test_a_crash_at_any_write_of_an_upgrade_loses_no_request(write: int, applied: bool) -> None:
    crashes(upgrade, write=write, applied=applied)


def test_no_write_of_an_upgrade_was_left_out() -> None:
    assert not crashes(upgrade, write=UPGRADE_WRITES + 1, applied=True)


def test_a_changed_configuration_reaches_serve_within_a_second_and_needs_no_cluster() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        before = scene.active()
        await world.sleep(20)
        scene.change(serveConfigV2=TWO)
        took = await world.until("serve is told", lambda: scene.told(before) == {"one", "two"})
        await world.until("the status shows it", lambda: len(_applications(scene)) == 2)
        assert took < 1
        assert scene.clusters() == {before}
        assert scene.puts == {before: 2}

    simulate(scenario)


def test_a_restart_tells_serve_nothing_that_it_knows() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        await world.sleep(10)
        world.service("serve-1").crash()
        await world.sleep(30)
        assert scene.puts == {scene.active(): 1}
        scene.change(serveConfigV2=TWO)
        await world.until("serve is told", lambda: scene.told(scene.active()) == {"one", "two"})

    simulate(scenario)


def test_a_head_that_lost_its_state_is_told_again() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        scene.excused = True
        cluster = scene.active()
        lose_head(world, cluster)
        await world.until("serve is told again", lambda: scene.puts[cluster] == 2)
        await scene.reach_ready()
        assert scene.active() == cluster

    simulate(scenario)


def test_requests_go_to_a_head_only_while_its_proxy_answers() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        [head] = [pod for pod in pods(world, scene.active()) if pod["metadata"]["labels"]["ray.io/node-type"] == "head"]
        await world.until("both answer", lambda: scene.status().get("numServeEndpoints") == 2)
        scene.sick.add(head["status"]["podIP"])
        await world.until("the worker alone answers", lambda: scene.status().get("numServeEndpoints") == 1)
        scene.sick.clear()
        await world.until("both answer again", lambda: scene.status().get("numServeEndpoints") == 2)

    simulate(scenario)


def test_a_change_of_mind_during_an_upgrade_ends_with_what_was_wanted_last() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(rayClusterDeletionDelaySeconds=0)
        await scene.reach_ready()
        first = scene.active()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() != "")
        second = scene.pending()
        scene.upgrade("2.58.0")
        await world.until("another cluster comes", lambda: scene.pending() not in {"", second})
        await world.until("it serves", lambda: scene.is_ready() and scene.active() not in {first, second})
        await world.until("the others are gone", lambda: scene.clusters() == {scene.active()})
        found = world.find(RAYCLUSTER, scene.active()) or {}
        assert found["spec"]["rayVersion"] == "2.58.0"

    simulate(scenario)


def test_with_type_none_the_cluster_stays() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(upgradeStrategy={"type": "None"})
        await scene.reach_ready()
        before = scene.active()
        scene.upgrade("2.57.0")
        scene.change(serveConfigV2=TWO)
        await world.until("serve is told", lambda: scene.told(before) == {"one", "two"})
        await world.sleep(60)
        assert scene.clusters() == {before}

    simulate(scenario)


def test_a_service_of_kuberay_is_taken_over_with_the_cluster_it_has() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        before = scene.active()
        notes = {"ray.io/kuberay-version": "v1.7.0", "ray.io/hash-without-replicas-and-workers-to-delete": "OF-KUBERAY"}
        world.patch(RAYCLUSTER, before, {"metadata": {"annotations": notes}})
        await world.until("it is marked as ours", lambda: "manta" in _version(world, before))
        await world.sleep(60)
        assert (scene.active(), scene.pending()) == (before, "")
        assert scene.clusters() == {before}
        assert scene.puts == {before: 1}
        assert not world.repeats

    simulate(scenario)


def test_a_service_that_moves_to_a_new_cluster_keeps_its_address_and_nothing_else() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        own = {"metadata": {"labels": {"team": "a"}}, "spec": {"type": "NodePort", "sessionAffinity": "ClientIP"}}
        scene.make(serveService=own)
        await scene.reach_ready()
        first, before = scene.active(), _service(world, "s-serve-svc")
        assert (before["type"], before["sessionAffinity"]) == ("NodePort", "ClientIP")
        scene.change(serveService=None, rayClusterConfig={"rayVersion": "2.57.0"})
        await world.until("another cluster serves", lambda: scene.active() != first and scene.is_ready())
        after = _service(world, "s-serve-svc")
        assert after["selector"]["ray.io/cluster"] == scene.active()
        assert (after["type"], after.get("sessionAffinity", "None")) == ("ClusterIP", "None")
        assert after["clusterIP"] == before["clusterIP"]
        assert _service(world, "s-head-svc")["clusterIP"] == "None"

    simulate(scenario)


def test_the_status_shows_the_workers_that_the_autoscaler_has_added() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        await world.sleep(20)
        groups = (world.find(RAYCLUSTER, scene.active()) or {})["spec"]["workerGroupSpecs"]
        world.patch(RAYCLUSTER, scene.active(), {"spec": {"workerGroupSpecs": [{**groups[0], "replicas": 3}]}})
        await world.until("all answer", lambda: scene.status().get("numServeEndpoints") == 4)
        await world.sleep(20)
        told = scene.status()["activeServiceStatus"]["rayClusterStatus"]
        assert told == (world.find(RAYCLUSTER, scene.active()) or {})["status"]

    explore(scenario, range(SEEDS))


def test_a_suspended_service_has_nothing_and_comes_again() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        first = scene.active()
        scene.excused = True
        scene.change(suspend=True)
        await world.until("it is suspended", lambda: scene.condition("Suspended").get("status") == "True")
        assert scene.clusters() == set()
        assert not [each for each in world.objects(SERVICE) if each["metadata"]["name"].startswith("s-")]
        await world.sleep(30)
        scene.change(suspend=False)
        await world.until("it serves again", lambda: scene.is_ready() and scene.active() != first)
        assert scene.condition("Suspended")["status"] == "False"

    simulate(scenario)


def test_a_deleted_service_takes_everything_with_it_during_an_upgrade() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: len(scene.clusters()) == 2)
        scene.excused = True
        world.delete(RAYSERVICE, "s")
        await world.until("it is gone", lambda: world.find(RAYSERVICE, "s") is None)
        await world.until("all is gone", lambda: not scene.clusters() and not world.objects(POD))

    simulate(scenario)


def test_a_service_that_never_becomes_ready_is_given_up() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        world.nodes.script(PodScript(stuck="ErrImagePull"))
        scene.make(annotations={"ray.io/initializing-timeout": "30s"}, rayClusterDeletionDelaySeconds=5)
        await world.until("it is given up", lambda: scene.condition("Ready").get("reason") == "InitializingTimeout")
        await world.until("its cluster is gone", lambda: not scene.clusters())
        scene.upgrade("2.57.0")
        await world.sleep(60)
        assert not scene.clusters()

    simulate(scenario)


def test_an_upgrade_that_cannot_become_ready_is_rolled_back_with_the_cause() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(annotations={"ray.io/upgrade-timeout": "60s"}, rayClusterDeletionDelaySeconds=5)
        await scene.reach_ready()
        first = scene.active()
        scene.broken = True
        scene.upgrade("2.57.0")
        await world.until("it is given up", lambda: scene.condition("UpgradeFailed").get("status") == "True")
        assert "application one is DEPLOY_FAILED" in scene.condition("UpgradeFailed")["message"]
        await world.until("the new one is gone", lambda: scene.clusters() == {first})
        await world.sleep(120)
        assert scene.clusters() == {first}
        assert scene.is_ready()
        scene.broken = False
        scene.upgrade("2.58.0")
        await world.until("another try succeeds", lambda: scene.is_ready() and scene.active() != first)
        assert not scene.condition("UpgradeFailed")

    simulate(scenario)


def test_a_failing_application_is_named_in_the_condition() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.broken = True
        scene.make()
        await world.until("it fails", lambda: "application one is DEPLOY_FAILED" in _message(scene))
        assert _message(scene).startswith("RayService is initializing: ")

    simulate(scenario)


def test_the_gateway_may_be_away_during_an_upgrade() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make()
        await scene.reach_ready()
        first = scene.active()
        world.service("gateway-1").crash(again_after_seconds=60)
        scene.upgrade("2.57.0")
        await world.sleep(50)
        assert scene.active() == first
        assert scene.condition("Ready")["status"] == "True"
        await world.until("another cluster serves", lambda: scene.active() != first and scene.is_ready())

    simulate(scenario)


def test_services_settle_after_storms() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world, replicas=2)
        scene.excused = True
        for name in ("s", "t"):
            scene.make(name, rayClusterDeletionDelaySeconds=3)
        await storm(world, seconds=20)
        for name in ("s", "t"):
            await scene.reach_ready(name, limit_seconds=300)
            scene.upgrade("2.57.0", name)
        await storm(world, seconds=20)
        for name in ("s", "t"):
            await scene.reach_ready(name, limit_seconds=300)
        await world.until(
            "no cluster is left over",
            lambda: scene.clusters() == {scene.active("s"), scene.active("t")},
            limit_seconds=300,
        )

    explore(scenario, range(SEEDS))


def _applications(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.status().get("activeServiceStatus", {}).get("applicationStatuses", {})
    return found


def _version(world: World, cluster: str) -> str:
    return str((world.find(RAYCLUSTER, cluster) or {})["metadata"]["annotations"]["ray.io/kuberay-version"])


def _service(world: World, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (world.find(SERVICE, name) or {})["spec"]
    return found


def _message(scene: Scene) -> str:
    return str(scene.condition("Ready").get("message", ""))
