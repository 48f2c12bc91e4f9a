"""Deleted RayClusters with state in Redis: pods, clean-up, finalizer, in this order, once, whatever goes wrong."""

from typing import Any

import pytest

from manta_common.kinds import EVENT, JOB, NAMESPACE, POD, RAYCLUSTER
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.troubles import LINES, Trouble, conflict, forbidden, throttled, unreachable
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from tests.examples import manifests
from tests.examples.example import Json
from tests.model.endings import begin

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
REDIS: Json = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
CLEANUP = "a-redis-cleanup"


def make(world: World, marks: Json | None = None, *, namespace: str = "default", heads: tuple[str, ...] = ()) -> None:
    """A cluster with state in Redis, its head and two workers; `heads` are finalizers of the head."""
    cluster = manifests.cluster(REDIS, name="a", finalizers=[FINALIZER], annotations=marks or {})
    uid = world.create(RAYCLUSTER, cluster, namespace)["metadata"]["uid"]
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "a", "uid": uid, "controller": True}
    for name, node_type in (("a-head", "head"), ("a-worker-1", "worker"), ("a-worker-2", "worker")):
        meta = {"name": name, "labels": {"ray.io/cluster": "a", "ray.io/node-type": node_type}}
        held = {"finalizers": list(heads)} if node_type == "head" and heads else {}
        spec = {"containers": [{"name": "ray", "image": "ray"}]}
        world.create(POD, {"metadata": {**meta, **held, "ownerReferences": [owner]}, "spec": spec}, namespace)


def ready(world: World, *, cleanup: PodScript | None = None, janitors: int = 1) -> Any:
    """A janitor, nodes, and how the pods of clean-ups fare; the janitor."""
    janitor = begin(world, janitors=janitors)
    world.nodes.add(2)
    world.nodes.script(cleanup or PodScript(run_seconds=2), labels={"ray.io/node-type": "redis-cleanup"})
    world.always(lambda event: order(world, event))
    return janitor


def order(world: World, event: Event) -> str | None:
    """What must never be: a clean-up while a head is there, or a cluster that goes before it was cleaned up."""
    if event.storage[1] == "jobs" and event.type == "ADDED":
        heads = [pod for pod in world.objects(POD) if pod["metadata"]["labels"].get("ray.io/node-type") == "head"]
        return "the clean-up begins while there is a head" if heads else None
    return None


def has_gone(world: World) -> bool:
    """Whether the cluster is gone."""
    return world.find(RAYCLUSTER, "a") is None


def told(world: World) -> list[str]:
    """The reasons of the events."""
    return [event["reason"] for event in world.objects(EVENT)]


async def plain(world: World) -> None:
    ready(world)
    make(world)
    await world.sleep(5)
    world.delete(RAYCLUSTER, "a")
    await world.until("the clean-up is there", lambda: world.find(JOB, CLEANUP), limit_seconds=60)
    assert world.find(RAYCLUSTER, "a") is not None
    await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=30)
    assert told(world) == ["CreatedRedisCleanupJob"]
    assert not world.repeats


def test_a_deleted_cluster_is_cleaned_up_and_let_go() -> None:
    simulate(plain)


@pytest.mark.parametrize("crashes", [False, True])
def test_a_clean_up_that_is_seen_to_go_before_its_cluster_is_not_made_again(crashes: bool) -> None:
    """Whoever took the finalizer waits to see the cluster go; another janitor knows nothing of that."""

    async def scenario(world: World) -> None:
        janitor = ready(world)
        made: list[str] = []
        world.always(lambda event: made.append(event.type) if event.storage[1] == "jobs" else None)
        make(world)
        await world.sleep(5)
        late = Trouble(delay_seconds=20.0)
        world.service("watcher-1").trouble(late, times=1000, verbs=LINES, kind="raycluster")
        world.delete(RAYCLUSTER, "a")
        await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=120)
        if crashes:
            janitor.crash("just then")
        await world.sleep(60)
        assert made.count("ADDED") == 1

    simulate(scenario)


async def failing(world: World) -> None:
    ready(world, cleanup=PodScript(run_seconds=2, exit_code=1))
    make(world)
    world.delete(RAYCLUSTER, "a")
    await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=120)
    assert told(world) == ["CreatedRedisCleanupJob"]


def test_a_clean_up_that_fails_is_not_repeated() -> None:
    simulate(failing)


