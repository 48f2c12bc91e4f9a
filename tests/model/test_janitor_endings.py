"""Ended RayJobs: what is due goes in time, once, and nothing else, whatever goes wrong and whoever changes his mind."""

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manta_common.kinds import EVENT, NAMESPACE, RAYCLUSTER, RAYJOB
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.troubles import READS, WRITES, Trouble, conflict, forbidden, throttled, unreachable
from manta_embedded.sim.world import World
from tests.examples.example import Json
from tests.model.endings import Process, Witness, begin, end, ground, is_clean, last_wish, make, respec, tell

SHUTDOWN: Json = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 10}


def rules(*of: tuple[str, int], **condition: str) -> Json:
    """Deletion rules of one condition."""
    met = condition or {"jobStatus": "SUCCEEDED"}
    return {
        "deletionStrategy": {
            "deletionRules": [{"policy": policy, "condition": {**met, "ttlSeconds": ttl}} for policy, ttl in of]
        }
    }


THREE = rules(("DeleteWorkers", 5), ("DeleteCluster", 10), ("DeleteSelf", 20))


async def clean(world: World, *names: str, limit_seconds: float = 120) -> None:
    """Wait until all that is ever due has gone."""
    for name in names:
        wish = last_wish(world, name)
        if wish:
            await world.sleep((wish - world.store.now()).total_seconds())
        await world.until(f"{name} is clean", functools.partial(is_clean, world, name), limit_seconds=limit_seconds)


def stages(world: World, name: str) -> tuple[bool, bool, bool]:
    """Whether workers, cluster and job are there."""
    cluster = world.find(RAYCLUSTER, f"{name}-cluster")
    workers = bool(cluster and not all(group.get("suspend") for group in cluster["spec"]["workerGroupSpecs"]))
    return workers, cluster is not None, world.find(RAYJOB, name) is not None


async def three_rules(world: World) -> None:
    begin(world)
    witness = Witness(world)
    make(world, "a", THREE, groups=3)
    await world.sleep(5)
    end(world, "a")
    for wait, expected in ((3.5, (True, True, True)), (3, (False, True, True)), (5, (False, False, True))):
        await world.sleep(wait)
        assert stages(world, "a") == expected
    await clean(world, "a")
    await world.until("all of it is gone", lambda: not world.objects(RAYCLUSTER), limit_seconds=10)
    assert witness.deeds == [("a", "DeleteWorkers"), ("a", "DeleteCluster"), ("a", "DeleteSelf")]
    told = [event["reason"] for event in world.objects(EVENT)]
    assert sorted(told) == ["DeletedRayCluster", "UpdatedRayCluster"]
    assert not world.repeats


def test_workers_cluster_and_job_go_one_after_another() -> None:
    simulate(three_rules)


@pytest.mark.parametrize("write", range(1, 9))
@pytest.mark.parametrize("applied", [True, False], ids=["after the write", "before the write"])
def test_a_crash_at_any_write_changes_nothing(write: int, applied: bool) -> None:
    async def scenario(world: World) -> None:
        janitor = begin(world)
        witness = Witness(world)
        make(world, "a", rules(("DeleteWorkers", 5), ("DeleteCluster", 25), ("DeleteSelf", 45)), groups=2)
        await world.sleep(3)
        janitor.crash_at(write, applied=applied)
        end(world, "a")
        await clean(world, "a")
        assert [deed for _, deed in witness.deeds] == ["DeleteWorkers", "DeleteCluster", "DeleteSelf"]
        assert not world.repeats

    simulate(scenario, seed=write)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Trouble(error=unreachable, applied=True), id="no answer though it was done"),
        pytest.param(Trouble(error=unreachable), id="no answer"),
        pytest.param(Trouble(error=conflict), id="conflict"),
        pytest.param(Trouble(error=throttled), id="too many requests"),
        pytest.param(Trouble(error=forbidden), id="forbidden"),
    ],
)
@pytest.mark.parametrize("verbs", [WRITES, READS], ids=["writes", "reads"])
def test_calls_that_fail_for_a_minute_are_made_up_for(trouble: Trouble, verbs: frozenset[str]) -> None:
    async def scenario(world: World) -> None:
        janitor = begin(world)
        witness = Witness(world)
        make(world, "a", THREE)
        await world.sleep(3)
        janitor.trouble(trouble, times=10, verbs=verbs)
        end(world, "a")
        await clean(world, "a", limit_seconds=900)
        assert witness.deeds[-1] == ("a", "DeleteSelf")

    simulate(scenario)


