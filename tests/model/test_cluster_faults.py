"""What others do to RayClusters and their pods is set right once, with no pod too many; then nothing more is done."""

import functools
from collections.abc import Callable

import pytest

from manta_common.kinds import POD, RAYCLUSTER
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.troubles import LINES, Trouble, conflict, forbidden, throttled, unreachable
from manta_embedded.sim.world import World
from tests.model.clusters import begin, is_settled, make, pods, resize

FINALIZER = "example.com/keep"
CHILDREN = (("", "pods"), ("", "services"))


async def settle(world: World, name: str = "a") -> None:
    """Until a cluster is as it should be; then it must stay so, with the very same pods."""
    await world.until(f"{name} is settled", functools.partial(is_settled, world, name), limit_seconds=300)
    before = uids(world, name)
    await world.sleep(30)
    assert is_settled(world, name)
    assert uids(world, name) == before
    assert not world.repeats


def uids(world: World, name: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods(world, name)}


def of_type(world: World, type_: str) -> list[str]:
    found = [pod["metadata"] for pod in pods(world, "a")]
    return [meta["name"] for meta in found if meta["labels"]["ray.io/node-type"] == type_]


async def kept_by_a_finalizer(world: World) -> None:
    """A surplus pod that somebody else holds back is deleted once and counts until it is gone."""
    begin(world)
    make(world, "a", replicas=2)
    await settle(world)
    for name in of_type(world, "worker"):
        world.patch(POD, name, {"metadata": {"finalizers": [FINALIZER]}})
    resize(world, "a", replicas=1)
    await world.until("one is on its way out", lambda: len(terminating(world)) == 1, limit_seconds=60)
    await world.sleep(60)
    assert len(pods(world, "a")) == 3
    assert len(terminating(world)) == 1
    world.patch(POD, terminating(world)[0], {"metadata": {"finalizers": None}})
    await settle(world)


def terminating(world: World) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods(world, "a") if "deletionTimestamp" in pod["metadata"]]


async def head_deleted(world: World) -> None:
    """A head that a user deletes comes back; the workers stay."""
    begin(world)
    make(world, "a", replicas=2)
    await settle(world)
    workers = set(of_type(world, "worker"))
    world.delete(POD, of_type(world, "head")[0])
    await world.sleep(1)
    await settle(world)
    assert set(of_type(world, "worker")) == workers


async def node_lost(world: World) -> None:
    """The pods of a node that is gone are replaced on others."""
    begin(world)
    make(world, "a", replicas=6)
    await settle(world)
    lost = pods(world, "a")[0]["spec"]["nodeName"]
    world.nodes.lose(lost)
    await settle(world)
    assert lost not in {pod["spec"]["nodeName"] for pod in pods(world, "a")}


async def collected(world: World) -> None:
    """The children of a deleted cluster go while the news of its own end are late; none of them is made again."""
    begin(world)
    make(world, "a", replicas=2)
    await settle(world)
    late = Trouble(delay_seconds=20)
    world.service("watcher-1").trouble(late, times=100, verbs=LINES, kind="raycluster")
    world.delete(RAYCLUSTER, "a")
    world.always(lambda event: f"{event.key} is made" if event.type == "ADDED" and event.storage in CHILDREN else None)
    await world.sleep(60)
    assert not pods(world, "a")


@pytest.mark.parametrize("scenario", [kept_by_a_finalizer, head_deleted, node_lost, collected])
def test_what_others_do_to_pods(scenario: Callable[[World], object]) -> None:
    simulate(scenario)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [conflict, forbidden, throttled, unreachable], ids=lambda error: str(error.__name__))
@pytest.mark.parametrize("kind", ["pod", "service", "raycluster"])
def test_calls_that_fail_are_made_good(error: Callable[[str], Exception], kind: str) -> None:
    async def scenario(world: World) -> None:
        begin(world)
        world.service("clusters-1").trouble(Trouble(error=error), times=3, kind=kind)  # type: ignore[arg-type]
        make(world, "a", replicas=3)
        await settle(world)

    simulate(scenario)


def test_a_view_that_lags_behind_leads_to_no_second_pod() -> None:
    async def scenario(world: World) -> None:
        begin(world)
        make(world, "a", replicas=1)
        await settle(world)
        world.service("clusters-1").lag(30, 5)
        resize(world, "a", replicas=4)
        await world.sleep(8)
        resize(world, "a", replicas=2)
        await world.sleep(30)
        await settle(world)

    simulate(scenario)