@pytest.mark.parametrize(("marks", "seconds"), [({}, 300), ({"ray.io/gcs-ft-deletion-timeout": "40"}, 40)])
def test_a_clean_up_that_does_not_end_is_given_up_at_its_deadline(marks: dict[str, str], seconds: int) -> None:
    async def scenario(world: World) -> None:
        ready(world, cleanup=PodScript(run_seconds=10_000))
        make(world, marks)
        world.delete(RAYCLUSTER, "a")
        took = await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=seconds + 5)
        assert took >= seconds - 1
        if marks:  # else the Job's own deadline comes at the same time
            await world.until("it is told", lambda: "ForceDeletedStuckCluster" in told(world), limit_seconds=5)

    simulate(scenario)


@pytest.mark.parametrize("write", range(1, 7))
@pytest.mark.parametrize("applied", [True, False], ids=["after the write", "before the write"])
def test_a_crash_at_any_write_changes_nothing(write: int, applied: bool) -> None:
    async def scenario(world: World) -> None:
        janitor = ready(world)
        make(world)
        await world.sleep(5)
        janitor.crash_at(write, applied=applied)
        world.delete(RAYCLUSTER, "a")
        await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=120)
        assert not world.repeats

    simulate(scenario, seed=write)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Trouble(error=unreachable, applied=True), id="no answer though it was done"),
        pytest.param(Trouble(error=unreachable), id="no answer"),
        pytest.param(Trouble(error=conflict), id="conflict"),
        pytest.param(Trouble(error=throttled), id="too many requests"),
    ],
)
def test_calls_that_fail_are_made_up_for(trouble: Trouble) -> None:
    async def scenario(world: World) -> None:
        janitor = ready(world)
        make(world)
        await world.sleep(5)
        janitor.trouble(trouble, times=8)
        world.delete(RAYCLUSTER, "a")
        await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=120)
        assert "ForceDeletedStuckCluster" not in told(world)

    simulate(scenario)


async def forbidden_jobs(world: World) -> None:
    """Where Jobs may not be made the cluster goes at its deadline, and the event says why."""
    janitor = ready(world)
    make(world)
    janitor.trouble(Trouble(error=forbidden), times=1000, kind="job")
    world.delete(RAYCLUSTER, "a")
    took = await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=310)
    assert 299 <= took <= 303
    await world.until("it is told", lambda: "ForceDeletedStuckCluster" in told(world), limit_seconds=5)
    assert "FailedToCreateRedisCleanupJob" in told(world)


def test_without_the_right_to_make_jobs_the_cluster_goes_at_its_deadline() -> None:
    simulate(forbidden_jobs)


async def held_head(world: World) -> None:
    """A head that somebody else holds is waited for, beyond the deadline too, and deleted once."""
    ready(world)
    make(world, heads=("example.com/hold",))
    await world.sleep(5)
    world.delete(RAYCLUSTER, "a")
    await world.sleep(400)
    assert world.find(JOB, CLEANUP) is None
    assert world.find(RAYCLUSTER, "a") is not None
    world.patch(POD, "a-head", {"metadata": {"finalizers": None}})
    await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=30)
    assert not world.repeats


def test_a_head_with_a_foreign_finalizer_is_waited_for() -> None:
    simulate(held_head)


async def leaving_namespace(world: World) -> None:
    """In a namespace that is being deleted no Job can be made: it goes with the cluster's deadline."""
    ready(world)
    world.create(NAMESPACE, {"metadata": {"name": "team"}})
    make(world, namespace="team")
    await world.sleep(5)
    world.delete(NAMESPACE, "team")
    gone = await world.until("it is gone", lambda: world.find(NAMESPACE, "team") is None, limit_seconds=330)
    assert gone >= 299


def test_a_namespace_that_is_deleted_goes_at_the_deadline() -> None:
    simulate(leaving_namespace)


async def two_janitors(world: World) -> None:
    """Two replicas that both believe to own everything."""
    one = ready(world, janitors=2)
    make(world)
    await world.sleep(8)
    one.deceive(60)
    world.delete(RAYCLUSTER, "a")
    await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=120)
    assert "ForceDeletedStuckCluster" not in told(world)


@pytest.mark.parametrize("seed", range(2))
def test_two_janitors_do_what_one_does(seed: int) -> None:
    simulate(two_janitors, seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_is_cleaned_up_through_a_storm(seed: int) -> None:
    async def scenario(world: World) -> None:
        ready(world)
        make(world)
        await world.sleep(3)
        world.delete(RAYCLUSTER, "a")
        await storm(world, 20)
        await world.until("the cluster is gone", lambda: has_gone(world), limit_seconds=400)
        assert not world.repeats

    simulate(scenario, seed=seed)