@pytest.mark.parametrize("seconds", [-3600, 3600], ids=["an hour behind", "an hour ahead"])
@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_the_clock_of_the_machine_does_not_count(seconds: float, when: str) -> None:
    async def scenario(world: World) -> None:
        janitor = begin(world)
        Witness(world)
        if when == "before":
            janitor.step_clock(seconds)
            janitor.crash(again_after_seconds=0.1)
        make(world, "a", SHUTDOWN)
        await world.sleep(3)
        end(world, "a")
        await world.sleep(2)
        janitor.step_clock(seconds)
        await world.sleep(6.5)
        assert world.find(RAYCLUSTER, "a-cluster") is not None
        await world.until("it is gone", lambda: world.find(RAYCLUSTER, "a-cluster") is None, limit_seconds=4)

    simulate(scenario)


def asking(what: str, seconds: int) -> Json:
    """A spec that asks for the cluster or the job itself to go."""
    if what == "job":
        return rules(("DeleteSelf", seconds))
    return SHUTDOWN | {"ttlSecondsAfterFinished": seconds}


def changed_mind(what: str, change: str) -> Any:
    """A job of which something is to go after 10 s is changed a second before, unseen by the feed until later."""

    async def scenario(world: World) -> None:
        janitor = begin(world)
        witness = Witness(world, grace_seconds=0.1)
        make(world, "a", asking(what, 10))
        await world.sleep(3)
        end(world, "a")
        await world.sleep(9)
        janitor.lag(8, lag_seconds=4)
        match change:
            case "the TTL is raised":
                respec(world, "a", asking(what, 60))
            case "the rule is removed":
                respec(world, "a", {})
            case "it runs again":
                tell(world, "a", jobDeploymentStatus="Running", jobStatus="RUNNING", endTime=None)
            case "it is invalid now":
                respec(world, "a", asking(what, 1) | {"backoffLimit": -1})
            case "another one bears its name":
                witness.excused.add("a")
                world.delete(RAYJOB, "a")
                world.delete(RAYCLUSTER, "a-cluster")
                await world.until("it is gone", lambda: not stages(world, "a")[1], limit_seconds=5)
                witness.excused.clear()
                make(world, "a", asking(what, 10))
        await world.sleep(20)
        assert stages(world, "a") == (True, True, True)
        assert not witness.deeds

    return scenario


@pytest.mark.parametrize(
    "change",
    ["the TTL is raised", "the rule is removed", "it runs again", "it is invalid now", "another one bears its name"],
)
@pytest.mark.parametrize("what", ["cluster", "job"])
def test_a_change_of_mind_in_the_last_moment_counts(what: str, change: str) -> None:
    simulate(changed_mind(what, change))


async def written_by_another(world: World) -> None:
    """The status of a job is written a moment before its time, unseen by the feed until much later."""
    janitor = begin(world)
    witness = Witness(world)
    make(world, "a", asking("job", 10))
    await world.sleep(3)
    end(world, "a")
    await world.sleep(9)
    janitor.lag(8, lag_seconds=60)
    tell(world, "a", message="said late")
    await clean(world, "a", limit_seconds=3)
    assert witness.deeds == [("a", "DeleteSelf")]


def test_what_another_writes_costs_a_second_look_and_no_delay() -> None:
    simulate(written_by_another)


async def unreadable(world: World) -> None:
    """One job was announced, one is due at once; then no job can be read any more."""
    janitor = begin(world)
    witness = Witness(world)
    for name, seconds in (("a", 10), ("b", 0)):
        make(world, name, asking("job", seconds))
    await world.sleep(3)
    end(world, "a")
    await world.sleep(5)
    janitor.trouble(Trouble(error=forbidden), times=10**6, verbs=frozenset({"get"}))
    end(world, "b")
    await clean(world, "a", limit_seconds=3)
    await world.sleep(60)
    assert witness.deeds == [("a", "DeleteSelf")], "what was not announced is not deleted unread"


