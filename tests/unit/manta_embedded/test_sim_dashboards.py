"""Simulated dashboards: reached by the head's Service, and as mortal as the head."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from manta_common.errors import Unreachable
from manta_common.kinds import POD, SERVICE
from manta_embedded.sim import pods
from manta_embedded.sim.dashboards import Behaviour, Reply
from manta_embedded.sim.rayjobs import FOR_EVER, JobScript
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World

URL = "http://c-head-svc.default.svc.cluster.local:8265"
Play = Callable[[World], Coroutine[Any, Any, None]]


async def head(world: World, **annotations: str) -> None:
    """A cluster's head and its Service."""
    labels = {"ray.io/cluster": "c", "ray.io/node-type": "head"}
    world.nodes.add()
    world.create(SERVICE, {"metadata": {"name": "c-head-svc"}, "spec": {"selector": labels, "ports": [{"port": 8265}]}})
    spec = {"containers": [{"name": "ray", "image": "i"}]}
    world.create(POD, {"metadata": {"name": "h", "labels": labels, "annotations": annotations}, "spec": spec})
    await world.until("the head is ready", lambda: pods.is_ready(world.objects(POD)[0]))


async def ask(world: World, method: str, path: str, **body: Any) -> Reply:
    return await world.dashboards.request(method, f"{URL}{path}", body=msgspec.json.encode(body), limit_seconds=5)


async def status_of(world: World, job: str) -> str:
    reply = await ask(world, "GET", f"/api/jobs/{job}")
    return str(msgspec.json.decode(reply.body)["status"]) if reply.status == 200 else f"{reply.status}"


def test_a_job_runs_as_its_entrypoint_says() -> None:
    async def scenario(world: World) -> None:
        await head(world)
        taken = await ask(world, "POST", "/api/jobs/", submission_id="j", entrypoint="echo hello; sleep 30; exit 3")
        assert msgspec.json.decode(taken.body) == {"job_id": "j", "submission_id": "j"}
        assert await status_of(world, "j") == "RUNNING"
        await world.sleep(31)
        shown = msgspec.json.decode((await ask(world, "GET", "/api/jobs/j")).body)
        assert (shown["status"], shown["driver_exit_code"]) == ("FAILED", 3)
        assert shown["end_time"] - shown["start_time"] == 30_000
        logs = msgspec.json.decode((await ask(world, "GET", "/api/jobs/j/logs")).body)["logs"]
        assert "hello" in logs

    simulate(scenario)


def test_a_second_job_of_the_same_id_is_refused_and_an_unknown_one_is_not_found() -> None:
    async def scenario(world: World) -> None:
        await head(world)
        for expected in (200, 500):
            reply = await ask(world, "POST", "/api/jobs/", submission_id="j", entrypoint="sleep 9")
            assert reply.status == expected
        assert b"already exists" in reply.body
        assert await status_of(world, "other") == "404"

    simulate(scenario)


def test_a_job_is_stopped_and_then_deleted() -> None:
    async def scenario(world: World) -> None:
        await head(world)
        world.dashboards.script("j", JobScript(seconds=FOR_EVER))
        await ask(world, "POST", "/api/jobs/", submission_id="j", entrypoint="python train.py")
        await world.sleep(3600)
        assert (await ask(world, "DELETE", "/api/jobs/j")).status == 500
        assert (await ask(world, "POST", "/api/jobs/j/stop")).body == b'{"stopped":true}'
        assert await status_of(world, "j") == "STOPPED"
        assert (await ask(world, "DELETE", "/api/jobs/j")).body == b'{"deleted":true}'
        assert await status_of(world, "j") == "404"

    simulate(scenario)


@pytest.mark.parametrize(
    ("annotations", "remembered"),
    [
        pytest.param({}, "404", id="a head that restarts forgets"),
        pytest.param({"ray.io/ft-enabled": "true"}, "RUNNING", id="with fault tolerance it remembers"),
    ],
)
def test_what_a_head_remembers_when_it_restarts(annotations: dict[str, str], remembered: str) -> None:
    async def scenario(world: World) -> None:
        await head(world, **annotations)
        await ask(world, "POST", "/api/jobs/", submission_id="j", entrypoint="sleep 900")
        world.nodes.fail("h")
        with pytest.raises(Unreachable, match="refused"):
            await status_of(world, "j")
        await world.sleep(5)
        assert await status_of(world, "j") == remembered

    simulate(scenario)


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        pytest.param(Behaviour(hangs=True), "no answer in time", id="it hangs"),
        pytest.param(Behaviour(delay_seconds=9), "no answer in time", id="it is too slow"),
    ],
)
def test_a_dashboard_that_does_not_answer_is_unreachable(behaviour: Behaviour, told: str) -> None:
    async def scenario(world: World) -> None:
        await head(world)
        world.dashboards.behave("c", behaviour)
        with pytest.raises(Unreachable, match=told):
            await ask(world, "GET", "/api/version")
        world.dashboards.behave("c", None)
        assert (await ask(world, "GET", "/api/version")).status == 200

    simulate(scenario)


def test_a_dashboard_can_fail_and_forget() -> None:
    async def scenario(world: World) -> None:
        await head(world)
        await ask(world, "POST", "/api/jobs/", submission_id="j", entrypoint="sleep 900")
        world.dashboards.behave("c", Behaviour(fails_with=503))
        assert await status_of(world, "j") == "503"
        world.dashboards.behave("c", None)
        world.dashboards.forget("c")
        assert await status_of(world, "j") == "404"

    simulate(scenario)


def test_serve_applications_are_shown_as_they_were_deployed() -> None:
    async def scenario(world: World) -> None:
        await head(world)
        await ask(world, "PUT", "/api/serve/applications/", applications=[{"name": "fruit", "import_path": "f:app"}])
        world.dashboards.of("c").application_status["fruit"] = "DEPLOYING"
        shown = msgspec.json.decode((await ask(world, "GET", "/api/serve/applications/")).body)
        assert shown["applications"]["fruit"]["status"] == "DEPLOYING"

    simulate(scenario)


def test_nobody_answers_where_there_is_no_head() -> None:
    async def scenario(world: World) -> None:
        with pytest.raises(Unreachable, match="connection refused"):
            await ask(world, "GET", "/api/version")

    simulate(scenario)
