"""Simulated nodes: pods get a place, start, run, end and go, as told."""

from typing import Any

import pytest

from manta_common.kinds import JOB, NODE, POD
from manta_embedded.sim import pods
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "ray", "image": "rayproject/ray:2.60.0"}]
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def ready(world: World) -> list[str]:
    return [one["metadata"]["name"] for one in world.objects(POD) if pods.is_ready(one)]


def phase(world: World, name: str) -> str:
    found = world.find(POD, name)
    return str(found["status"]["phase"]) if found else "gone"


def test_a_pod_becomes_ready_with_an_address_conditions_and_container_statuses() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.create(POD, pod("a", initContainers=[{"name": "wait", "image": "i"}]))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        found = world.objects(POD)[0]
        assert found["spec"]["nodeName"] == "node-1"
        status = found["status"]
        assert (status["phase"], status["podIP"], status["podIPs"]) == ("Running", "10.64.0.1", [{"ip": "10.64.0.1"}])
        assert {one["type"]: one["status"] for one in status["conditions"]} == dict.fromkeys(pods.TYPES, "True")
        [container] = status["containerStatuses"]
        assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)
        [init] = status["initContainerStatuses"]
        assert init["state"]["terminated"]["reason"] == "Completed"

    simulate(scenario)


def test_a_pod_without_room_waits_and_says_so_until_there_is_room() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add(pods=1)
        world.create(POD, pod("a"))
        await world.until("the first is ready", lambda: ready(world) == ["a"])
        world.create(POD, pod("b"))
        await world.sleep(5)
        waiting = world.find(POD, "b")
        assert waiting is not None
        [condition] = waiting["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        )
        world.delete(POD, "a")
        await world.until("the second is ready", lambda: ready(world) == ["b"])

    simulate(scenario)


def test_a_pod_is_deleted_after_its_grace() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.nodes.script(PodScript(stop_seconds=10), name="slow")
        for name in ("slow", "quick"):
            world.create(POD, pod(name))
        await world.until("both are ready", lambda: len(ready(world)) == 2)
        for name in ("slow", "quick"):
            world.delete(POD, name)
        assert all("deletionTimestamp" in one["metadata"] for one in world.objects(POD))
        assert await world.until("the quick one is gone", lambda: len(world.objects(POD)) == 1) < 1
        assert 4 < await world.until("the slow one is gone", lambda: not world.objects(POD)) < 16

    simulate(scenario)


def test_deletion_can_be_slow_beyond_all_grace() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.nodes.extra_stop_seconds = 60
        world.create(POD, pod("a"))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        world.delete(POD, "a")
        assert await world.until("it is gone", lambda: not world.objects(POD)) > 25

    simulate(scenario)


@pytest.mark.parametrize(
    ("policy", "restarts", "becomes"),
    [
        pytest.param("Always", 1, "Running", id="always started again"),
        pytest.param("OnFailure", 1, "Running", id="started again after a failure"),
        pytest.param("Never", 0, "Failed", id="never started again"),
    ],
)
def test_a_failure_does_what_the_restart_policy_says(policy: str, restarts: int, becomes: str) -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.create(POD, pod("a", restartPolicy=policy))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        world.nodes.fail("a", reason="OOMKilled", exit_code=137)
        found = world.objects(POD)[0]
        [container] = found["status"]["containerStatuses"]
        assert (found["status"]["phase"], container["restartCount"]) == (becomes, restarts)
        assert not pods.is_ready(found)
        await world.sleep(5)
        assert bool(ready(world)) == (becomes == "Running")

    simulate(scenario)


def test_a_pod_that_cannot_start_says_why() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.nodes.script(PodScript(stuck="ImagePullBackOff"), labels={"app": "a"})
        world.create(POD, pod("a"))
        await world.sleep(60)
        [container] = world.objects(POD)[0]["status"]["containerStatuses"]
        assert container["state"] == {"waiting": {"reason": "ImagePullBackOff"}}
        assert phase(world, "a") == "Pending"

    simulate(scenario)


def test_the_pods_of_a_job_complete_and_the_job_with_them() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}

    async def scenario(world: World) -> None:
        world.nodes.add()
        world.create(JOB, {"metadata": {"name": "j"}, "spec": {"template": template}})
        await world.until("it is complete", lambda: world.objects(JOB)[0].get("status", {}).get("succeeded") == 1)

    simulate(scenario)


def test_the_job_of_a_failing_pod_fails() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}

    async def scenario(world: World) -> None:
        world.nodes.add()
        world.nodes.script(PodScript(run_seconds=1, exit_code=3), name="j")
        world.create(JOB, {"metadata": {"name": "j"}, "spec": {"backoffLimit": 0, "template": template}})
        await world.until("it has failed", lambda: world.objects(JOB)[0].get("status", {}).get("failed") == 1)

    simulate(scenario)


def test_a_program_runs_in_a_pod_and_its_result_is_the_exit_code() -> None:
    async def program(running: dict[str, Any]) -> int:
        assert running["metadata"]["name"] == "a"
        return 7

    async def scenario(world: World) -> None:
        world.nodes.add()
        world.nodes.script(PodScript(program=program), name="a")
        world.create(POD, pod("a", restartPolicy="Never"))
        await world.until("it has failed", lambda: phase(world, "a") == "Failed")
        [container] = world.objects(POD)[0]["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == 7

    simulate(scenario)


def test_a_pod_goes_on_without_a_container_that_has_ended_and_is_not_ready_again() -> None:
    async def scenario(world: World) -> None:
        async def program(_: Any) -> int:
            await world.sleep(3)
            return 7

        world.nodes.add()
        world.nodes.script(PodScript(program=program, container="beside"), name="a")
        both = [{"name": name, "image": "i"} for name in ("ray", "beside")]
        world.create(POD, pod("a", containers=both, restartPolicy="Never"))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        await world.until("it is not ready any more", lambda: not ready(world))
        await world.sleep(30)
        [found] = world.objects(POD)
        ray, beside = found["status"]["containerStatuses"]
        assert (phase(world, "a"), ready(world), pods.answers(found)) == ("Running", [], True)
        assert (ray["ready"], "running" in ray["state"]) == (True, True)
        assert (beside["ready"], beside["state"]["terminated"]["exitCode"]) == (False, 7)

    simulate(scenario)


def test_a_lost_node_takes_its_pods_with_it() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add(2)
        for name in ("a", "b", "c", "d"):
            world.create(POD, pod(name))
        await world.until("all are ready", lambda: len(ready(world)) == 4)
        world.nodes.lose("node-1")
        assert [one["metadata"]["name"] for one in world.objects(NODE)] == ["node-2"]
        assert {one["spec"]["nodeName"] for one in world.objects(POD)} == {"node-2"}
        assert len(ready(world)) == 2

    simulate(scenario)


def test_an_evicted_pod_has_failed_whatever_its_policy() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.create(POD, pod("a"))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        world.nodes.evict("a", message="The node was low on memory.")
        status = world.objects(POD)[0]["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")

    simulate(scenario)


def test_a_pod_that_fails_its_probe_is_ready_again_later() -> None:
    async def scenario(world: World) -> None:
        world.nodes.add()
        world.create(POD, pod("a"))
        await world.until("it is ready", lambda: ready(world) == ["a"])
        world.nodes.unready("a")
        assert not ready(world)
        await world.until("it is ready again", lambda: ready(world) == ["a"])

    simulate(scenario)
