"""The watcher in a world: what stands in the stream is the world, and nothing is said twice."""

from manta_common.kinds import CONFIGMAP, CRD
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from tests.integration.toy_reconciler import TOY
from tests.model.toys import DEFINITION, make, watcher


def begin(world: World) -> None:
    """Toys and a watcher."""
    world.create(CRD, DEFINITION)
    make(world, "a", "b", "c", count=0)
    world.start("watcher-1", watcher)


def test_a_new_reign_says_only_what_has_changed() -> None:
    async def scenario(world: World) -> None:
        begin(world)
        await world.until("all is published", lambda: world.nats.stream.last == 3)
        world.service("watcher-1").crash(again_after_seconds=None)
        world.patch(TOY, "b", {"spec": {"count": 1}})
        world.service("watcher-1").start()
        await world.sleep(20)
        assert world.nats.stream.last == 4

    simulate(scenario)


def test_a_standby_takes_over_within_ten_seconds() -> None:
    async def scenario(world: World) -> None:
        begin(world)
        world.start("watcher-2", watcher)
        await world.until("all is published", lambda: world.nats.stream.last == 3)
        world.service("watcher-1").crash(again_after_seconds=None)
        make(world, "d", count=0)
        assert await world.until("the new toy is published", lambda: world.nats.stream.last == 4) < 10

    for seed in range(5):
        simulate(scenario, seed=seed)


def test_what_was_deleted_while_nobody_watched_gets_a_tombstone() -> None:
    async def scenario(world: World) -> None:
        begin(world)
        world.create(CONFIGMAP, {"metadata": {"name": "a-0", "labels": {"example.test/toy": "a"}}})
        await world.until("all is published", lambda: world.nats.stream.last == 4)
        world.service("watcher-1").crash(again_after_seconds=5)
        world.delete(CONFIGMAP, "a-0")
        await world.until("the tombstone is there", lambda: world.nats.stream.last == 5)
        assert b'"gone":true' in list(world.nats.stream.living().values())[-1].body

    simulate(scenario)
