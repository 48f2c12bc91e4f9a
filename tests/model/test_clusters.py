"""RayClusters in virtual time: they settle through crashes, storms and changes of mind, with no pod too many."""

import asyncio
import functools

import pytest

from manta_common.kinds import EVENT, POD, RAYCLUSTER, SERVICE
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.simulate import explore, simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.troubles import Trouble, forbidden
from manta_embedded.sim.world import World
from manta_embedded.store.builtin import RESOURCEQUOTA
from tests.examples import manifests
from tests.model.clusters import begin, change, condition, is_settled, make, make_groups, pods, resize
from tests.model.crashes import Arm, crashes

SEEDS = 40
MOST_WRITES = 14  # events included


async def one_cluster(world: World) -> None:
    """A cluster becomes ready, and then nothing more is written."""
    begin(world)
    make(world, "a", replicas=3)
    await world.until("it is ready", lambda: is_settled(world, "a"), limit_seconds=60)
    assert not world.repeats
    before = [(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"]) for pod in pods(world, "a")]
    version = (world.find(RAYCLUSTER, "a") or {})["metadata"]["resourceVersion"]
    await world.sleep(700)
    assert [(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"]) for pod in pods(world, "a")] == before
    assert (world.find(RAYCLUSTER, "a") or {})["metadata"]["resourceVersion"] == version


def test_a_cluster_becomes_ready_and_then_nothing_more_is_written() -> None:
    world = simulate(one_cluster)
    reasons = [event["reason"] for event in world.objects(EVENT)]
    assert sorted(reasons) == ["CreatedHeadPod", "CreatedService", "CreatedWorkerPod"]
    assert world.find(SERVICE, "a-head-svc")


async def grow_and_shrink(world: World, arm: Arm) -> None:
    begin(world)
    arm()
    make(world, "a", replicas=3)
    await world.until("it is ready", lambda: is_settled(world, "a"), limit_seconds=60)
    resize(world, "a", replicas=1)
    await world.until("it has shrunk", lambda: is_settled(world, "a"), limit_seconds=60)
    await world.sleep(15)
    assert is_settled(world, "a")
    assert not world.repeats


@pytest.mark.parametrize("applied", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
def test_a_crash_at_any_write_leaves_no_trace(write: int, applied: bool) -> None:
    crashes(grow_and_shrink, "clusters-1", write=write, applied=applied)


def test_no_write_was_left_out() -> None:
    assert crashes(grow_and_shrink, "clusters-1", write=MOST_WRITES, applied=True)
    assert not crashes(grow_and_shrink, "clusters-1", write=MOST_WRITES + 1, applied=True)


async def refused_for_a_while(world: World) -> None:
    """The service may not create pods; it is told in the status, and goes on when it may."""
    begin(world)
    world.service("clusters-1").trouble(Trouble(error=forbidden), nth=2, times=4, kind="pod")
    make(world, "a", replicas=3)
    await world.until("it is told", lambda: condition(world, "a", "ReplicaFailure"), limit_seconds=30)
    told = condition(world, "a", "ReplicaFailure")
    assert told is not None
    assert told["reason"] == "FailedCreateWorkerPod"
    await world.until("it is ready", lambda: is_settled(world, "a"), limit_seconds=60)
    assert condition(world, "a", "ReplicaFailure") is None
    assert len([event for event in world.objects(EVENT) if event["reason"] == "FailedToCreateWorkerPod"]) == 1


def test_a_refusal_is_told_in_the_status_until_it_is_over() -> None:
    simulate(refused_for_a_while)


async def room_for_three(world: World) -> None:
    """The groups of a cluster are made in their order: what there is room for goes to the first."""
    begin(world)
    world.create(RESOURCEQUOTA, {"metadata": {"name": "three"}, "spec": {"hard": {"pods": "3"}}})
    make_groups(world, "a", {"groupName": "first", "replicas": 4}, {"groupName": "second", "replicas": 4})
    await world.until("it is told", lambda: condition(world, "a", "ReplicaFailure"), limit_seconds=30)
    await world.sleep(30)
    made = [pod["metadata"]["labels"]["ray.io/group"] for pod in pods(world, "a")]
    assert sorted(made) == ["first", "first", "headgroup"]


def test_a_group_that_is_refused_holds_up_those_behind_it() -> None:
    assert explore(room_for_three, range(5)) == 5


async def failing_workers(world: World) -> None:
    """Workers that end at once are replaced, but less and less often, and the status tells why."""
    begin(world)
    world.nodes.script(PodScript(run_seconds=0.5, exit_code=1), labels={"ray.io/node-type": "worker"})
    pod = {"restartPolicy": "Never", "containers": [manifests.WORKER]}
    make(world, "a", replicas=1, template={"spec": pod})
    await world.until("it is told", lambda: condition(world, "a", "PodsFailing"), limit_seconds=60)
    assert "exit code 1" in str(condition(world, "a", "PodsFailing"))
    await world.sleep(600)
    made = [line for line in world.history.text().splitlines() if "create" in line and "a-small-worker" in line]
    assert 5 <= len(made) <= 10, made
    world.nodes.script(PodScript(), labels={"ray.io/node-type": "worker"})
    await world.until("it is ready", lambda: is_settled(world, "a"), limit_seconds=600)
    assert condition(world, "a", "PodsFailing") is None


def test_workers_that_keep_failing_are_replaced_less_and_less_often() -> None:
    simulate(failing_workers)


async def a_bystander(world: World) -> None:
    """Every call is slow, a cluster of 400 grows, and another of ten does not wait for it."""
    begin(world)
    world.nodes.add(10)
    make(world, "warm", replicas=0)
    await world.until("it works", lambda: is_settled(world, "warm"))
    world.service("clusters-1").slow_down(600, 0.2)
    make(world, "large", replicas=400, maxReplicas=400)
    await world.until("it grows", lambda: len(pods(world, "large")) > 20, limit_seconds=60)
    make(world, "small", replicas=9)
    seconds = await world.until("the bystander has its pods", lambda: len(pods(world, "small")) == 10, limit_seconds=60)
    assert seconds < 3, "it waited"
    assert len(pods(world, "large")) < 400, "there was nothing to wait for"


def test_a_bystander_does_not_wait_for_a_large_cluster() -> None:
    simulate(a_bystander)


async def losing_one_of_three(world: World) -> None:
    """One of three replicas dies for good while clusters grow; no pod is too many or too few."""
    begin(world, replicas=3)
    for name in "abcdef":
        make(world, name, replicas=10)
    await world.until("they grow", lambda: sum(len(pods(world, name)) for name in "abcdef") > 15, limit_seconds=60)
    world.service("clusters-2").crash("for good", again_after_seconds=None)
    for name in "abcdef":
        await world.until(f"{name} is ready", functools.partial(is_settled, world, name), limit_seconds=120)
    assert not world.repeats


def test_the_loss_of_a_replica_costs_no_pod() -> None:
    simulate(losing_one_of_three)


async def through_a_storm(world: World) -> None:
    """Clusters are changed while everything goes wrong; then all is calm."""
    begin(world, replicas=2)
    make(world, "a", replicas=2)
    make(world, "b", replicas=1, numOfHosts=2)
    await asyncio.gather(storm(world, 15, every=1.5), _change_minds(world))
    for name in "ab":
        await world.until(f"{name} is as it should be", functools.partial(is_settled, world, name), limit_seconds=900)
    assert not world.repeats


async def _change_minds(world: World) -> None:
    hosts = {"a": 1, "b": 2}
    for _ in range(5):
        await world.sleep(world.chance.uniform(0, 4))
        name = world.chance.choice("ab")
        match world.chance.randrange(4):
            case 0:
                resize(world, name, replicas=world.chance.randrange(4), numOfHosts=hosts[name])
            case 1:
                change(world, name, suspend=world.chance.random() < 0.5)
            case _ if pods(world, name):
                world.delete(POD, world.chance.choice(pods(world, name))["metadata"]["name"])
    for name in "ab":
        change(world, name, suspend=False)


def test_clusters_settle_through_storms() -> None:
    assert explore(through_a_storm, range(SEEDS)) == SEEDS