def test_what_was_announced_goes_unread_and_nothing_else() -> None:
    simulate(unreadable)


async def foreign_finalizer(world: World) -> None:
    """A job that somebody else holds goes when it is let go, and is deleted only once."""
    begin(world)
    witness = Witness(world)
    make(world, "a", rules(("DeleteSelf", 5)), finalizers=("example.com/hold",))
    await world.sleep(3)
    end(world, "a")
    await clean(world, "a")
    await world.sleep(300)
    assert world.find(RAYJOB, "a") is not None
    world.patch(RAYJOB, "a", {"metadata": {"finalizers": None}})
    await world.until("it is gone", lambda: world.find(RAYJOB, "a") is None, limit_seconds=5)
    assert witness.deeds == [("a", "DeleteSelf")]
    assert not world.repeats


def test_a_job_with_a_foreign_finalizer_is_deleted_once() -> None:
    simulate(foreign_finalizer)


async def somebody_elses_cluster(world: World) -> None:
    """A cluster with the right name that another job controls is left alone."""
    begin(world)
    witness = Witness(world)
    make(world, "a", SHUTDOWN)
    make(world, "b", {})
    tell(world, "a", rayClusterName="b-cluster")
    await world.sleep(3)
    end(world, "a")
    await world.sleep(30)
    assert world.find(RAYCLUSTER, "b-cluster") is not None
    assert not witness.deeds


def test_a_cluster_of_another_job_is_left_alone() -> None:
    simulate(somebody_elses_cluster)


async def two_janitors(world: World) -> None:
    """Two replicas that both believe to own everything."""
    one = begin(world, janitors=2)
    witness = Witness(world)
    for name in "abc":
        make(world, name, THREE)
    await world.sleep(8)
    for name in "abc":
        end(world, name)
    one.deceive(30)
    await clean(world, *"abc")
    assert sorted(witness.deeds) == sorted(
        (n, d) for n in "abc" for d in ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
    )


@pytest.mark.parametrize("seed", range(3))
def test_two_janitors_do_what_one_does(seed: int) -> None:
    simulate(two_janitors, seed=seed)


async def leaving_namespace(world: World) -> None:
    """The namespace of jobs whose time comes is being deleted: all of it goes, and other jobs are not held up."""
    begin(world)
    world.create(NAMESPACE, {"metadata": {"name": "team"}})
    for name in "ab":
        make(world, name, rules(("DeleteCluster", 5), ("DeleteSelf", 20)), namespace="team", finalizers=("x.com/hold",))
    make(world, "c", rules(("DeleteSelf", 5)))
    await world.sleep(3)
    for name in "ab":
        end(world, name, namespace="team")
    end(world, "c")
    await world.sleep(4)
    world.delete(NAMESPACE, "team")
    await clean(world, "c", limit_seconds=10)
    await world.sleep(60)
    for name in "ab":
        world.patch(RAYJOB, name, {"metadata": {"finalizers": None}}, "team")
    await world.until("all of it is gone", lambda: world.find(NAMESPACE, "team") is None, limit_seconds=60)
    assert not world.repeats


def test_a_namespace_that_is_deleted_takes_its_jobs_along() -> None:
    simulate(leaving_namespace)


async def slow_server(world: World) -> None:
    """A deletion is under way for long, another one waits for it; meanwhile both jobs are changed."""
    ground(world)
    janitor = world.start("janitor-1", lambda seat: Process(seat, at_once=2))
    witness = Witness(world, grace_seconds=0.1)
    for name in "ab":
        make(world, name, rules(("DeleteSelf", 5)))
    await world.sleep(3)
    janitor.trouble(Trouble(delay_seconds=10), verbs=frozenset({"delete"}))
    for name in "ab":
        end(world, name)
    await world.sleep(10)
    for name in "ab":
        respec(world, name, rules(("DeleteSelf", 500)))
    await world.sleep(60)
    assert not witness.deeds


def test_a_job_that_changes_while_its_deletion_is_on_its_way_is_left_alone() -> None:
    simulate(slow_server)


