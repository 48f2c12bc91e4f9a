"""Incremental upgrades in virtual time: capacity and traffic move step by step, through crashes, and back."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import GATEWAY, HTTPROUTE, RAYCLUSTER, RAYSERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import USER, World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from tests.examples import manifests
from tests.model import clusters
from tests.model.services import TWO, Scene

MOST_WRITES = 24
TRUE = {"status": "True", "reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Roads(Scene):
    """A scene with the Gateway API and a controller that takes up every Gateway and route at once."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        clusters.install(world, GATEWAY, HTTPROUTE)
        self.states: list[tuple[Any, ...]] = []
        world.store.subscribe(self._take_up)
        world.always(self._jump)

    def begin(self, surge: int = 50, step: int = 25, interval: int = 5, timeout: str = "") -> None:
        """A RayService that is upgraded step by step."""
        options = {
            "maxSurgePercent": surge,
            "stepSizePercent": step,
            "intervalSeconds": interval,
            "gatewayClassName": "some",
        }
        self.make(
            annotations={"ray.io/upgrade-timeout": timeout},
            rayClusterConfig={**manifests.CLUSTER, "enableInTreeAutoscaling": True},
            upgradeStrategy={"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options},
            rayClusterDeletionDelaySeconds=5,
        )

    def weights(self) -> dict[str, int]:
        """How the route divides the traffic."""
        route = self.world.find(HTTPROUTE, "s-httproute") or {"spec": {"rules": [{"backendRefs": []}]}}
        backends = route["spec"]["rules"][0]["backendRefs"]
        return {each["name"].removesuffix("-serve-svc"): each["weight"] for each in backends}

    async def reach_route(self) -> str:
        """Wait until all traffic goes to one cluster that serves; its name."""
        await self.world.until(
            "all traffic goes to the one that serves",
            lambda: self.is_ready() and self.weights() == {self.active(): 100} and not self.is_rolling_back,
            limit_seconds=300,
        )
        return self.active()

    @property
    def is_rolling_back(self) -> bool:
        """Whether traffic goes back."""
        return self.condition("RollbackInProgress").get("status") == "True"

    def _take_up(self, event: Event) -> None:
        """What a Gateway's controller does, a moment later."""
        kinds = {("gateway.networking.k8s.io", kind.plural): kind for kind in (GATEWAY, HTTPROUTE)}
        if event.type == "ADDED" and event.storage in kinds:
            self.world.later(0.5, self._accept, kinds[event.storage], event.new)

    def _accept(self, kind: Any, found: Obj) -> None:
        if kind is GATEWAY:
            status: dict[str, Any] = {"conditions": [{"type": each, **TRUE} for each in ("Accepted", "Programmed")]}
        else:
            taken = [{"type": each, **TRUE} for each in ("Accepted", "ResolvedRefs")]
            status = {"parents": [{"parentRef": {"name": "s-gateway"}, "controllerName": "x/y", "conditions": taken}]}
        key = Key("default", found["metadata"]["name"])
        if self.world.store.find(kind, key) is not None:  # it may be gone by now
            self.world.store.patch(kind, key, MergePatch({"status": status}), USER, subresource="status")

    def _jump(self, event: Event) -> str | None:
        """What must never be: traffic to a cluster beyond the capacity that it was given."""
        if event.storage != ("ray.io", "rayservices"):
            return None
        parts = [event.new.get("status", {}).get(f"{side}ServiceStatus", {}) for side in ("active", "pending")]
        state = tuple((part.get("targetCapacity"), part.get("trafficRoutedPercent")) for part in parts)
        if not self.states or self.states[-1] != state:
            self.states.append(state)
        too_much = [part for part in parts if (part.get("trafficRoutedPercent") or 0) > part.get("targetCapacity", 100)]
        return f"more traffic than capacity: {state}" if too_much else None


def test_traffic_moves_step_by_step_to_a_new_cluster() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.states.clear()
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() != "")
        second = await scene.reach_route()
        assert first != second
        shares = [state for state in scene.states if None not in state[1]]
        growth = [state[1] for state in shares]
        assert growth == sorted(growth)
        assert {traffic for _, traffic in growth} == {0, 25, 50, 75, 100}
        await world.until("the old one is gone", lambda: scene.clusters() == {second})
        assert not world.repeats

    simulate(scenario)


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
def test_a_crash_at_any_write_loses_no_step(write: int, applied: bool) -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin(interval=2)
        first = await scene.reach_route()
        world.service("serve-1").crash_at(write=write, applied=applied)
        scene.upgrade("2.57.0")
        await world.until("an upgrade began", lambda: scene.pending() != "")
        assert await scene.reach_route() != first
        await world.until("the old one is gone", lambda: scene.clusters() == {scene.active()})

    simulate(scenario, seed=write)


def test_a_spec_that_goes_back_takes_the_traffic_back() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("half has moved", lambda: 50 in scene.weights().values(), limit_seconds=300)
        scene.upgrade("2.56.0")
        await world.until("it goes back", lambda: scene.is_rolling_back)
        assert await scene.reach_route() == first
        await world.until("the new one is gone", lambda: scene.clusters() == {first})

    simulate(scenario)


def test_a_third_spec_goes_back_first_and_then_on() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("half has moved", lambda: 50 in scene.weights().values(), limit_seconds=300)
        scene.upgrade("2.58.0")
        await world.until("it goes back", lambda: scene.is_rolling_back)
        await world.until("the old one has all again", lambda: not scene.is_rolling_back, limit_seconds=300)
        assert scene.active() == first
        await world.until("another one serves", lambda: scene.active() != first, limit_seconds=300)
        found = world.find(RAYCLUSTER, await scene.reach_route()) or {}
        assert found["spec"]["rayVersion"] == "2.58.0"

    simulate(scenario)


def test_the_old_cluster_keeps_its_configuration_also_after_a_restart() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.change(rayClusterConfig={"rayVersion": "2.57.0"}, serveConfigV2=TWO)
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        world.service("serve-1").crash()
        await world.until("another one serves", lambda: scene.active() != first, limit_seconds=300)
        assert scene.told(first) == {"one"}
        assert scene.told(scene.active()) == {"one", "two"}

    simulate(scenario)


def test_an_upgrade_that_takes_too_long_goes_back_by_itself() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin(timeout="40s")
        first = await scene.reach_route()
        scene.broken = True
        scene.upgrade("2.57.0")
        await world.until("it is given up", lambda: scene.condition("UpgradeFailed").get("status") == "True")
        assert "application one is DEPLOY_FAILED" in scene.condition("UpgradeFailed")["message"]
        assert await scene.reach_route() == first
        await world.until("the new one is gone", lambda: scene.clusters() == {first})
        await world.sleep(60)
        assert scene.clusters() == {first}

    simulate(scenario)


def test_a_cluster_that_is_deleted_by_hand_during_an_upgrade_is_inherited() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        scene.excused = True
        world.delete(RAYCLUSTER, first)
        assert await scene.reach_route() != first

    simulate(scenario)


def test_a_suspension_takes_the_roads_away() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.excused = True
        scene.change(suspend=True)
        await world.until("it is suspended", lambda: scene.condition("Suspended").get("status") == "True")
        assert not world.objects(GATEWAY)
        assert not world.objects(HTTPROUTE)
        scene.change(suspend=False)
        await world.until("it serves again", lambda: scene.is_ready() and scene.active() != first, limit_seconds=300)
        await scene.reach_route()
        world.delete(RAYSERVICE, "s")
        await world.until("all is gone", lambda: not world.objects(GATEWAY) and not scene.clusters())

    simulate(scenario)
