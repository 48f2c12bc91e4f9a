"""RayJobs in virtual time: they come to their end through crashes, storms and changes of mind, submitted once."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from manta_common.kinds import CRD, EVENT, JOB, POD, RAYCLUSTER, RAYJOB, SERVICE, VOLCANO_PODGROUP
from manta_common.ray.settings import RaySettings
from manta_embedded.sim.dashboards import Behaviour
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.simulate import explore, simulate
from manta_embedded.sim.storms import storm
from manta_embedded.sim.troubles import Trouble, forbidden
from manta_embedded.sim.world import World
from manta_job_reconciler.observed import JobSettings
from tests.examples import manifests
from tests.model.clusters import pods
from tests.model.crashes import Arm, crashes
from tests.model.jobs import ENDED, FAILS, LASTS, SUCCEEDS, Scene

SEEDS = 10
MOST_WRITES = {"HTTPMode": 18, "K8sJobMode": 26, "SidecarMode": 20}  # of a job that is tried twice, events included
MOST_PASSES = 12
PAUSE_WRITES = 16  # of one that is suspended and resumed
RECONCILER = "jobs-1"
SUSPENDABLE: dict[str, Any] = {"shutdownAfterJobFinishes": True}


@pytest.mark.parametrize(("entrypoint", "state"), [(SUCCEEDS, "Complete"), (FAILS, "Failed")], ids=["well", "badly"])
@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_ends(mode: str, entrypoint: str, state: str) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode=mode, entrypoint=entrypoint)
        await scene.reach(state)
        await world.sleep(30)
        assert sum(scene.submitted.values()) == 1
        assert not world.repeats
        scene.check_order()

    simulate(scenario)


def test_a_job_costs_few_writes_and_passes_and_none_while_it_runs() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(entrypoint="sleep 3600")
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        await world.sleep(5)
        version, passes = (world.find(RAYJOB, "a") or {})["metadata"]["resourceVersion"], scene.passes
        await world.sleep(3000)
        assert (world.find(RAYJOB, "a") or {})["metadata"]["resourceVersion"] == version
        assert 0 < scene.passes == passes
        await scene.reach("Complete", limit_seconds=1000)
        await world.sleep(5)
        assert scene.passes <= MOST_PASSES

    world = simulate(scenario)
    writes = [line for line in world.history.text().splitlines() if "patch status     rayjob" in line]
    assert len(writes) <= 5


async def tried_twice(world: World, arm: Arm, mode: str) -> None:
    scene = Scene(world)
    arm()
    scene.make(mode=mode, entrypoint=FAILS, backoffLimit=1)
    await scene.reach("Failed")
    await world.sleep(15)
    assert scene.status()["failed"] == 2
    assert sum(scene.submitted.values()) == 2
    assert not world.repeats
    scene.check_order()


async def suspended_and_resumed(world: World, arm: Arm) -> None:
    scene = Scene(world)
    scene.make(mode="K8sJobMode", entrypoint=LASTS, **SUSPENDABLE)
    await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
    arm()
    scene.change(suspend=True)
    await scene.reach("Suspended")
    assert not world.objects(RAYCLUSTER)
    assert not world.objects(JOB)
    scene.change(suspend=False)
    await world.until("it runs again", lambda: scene.status().get("jobStatus") == "RUNNING")
    assert len(scene.submitted) == 2
    await world.sleep(15)
    scene.check_order()


@pytest.mark.parametrize(
    ("mode", "applied", "write"),
    [
        *(("HTTPMode", applied, 1 + write) for write in range(MOST_WRITES["HTTPMode"]) for applied in (True, False)),
        *(("K8sJobMode", True, 1 + write) for write in range(MOST_WRITES["K8sJobMode"])),
        *(("SidecarMode", True, 1 + write) for write in range(MOST_WRITES["SidecarMode"])),
    ],
)
def test_a_crash_at_any_write_leaves_no_trace(mode: str, applied: bool, write: int) -> None:
    crashes(functools.partial(tried_twice, mode=mode), RECONCILER, write=write, applied=applied)


@pytest.mark.parametrize("write", range(1, PAUSE_WRITES + 1))
def test_a_crash_while_it_is_suspended_and_resumed_leaves_no_trace(write: int) -> None:
    crashes(suspended_and_resumed, RECONCILER, write=write, applied=True)


def test_no_write_was_left_out() -> None:
    for mode, writes in MOST_WRITES.items():
        assert not crashes(functools.partial(tried_twice, mode=mode), RECONCILER, write=writes + 1, applied=True)
    assert not crashes(suspended_and_resumed, RECONCILER, write=PAUSE_WRITES + 1, applied=True)


def test_an_interactive_job_waits_for_a_person() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode="InteractiveMode", entrypoint="")
        await scene.reach("Waiting")
        await world.sleep(60)
        url = f"http://{scene.status()['dashboardURL']}/api/jobs/"
        await scene.ask("POST", url, b'{"submission_id": "mine", "entrypoint": "sleep 4"}', 10)
        scene.change(jobId="mine")
        await scene.reach("Complete")

    simulate(scenario)


def test_a_job_runs_on_a_cluster_of_somebody_else() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make("a", clusterSelector={"ray.io/cluster": "shared"})
        await scene.reach("Initializing")
        await world.sleep(20)
        world.create(RAYCLUSTER, manifests.cluster({"workerGroupSpecs": []}, name="shared"))
        await scene.reach("Complete")
        scene.make("b", clusterSelector={"ray.io/cluster": "shared"}, entrypoint=LASTS)
        await world.until("it runs", lambda: scene.status("b").get("jobStatus") == "RUNNING")
        world.delete(RAYJOB, "b")
        await world.until("it is gone", lambda: world.find(RAYJOB, "b") is None)
        assert [job.status for job in world.dashboards.of("shared").jobs.values()] == ["SUCCEEDED", "STOPPED"]
        assert world.find(RAYCLUSTER, "shared")
        assert not world.find(SERVICE, "b-head-svc")

    simulate(scenario)


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_a_job_whose_dashboard_hangs_says_since_when_and_nothing_else(mode: str) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode=mode)
        await scene.reach("Initializing")
        name = scene.status()["rayClusterName"]
        world.dashboards.behave(name, Behaviour(hangs=True))
        await world.until(
            "it is ready", lambda: ((world.find(RAYCLUSTER, name) or {}).get("status") or {}).get("state")
        )
        await world.sleep(7)
        said = scene.status()
        assert (said["jobDeploymentStatus"], said.get("message")) == ("Running", None)
        assert said["jobStatusCheckFailureStartTime"]
        assert "state" not in said["rayClusterStatus"]
        submitted = next(each for each in said["conditions"] if each["type"] == "Submitted")
        assert "no answer" in submitted["message"]

    simulate(scenario)


def test_a_job_of_a_hung_dashboard_goes_soon() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(entrypoint=LASTS)
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        world.dashboards.behave(scene.status()["rayClusterName"], Behaviour(hangs=True))
        world.delete(RAYJOB, "a")
        await world.until("it is gone", lambda: world.find(RAYJOB, "a") is None, limit_seconds=5)

    simulate(scenario)


Before = Callable[[Scene], None]


def _unseen(scene: Scene) -> None:
    scene.world.service("jobs-1").crash("slept", again_after_seconds=30)
    scene.make()


def _invalid(scene: Scene) -> None:
    scene.make(backoffLimit=-1)


def _stuck(scene: Scene) -> None:
    scene.world.nodes.script(PodScript(schedulable=False), labels={"ray.io/node-type": "head"})
    scene.make(**SUSPENDABLE)


def _deleted_slowly(scene: Scene, **spec: Any) -> None:
    scene.world.nodes.script(PodScript(stop_seconds=20), labels={"ray.io/node-type": "head"})
    scene.make(**SUSPENDABLE, **spec)
    scene.world.later(20, lambda: scene.change(suspend=True) if "backoffLimit" not in spec else None)


# How each state is reached in which a job stays for a while.
STATES: dict[str, Before] = {
    "": _unseen,
    "ValidationFailed": _invalid,
    "Initializing": _stuck,
    "Waiting": lambda scene: scene.make(mode="InteractiveMode", entrypoint=""),
    "Running": lambda scene: scene.make(entrypoint=LASTS),
    "Suspending": lambda scene: _deleted_slowly(scene, entrypoint=LASTS),
    "Suspended": lambda scene: scene.make(suspend=True, **SUSPENDABLE),
    "Retrying": lambda scene: _deleted_slowly(scene, entrypoint=FAILS, backoffLimit=3),
    "Complete": lambda scene: scene.make(),
    "Failed": lambda scene: scene.make(entrypoint=FAILS),
}


@pytest.mark.parametrize("state", STATES, ids=lambda state: state or "New")
def test_a_job_can_be_deleted_in_every_state(state: str) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        STATES[state](scene)
        await scene.reach(state)
        world.delete(RAYJOB, "a")
        left = functools.partial(map, world.objects, (RAYJOB, RAYCLUSTER, POD, JOB))
        await world.until("nothing is left", lambda: not any(left()))
        assert all(count == 1 for count in scene.submitted.values())

    simulate(scenario)


EDITS: dict[str, dict[str, Any]] = {
    "a mode": {"submissionMode": "K8sJobMode"},
    "what cannot be, and back": {"ttlSecondsAfterFinished": -1},
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state or "New")
def test_a_spec_may_be_edited_in_every_state(state: str, edit: str) -> None:
    """Whatever is edited, the job is then brought to its end by a deadline at the latest, and nothing is left."""

    async def scenario(world: World) -> None:
        scene = Scene(world)
        STATES[state](scene)
        await scene.reach(state)
        scene.change(**EDITS[edit])
        await world.sleep(10)
        scene.change(ttlSecondsAfterFinished=0, suspend=False, backoffLimit=0, activeDeadlineSeconds=60)
        if state == "Waiting":
            scene.change(submissionMode="InteractiveMode", jobId="mine")  # else a person would be waited for
        await world.until("it has ended", lambda: scene.state() in ENDED, limit_seconds=400)
        await world.sleep(60)
        scene.check_order()

    simulate(scenario)


@pytest.mark.parametrize("tolerant", [False, True], ids=["without", "with"])
def test_the_head_dies_while_the_job_runs(tolerant: bool) -> None:
    """Without fault tolerance the new head has never had the job, and is given it; with it, the job goes on."""

    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(entrypoint="sleep 60")
        if tolerant:
            world.patch(RAYJOB, "a", {"metadata": {"annotations": {"ray.io/ft-enabled": "true"}}})
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        (head,) = pods(world, scene.status()["rayClusterName"])
        world.delete(POD, head["metadata"]["name"])
        await scene.reach("Complete", limit_seconds=200)
        assert len(scene.submitted) == (1 if tolerant else 2)
        scene.check_order()

    simulate(scenario)


@pytest.mark.parametrize("who", ["gateway-1", "watcher-1", "clusters-1", "jobs-1"])
def test_a_service_may_be_away_for_a_minute(who: str) -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode="K8sJobMode", entrypoint="sleep 20")
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING")
        world.service(who).crash("away", again_after_seconds=60)
        await world.sleep(61)
        await scene.reach("Complete", limit_seconds=30)
        assert sum(scene.submitted.values()) == 1

    simulate(scenario)


def test_a_dashboard_that_never_answers_ends_the_job_and_no_other() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make("hung", entrypoint=LASTS)
        await world.until("it runs", lambda: scene.status("hung").get("jobStatus") == "RUNNING")
        world.dashboards.behave(scene.status("hung")["rayClusterName"], Behaviour(hangs=True))
        scene.make("well")
        assert await world.until("well ends", lambda: scene.state("well") == "Complete") < 10
        await scene.reach("Failed", "hung", limit_seconds=400)
        assert scene.status("hung")["reason"] == "JobStatusCheckTimeoutExceeded"

    simulate(scenario)


def test_a_cluster_that_may_not_be_made_is_told_of_and_made_when_it_may() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        no = Trouble(error=forbidden)
        world.service("jobs-1").trouble(no, nth=1, times=12, verbs=frozenset({"create"}), kind="raycluster")
        scene.make()
        await world.until("it is told", lambda: "What the job needs cannot be made" in str(scene.status()))
        await scene.reach("Complete")
        assert "cannot be made" not in str(scene.status())

    simulate(scenario)


POD_GROUPS = {
    "metadata": {"name": "podgroups.scheduling.volcano.sh"},
    "spec": {
        "group": "scheduling.volcano.sh",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def test_volcano_is_told_of_the_gang_and_of_its_end() -> None:
    async def scenario(world: World) -> None:
        world.create(CRD, POD_GROUPS)
        scene = Scene(world, settings=JobSettings(ray=RaySettings(batch_scheduler="volcano")))
        scene.make(entrypoint=LASTS, **SUSPENDABLE)
        await scene.reach("Running")
        assert _members(world) == 1
        scene.change(suspend=True)
        await scene.reach("Suspended")
        assert _members(world) == 0
        await world.until("it is told", lambda: "BatchSchedulerCleanedUp" in str(world.objects(EVENT)))
        scene.change(suspend=False)
        await scene.reach("Running")
        assert _members(world) == 1
        world.delete(RAYJOB, "a")
        await world.until("it goes with the job", lambda: not world.objects(VOLCANO_PODGROUP))

    simulate(scenario)


def _members(world: World) -> int:
    (group,) = world.objects(VOLCANO_PODGROUP)
    return int(group["spec"]["minMember"])


async def through_a_storm(world: World) -> None:
    """Jobs are made and changed while everything goes wrong; then all is calm, and all come to an end."""
    scene = Scene(world, replicas=2)
    scene.make("a", backoffLimit=1, entrypoint=FAILS)
    scene.make("b", mode="K8sJobMode", **SUSPENDABLE)
    scene.make("c", entrypoint="sleep 30")
    await asyncio.gather(storm(world, 15, every=1.5), _change_minds(scene))
    for name in "abc":
        ended = functools.partial(lambda name: scene.state(name) in ENDED, name)
        await world.until(f"{name} has ended", ended, limit_seconds=1500)
    scene.check_order()


async def _change_minds(scene: Scene) -> None:
    for suspended in (True, False):
        await scene.world.sleep(scene.world.chance.uniform(0, 8))
        if scene.state("b") not in ENDED:
            scene.change("b", suspend=suspended)
    scene.change("b", suspend=False)


def test_jobs_come_to_their_end_through_storms() -> None:
    assert explore(through_a_storm, range(SEEDS)) == SEEDS


def test_a_job_beside_its_head_ends_though_nobody_saw_the_head_ready() -> None:
    async def scenario(world: World) -> None:
        scene = Scene(world)
        scene.make(mode="SidecarMode")
        await world.until("its head is made", lambda: world.objects(POD))
        world.service("clusters-1").crash(again_after_seconds=20)
        await world.until("it is submitted", lambda: scene.submitted)
        await scene.reach("Complete")
        scene.check_order()

    simulate(scenario)
