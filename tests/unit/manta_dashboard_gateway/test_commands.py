"""Calls: their errors are typed, their deadlines hold, and equal questions are asked once."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from manta_common.bus.channel import call_subject
from manta_common.clock import SystemClock
from manta_common.dashboard import calls
from manta_common.errors import AlreadyExists, Conflict, MantaError, NotFound, Refused, Unreachable
from manta_common.keys import Key
from manta_dashboard_gateway.gateway import Gateway
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from tests.parts.gateway_world import World, token_auth
from tests.parts.mangling import FACTOR, encoded, mangled, sample
from tests.parts.patience import patient
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Delay, Fail, Hang
from tests.parts.stub_jobs import JobScript

RAY = Key("default", "ray")
LONG = JobScript(seconds=3600)


@pytest.fixture
async def world(stub_dashboard: StubDashboard) -> World:
    world = World(SimulatedBus(SimulatedNats(SystemClock())))
    await world.cluster("ray", stub_dashboard.dashboard_url)
    return world


@pytest.fixture(autouse=True)
async def gateway(world: World) -> AsyncIterator[Gateway]:
    async with world.gateway() as gateway:
        yield gateway


def about(job_id: str, **fields: Any) -> calls.AboutJob:
    return calls.AboutJob(cluster=RAY, job_id=job_id, **fields)


async def test_a_job_from_its_submission_to_its_end(world: World, stub_dashboard: StubDashboard) -> None:
    submission = calls.Submission(
        cluster=RAY,
        cluster_uid="ray-uid",
        job_id="job",
        entrypoint="echo hello; sleep 3600",
        runtime_env={"env_vars": {"A": "b"}},
        metadata={"key": "value"},
        entrypoint_num_cpus=0.5,
        entrypoint_resources={"disk": 1.0},
    )
    assert await world.dashboards.submit(submission) == calls.Submitted(job_id="job")
    assert await world.dashboards.submit(submission) == calls.Submitted(job_id="job", existed=True)
    job = stub_dashboard.jobs["job"].shown()
    assert (job["metadata"], job["runtime_env"]) == ({"key": "value"}, {"env_vars": {"A": "b"}})
    found = await world.dashboards.get(about("job"))
    assert (found.status, found.entrypoint, found.metadata) == ("RUNNING", submission.entrypoint, {"key": "value"})
    listed = await world.dashboards.list(calls.AboutCluster(cluster=RAY))
    assert [(one.job_id, one.status, one.message) for one in listed.jobs] == [("job", "RUNNING", "")]
    log = await world.dashboards.logs(calls.LogRange(cluster=RAY, job_id="job", tail=6))
    assert log.text == "hello\n"
    with pytest.raises(Conflict, match="has not ended"):
        await world.dashboards.delete(about("job"))
    assert await world.dashboards.stop(about("job")) == calls.Stopped(stopped=True)
    assert await world.dashboards.stop(about("job")) == calls.Stopped(stopped=False, status="STOPPED")
    assert await world.dashboards.delete(about("job")) == calls.Deleted()
    with pytest.raises(NotFound, match="Job job does not exist"):
        await world.dashboards.get(about("job"))


async def test_a_job_that_ray_has_already_is_not_submitted(world: World, stub_dashboard: StubDashboard) -> None:
    [name] = stub_dashboard.add(1, LONG)
    with pytest.raises(AlreadyExists, match="another job"):
        await world.dashboards.submit(calls.Submission(cluster=RAY, job_id=name, entrypoint="other"))
    assert stub_dashboard.calls["POST /api/jobs/"] == 0


async def test_what_ray_refuses_is_told_in_its_words(world: World, stub_dashboard: StubDashboard) -> None:
    stub_dashboard.misbehave(Fail(400, "Traceback\nValueError: runtime_env is wrong\n"), call="POST /api/jobs/")
    with pytest.raises(Refused, match="ValueError: runtime_env is wrong") as refused:
        await world.dashboards.submit(calls.Submission(cluster=RAY, job_id="job", entrypoint="x"))
    assert (refused.value.code, refused.value.reason) == (400, calls.RAY_REFUSED)


async def test_applications_are_deployed_and_told(world: World, stub_dashboard: StubDashboard) -> None:
    config = {"applications": [{"name": "a", "import_path": "m:a"}], "target_capacity": 25}
    await world.dashboards.deploy(calls.ServeConfig(cluster=RAY, config=config))
    assert stub_dashboard.serve_config == config
    found = await world.dashboards.applications(calls.AboutCluster(cluster=RAY))
    assert (found.applications["a"].status, found.target_capacity) == ("RUNNING", 25)
    assert "/api/serve/applications/?api_type=declarative" in stub_dashboard.paths


async def test_the_version_is_told(world: World) -> None:
    assert (await world.dashboards.version(calls.AboutCluster(cluster=RAY))).ray_version == "2.60.0"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        pytest.param(calls.AboutCluster(cluster=Key("default", "nobody")), "UnknownCluster", id="no such cluster"),
        pytest.param(calls.AboutCluster(cluster=RAY, cluster_uid="old"), "UnknownCluster", id="a cluster made anew"),
        pytest.param(calls.AboutCluster(cluster=RAY, limit_seconds=0), "BadRequest", id="no time at all"),
        pytest.param(calls.AboutCluster(cluster=RAY, limit_seconds=61), "BadRequest", id="too much time"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_refused(
    world: World, question: calls.AboutCluster, reason: str
) -> None:
    with pytest.raises(Refused) as refused:
        await world.dashboards.version(question)
    assert refused.value.reason == reason


async def test_a_question_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        await world.bus.request(call_subject("dashboard", "get"), b"{", limit_seconds=5)


async def test_a_dashboard_that_does_not_let_us_in(world: World, stub_dashboard: StubDashboard) -> None:
    await world.cluster("guarded", stub_dashboard.dashboard_url, auth=token_auth())
    with pytest.raises(Refused, match="no Secret default/guarded") as refused:
        await world.dashboards.version(calls.AboutCluster(cluster=Key("default", "guarded")))
    assert refused.value.reason == calls.UNAUTHORISED


async def test_a_deadline_holds_however_many_wait(world: World, stub_dashboard: StubDashboard) -> None:
    stub_dashboard.misbehave(Hang())
    began = time.monotonic()
    asking = (world.dashboards.get(about(f"job-{number}", limit_seconds=0.5)) for number in range(20))
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(error) for error in found} == {Unreachable}
    assert time.monotonic() - began < patient(2)


async def test_equal_questions_are_asked_once(world: World, stub_dashboard: StubDashboard) -> None:
    [name] = stub_dashboard.add(1, LONG)
    stub_dashboard.misbehave(Delay(0.2))
    found = await asyncio.gather(*(world.dashboards.get(about(name)) for _ in range(10)))
    assert {one.status for one in found} == {"RUNNING"}
    assert stub_dashboard.calls["GET /api/jobs/{id}"] == 1


async def test_what_is_known_is_enough_when_it_is_young(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.dashboards.get(about(name))
    found = await world.dashboards.get(about(name, max_age_seconds=60))
    assert found.status == "RUNNING"
    assert 0 < found.age_seconds < 60
    assert stub_dashboard.calls["GET /api/jobs/{id}"] == 1
    await world.dashboards.get(about(name))
    assert stub_dashboard.calls["GET /api/jobs/{id}"] == 2
    assert gateway.commands.counts[0] == 1


async def test_a_command_is_not_held_up_by_a_poll(world: World, stub_dashboard: StubDashboard) -> None:
    [name] = stub_dashboard.add(1, LONG)
    stub_dashboard.misbehave(Hang(), call="GET /api/jobs/{id}")
    await world.job("job", "ray", name)
    await world.said("job", trouble="unreachable")
    assert (await world.dashboards.version(calls.AboutCluster(cluster=RAY, limit_seconds=0.5))).ray_version


QUESTIONS = {
    call.verb: encoded({**sample(type_), "cluster": {"namespace": "default", "name": "ray"}, "cluster_uid": ""})
    for call, type_ in (
        (calls.SUBMIT, calls.Submission),
        (calls.GET, calls.AboutJob),
        (calls.LIST, calls.AboutCluster),
        (calls.STOP, calls.AboutJob),
        (calls.DELETE, calls.AboutJob),
        (calls.LOGS, calls.LogRange),
        (calls.GET_APPLICATIONS, calls.AboutCluster),
        (calls.PUT_APPLICATIONS, calls.ServeConfig),
        (calls.VERSION, calls.AboutCluster),
    )
}


@pytest.mark.parametrize("verb", QUESTIONS)
async def test_a_question_of_any_bytes_is_answered_or_refused(verb: str, gateway: Gateway, world: World) -> None:
    answer, good = gateway.commands.verbs()[verb], QUESTIONS[verb]
    for seed in range(40 * FACTOR):
        with contextlib.suppress(MantaError):  # and no other error
            await answer(mangled(good, seed), {})
    assert (await world.dashboards.version(calls.AboutCluster(cluster=RAY))).ray_version
