"""Incremental upgrades in virtual time: capacity and traffic move step by step, through crashes, and back."""

from typing import Any

import pytest

from manta_common.errors import Refused
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, EVENT, GATEWAY, HTTPROUTE, POD, RAYCLUSTER, RAYSERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.troubles import Trouble
from manta_embedded.sim.world import USER, World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from tests.examples import manifests
from tests.model import clusters
from tests.model.services import TWO, Arm, Scene, crashes, is_of, lose_head, ready

MOST_WRITES = 32  # of the serve-reconciler in one upgrade, events included
TRUE = {"status": "True", "reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Roads(Scene):
    """A scene with the Gateway API and a controller that takes up every Gateway and route at once."""

    def __init__(self, world: World, *, replicas: int = 1) -> None:
        super().__init__(world, replicas=replicas)
        clusters.install(world, GATEWAY, HTTPROUTE)
        self.states: list[tuple[Any, ...]] = []
        world.store.subscribe(self._take_up)
        world.always(self._jump)
        world.always(self._dead_end)

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

    async def reach_route(self, *, limit_seconds: float = 300) -> str:
        """Wait until all traffic goes to one cluster that serves; its name."""
        await self.world.until(
            "all traffic goes to the one that serves",
            lambda: self.is_ready() and self.weights() == {self.active(): 100} and not self.is_rolling_back,
            limit_seconds=limit_seconds,
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

    def _dead_end(self, event: Event) -> str | None:
        """What must never be: requests that are led to where nobody answers, unless that was provoked."""
        if event.storage != ("gateway.networking.k8s.io", "httproutes") or event.type != "MODIFIED" or self.excused:
            return None
        backends = event.new["spec"]["rules"][0]["backendRefs"]
        taken = [each["name"] for each in backends if each["weight"] > 0]
        dead = [name for name in taken if not self._answers(name)]
        return f"requests are sent to {dead}, where nobody answers" if dead or not taken else None

    def _answers(self, service: str) -> bool:
        found = (each for each in self.world.objects(ENDPOINTSLICE) if is_of(each, service))
        return any(ready(each) for each in found)


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


async def stepwise(world: World, arm: Arm) -> None:
    scene = Roads(world)
    scene.begin(interval=2)
    first = await scene.reach_route()
    arm()
    scene.upgrade("2.57.0")
    await world.until("an upgrade began", lambda: scene.pending() != "")
    assert await scene.reach_route() != first
    await world.until("the old one is gone", lambda: scene.clusters() == {scene.active()})


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
def test_a_crash_at_any_write_loses_no_step(write: int, applied: bool) -> None:
    crashes(stepwise, write=write, applied=applied)


def test_no_write_was_left_out() -> None:
    assert not crashes(stepwise, write=MOST_WRITES + 1, applied=True)


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


def test_the_gateway_may_be_away_during_a_step() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        world.service("gateway-1").crash(again_after_seconds=60)
        await world.sleep(55)
        assert scene.active() == first
        assert scene.condition("Ready")["status"] == "True"
        assert await scene.reach_route() != first

    simulate(scenario)


def test_a_configuration_that_is_edited_between_steps_reaches_the_new_cluster_alone() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        second = scene.pending()
        scene.change(serveConfigV2=TWO)
        await world.until("the new one is told", lambda: scene.told(second) == {"one", "two"})
        assert scene.told(first) == {"one"}
        await world.until("it serves", lambda: scene.active() == second, limit_seconds=300)
        assert scene.told(second) == {"one", "two"}

    simulate(scenario)


def test_a_service_that_is_deleted_between_steps_leaves_nothing() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        scene.excused = True
        world.delete(RAYSERVICE, "s")
        await world.until("it is gone", lambda: world.find(RAYSERVICE, "s") is None)
        left = (GATEWAY, HTTPROUTE, RAYCLUSTER, POD)
        await world.until("all is gone", lambda: not any(world.objects(kind) for kind in left))

    simulate(scenario)


def test_a_head_that_is_lost_between_steps_holds_them_up_and_no_more() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        scene.upgrade("2.57.0")
        await world.until("some has moved", lambda: 25 in scene.weights().values(), limit_seconds=300)
        second = scene.pending()
        scene.excused = True
        lose_head(world, second)
        await world.until("its Serve is told again", lambda: scene.puts[second] > 3, limit_seconds=300)
        assert await scene.reach_route() == second
        assert first != second

    simulate(scenario)


def test_a_route_that_somebody_changed_or_deleted_is_put_right() -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        scene.begin()
        first = await scene.reach_route()
        backends = [{"name": "elsewhere", "port": 8000, "weight": 1}]
        rules = [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": backends}]
        scene.excused = True
        world.patch(HTTPROUTE, "s-httproute", {"spec": {"hostnames": ["a.example"], "rules": rules}})
        await world.until("it is put right", lambda: scene.weights() == {first: 100})
        assert "hostnames" not in (world.find(HTTPROUTE, "s-httproute") or {})["spec"]
        world.delete(GATEWAY, "s-gateway")
        world.delete(HTTPROUTE, "s-httproute")
        assert await scene.reach_route() == first
        assert world.objects(GATEWAY)
        version = scene.version()
        await world.sleep(300)
        assert scene.version() == version

    simulate(scenario)


@pytest.mark.parametrize("verbs", [{"get"}, {"get", "create"}], ids=["read", "made"])
def test_a_right_that_is_missing_holds_up_the_road_and_is_told(verbs: set[str]) -> None:
    async def scenario(world: World) -> None:
        scene = Roads(world)
        forbidden = Trouble(error=lambda _: Refused(403, "Forbidden", "gateways is forbidden"))
        world.service("serve-1").trouble(forbidden, times=10_000, verbs=frozenset(verbs), kind="gateway")
        scene.begin()
        await world.until("it serves", scene.is_ready)
        if "create" in verbs:
            await world.until("it is told", lambda: "FailedToCreateGateway" in reasons(world))
        assert scene.weights() == {}

    simulate(scenario)


def reasons(world: World) -> set[str]:
    """What was told of."""
    return {each["reason"] for each in world.objects(EVENT)}