async def overdue_at_start(world: World) -> None:
    """Many fall due while no janitor runs; the order of their names and that of their times have nothing in common."""
    at_once = 4
    ground(world)
    janitor = world.start("janitor-1", lambda seat: Process(seat, at_once=at_once))
    witness = Witness(world)
    names = [f"job-{number * 37 % 100:02}" for number in range(100)]
    for name in names:
        make(world, name, rules(("DeleteSelf", 200)))
    await world.sleep(10)
    for name in names:
        end(world, name)
        await world.sleep(1.01)
    janitor.crash(again_after_seconds=250)
    await clean(world, *names, limit_seconds=300)
    gone = [name for name, _ in witness.deeds]
    assert sorted(gone) == sorted(names)
    assert max(abs(gone.index(name) - place) for place, name in enumerate(names)) < at_once


@pytest.mark.parametrize("seed", range(2))
def test_after_a_restart_what_was_due_first_goes_first(seed: int) -> None:
    simulate(overdue_at_start, seed=seed)


ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
TTL = st.integers(0, 30)
OUTCOMES = st.sampled_from(
    [("Complete", "SUCCEEDED"), ("Complete", "STOPPED"), ("Failed", "FAILED"), ("Failed", "RUNNING")]
)


@st.composite
def rule_lists(draw: st.DrawFn) -> Json:
    """Rules that validation admits: for each condition what takes more away comes no earlier."""
    found = []
    for condition in ({"jobStatus": "SUCCEEDED"}, {"jobStatus": "FAILED"}, {"jobDeploymentStatus": "Failed"}):
        policies = [policy for policy in ORDER if draw(st.booleans())]
        ttls = sorted(draw(st.lists(TTL, min_size=len(policies), max_size=len(policies))))
        found += [
            {"policy": policy, "condition": {**condition, "ttlSeconds": ttl}}
            for policy, ttl in zip(policies, ttls, strict=True)
        ]
    keep = {"policy": "DeleteNone", "condition": {"jobStatus": "SUCCEEDED"}}
    return {"deletionStrategy": {"deletionRules": draw(st.permutations([*found, keep]))}}


@st.composite
def legacy(draw: st.DrawFn) -> Json:
    """The older way, with a TTL only together with the switch that it needs."""
    success, failure = draw(st.sampled_from((*ORDER, "DeleteNone"))), draw(st.sampled_from(ORDER))
    strategy = {"deletionStrategy": {"onSuccess": {"policy": success}, "onFailure": {"policy": failure}}}
    if success == "DeleteNone":
        return strategy
    return strategy | {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": draw(TTL)}


SHUTDOWNS = TTL.map(lambda ttl: {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": ttl})
SPECS = st.one_of(rule_lists(), rule_lists(), legacy(), SHUTDOWNS, st.just({}))
LIVES = st.lists(st.tuples(SPECS, OUTCOMES, st.floats(0, 10)), min_size=1, max_size=4)
EDITS = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 12), SPECS), max_size=4)


@settings(max_examples=20, deadline=None)
@given(lives=LIVES, edits=EDITS, weather=st.booleans(), seed=st.integers(0, 10**6))
def test_all_that_is_due_goes_in_the_end_and_nothing_else(
    lives: list[tuple[Json, tuple[str, str], float]],
    edits: list[tuple[int, float, Json]],
    weather: bool,
    seed: int,
) -> None:
    async def scenario(world: World) -> None:
        begin(world, janitors=2)
        Witness(world, grace_seconds=20 if weather else 0.5)
        names = [f"job-{number}" for number in range(len(lives))]
        for name, (spec, outcome, at) in zip(names, lives, strict=True):
            make(world, name, spec)
            world.later(5 + at, end, world, name, *outcome)
        for number, at, spec in edits:
            world.later(8 + at, _edit, world, names[number % len(names)], spec)
        if weather:
            await storm(world, 25)
        else:
            await world.sleep(25)
        await clean(world, *names, limit_seconds=600)
        for name in names:
            await world.until("it stays clean", functools.partial(is_clean, world, name), limit_seconds=1)
        assert not world.repeats

    simulate(scenario, seed=seed)


def _edit(world: World, name: str, spec: Json) -> None:
    if world.find(RAYJOB, name) is not None:
        respec(world, name, spec)
