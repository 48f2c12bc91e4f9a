"""A gateway among dashboards that do well and badly: what it asks, what it says, and what it leaves behind."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from manta_common.bus.channel import State
from manta_common.clock import SystemClock
from manta_common.dashboard.reports import JOB_INFO, JobReport
from manta_common.keys import Key
from manta_common.partitions import partition_of
from manta_dashboard_gateway.gateway import Gateway
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.rounds import Limits
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from tests.parts.eventually import eventually
from tests.parts.gateway_world import LIMIT_SECONDS, PARTITIONS, QUICK, World, ago, token_auth
from tests.parts.patience import patient
from tests.parts.ports import free_ports
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Drip, Fail, Hang, Say
from tests.parts.stub_jobs import Job, JobScript

LONG = JobScript(seconds=3600)


@pytest.fixture
async def nats() -> SimulatedNats:
    return SimulatedNats(SystemClock())


@pytest.fixture
async def world(nats: SimulatedNats) -> World:
    return World(SimulatedBus(nats))


@pytest.fixture
async def gateway(world: World) -> AsyncIterator[Gateway]:
    async with world.gateway() as gateway:
        yield gateway


@pytest.fixture
def hung() -> Iterator[StubDashboard]:
    stub = StubDashboard.start()
    stub.misbehave(Hang())
    yield stub
    stub.stop()


@pytest.fixture
def dripping() -> Iterator[StubDashboard]:
    stub = StubDashboard.start()
    stub.misbehave(Drip(0.3))
    yield stub
    stub.stop()


async def asked(stub: StubDashboard, call: str, times: int) -> None:
    """Wait until a dashboard was asked so many times more."""
    before = stub.calls[call]

    async def find() -> bool | None:
        return True if stub.calls[call] >= before + times else None

    await eventually(f"{call} {times} times", find, limit_seconds=LIMIT_SECONDS)


async def test_a_running_job_costs_no_messages_and_its_end_one(
    world: World, gateway: Gateway, nats: SimulatedNats, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", name)
    running = await world.said("job", status="RUNNING")
    before = nats.stream.last
    await asked(stub_dashboard, "GET /api/jobs/{id}", 5)
    assert nats.stream.last == before
    stub_dashboard.end(name, "FAILED", exit_code=3, message="the reason ☕")
    ended = await world.said("job", status="FAILED")
    assert nats.stream.last == before + 1
    assert (ended.job_uid, ended.cluster_uid, ended.job_id) == ("job-uid", "ray-uid", name)
    assert (ended.message, ended.driver_exit_code, ended.started_at) == ("the reason ☕", 3, running.started_at)
    assert ended.asked_at > running.asked_at


async def test_three_kinds_of_trouble_each_since_it_began(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    stub_dashboard.script("job", LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray")
    missing = await world.said("job", trouble="not_found")
    assert missing.status == ""
    stub_dashboard.jobs["job"] = next(iter(_jobs("job")))
    running = await world.said("job", status="RUNNING")
    assert running.trouble is None
    stub_dashboard.misbehave(Fail(500, "boom"))
    silent = await world.said("job", status="RUNNING", trouble="unreachable")
    assert silent.trouble
    assert silent.trouble.since > running.asked_at
    assert "boom" in silent.trouble.message
    await asked(stub_dashboard, "GET /api/jobs/{id}", 3)
    assert await world.report("job") == silent
    stub_dashboard.behave()
    stub_dashboard.token = "sesame"
    refused = await world.said("job", status="RUNNING", trouble="unauthorised")
    assert refused.trouble
    assert refused.trouble.since > silent.trouble.since
    stub_dashboard.token = None
    await world.said("job", status="RUNNING")
    stub_dashboard.forget()
    await world.said("job", status="RUNNING", trouble="not_found")


async def test_many_jobs_of_a_cluster_are_one_request(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    names = stub_dashboard.add(50, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await asyncio.gather(*(world.job(name, "ray", start_time=ago(600)) for name in names))
    await asyncio.gather(*(world.said(name, status="RUNNING") for name in names))
    before = stub_dashboard.calls["GET /api/jobs/{id}"]
    await asked(stub_dashboard, "GET /api/jobs/", 3)
    assert stub_dashboard.calls["GET /api/jobs/{id}"] == before
    stub_dashboard.end(names[7], "SUCCEEDED")
    await world.said(names[7], status="SUCCEEDED")
    assert (await world.said(names[8], status="RUNNING")).trouble is None


async def test_what_a_list_lacks_is_asked_for_by_id_once(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    [there] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job(there, "ray")
    await world.job("absent", "ray")
    await world.said("absent", trouble="not_found")
    before = stub_dashboard.calls["GET /api/jobs/{id}"]
    await asked(stub_dashboard, "GET /api/jobs/", 4)
    assert stub_dashboard.calls["GET /api/jobs/{id}"] == before
    stub_dashboard.jobs["absent"] = next(iter(_jobs("absent")))
    await world.said("absent", status="RUNNING")


async def test_a_list_that_lies_is_not_believed(world: World, gateway: Gateway, stub_dashboard: StubDashboard) -> None:
    names = stub_dashboard.add(2, LONG)
    stub_dashboard.misbehave(Say(b"[]"), call="GET /api/jobs/")
    await world.cluster("ray", stub_dashboard.dashboard_url)
    for name in names:
        await world.job(name, "ray")
    for name in names:
        assert (await world.said(name, status="RUNNING")).trouble is None


async def test_a_list_that_is_too_large_is_not_needed(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    names = stub_dashboard.add(3, LONG)
    stub_dashboard.misbehave(Say(b" " * 10_000_001), call="GET /api/jobs/")
    await world.cluster("ray", stub_dashboard.dashboard_url)
    for name in names:
        await world.job(name, "ray")
    for name in names:
        await world.said(name, status="RUNNING")
    before = stub_dashboard.calls["GET /api/jobs/"]
    await asked(stub_dashboard, "GET /api/jobs/{id}", 6)
    assert stub_dashboard.calls["GET /api/jobs/"] == before


async def test_ten_thousand_jobs_of_which_two_are_ours(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    names = stub_dashboard.add(10_000, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("first", "ray", names[0])
    await world.job("last", "ray", names[-1])
    await world.said("first", status="RUNNING")
    await world.said("last", status="RUNNING")
    assert stub_dashboard.calls["GET /api/jobs/"] > 0


async def test_an_unknown_status_is_text_and_not_an_end(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    stub_dashboard.misbehave(Say('{"status": "PAUSED ☕"}'.encode()))
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", name)
    assert not (await world.said("job", status="PAUSED ☕")).is_terminal
    await asked(stub_dashboard, "GET /api/jobs/{id}", 2)


async def test_a_job_made_anew_does_not_inherit(world: World, gateway: Gateway, stub_dashboard: StubDashboard) -> None:
    first, second = stub_dashboard.add(2, LONG)
    stub_dashboard.end(first, "SUCCEEDED")
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", first)
    await world.said("job", status="SUCCEEDED")
    stub_dashboard.misbehave(Fail(500, "boom"), submission_id=second)
    await world.job("job", "ray", second, uid="another-uid")
    found = await world.said("job", trouble="unreachable")
    assert (found.status, found.job_uid) == ("", "another-uid")


async def test_a_job_that_uses_anothers_cluster_has_its_report_with_itself(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard
) -> None:
    names = stub_dashboard.add(6, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url, root=Key("default", "some-other-job"))
    for name in names:  # their partitions differ
        await world.job(name, "ray")
    for name in names:
        await world.said(name, status="RUNNING")


async def test_following_stops_by_itself(world: World, gateway: Gateway, stub_dashboard: StubDashboard) -> None:
    first, second = stub_dashboard.add(2, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job(first, "ray")
    await world.job(second, "ray")
    await world.said(second, status="RUNNING")
    await world.job(first, "ray", state="Complete")
    await world.remove("rayjob", second)

    async def nothing() -> bool | None:
        return None if list(gateway.polls) else True

    await eventually("nothing is followed", nothing, limit_seconds=LIMIT_SECONDS)
    before = stub_dashboard.calls.total()
    await asyncio.sleep(3 * QUICK.usual_seconds)  # nothing shall happen
    assert stub_dashboard.calls.total() == before


async def test_a_dashboard_that_moved_is_asked_where_it_is(
    world: World, gateway: Gateway, stub_dashboard: StubDashboard, hung: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", hung.dashboard_url)
    await world.job("job", "ray", name)
    await world.said("job", trouble="unreachable")
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.said("job", status="RUNNING")


async def test_a_report_without_a_job_is_removed(world: World, stub_dashboard: StubDashboard) -> None:
    [name] = stub_dashboard.add(1, LONG)
    async with world.gateway(sweep_seconds=0.1):
        await world.cluster("ray", stub_dashboard.dashboard_url)
        await world.job("job", "ray", name)
        await world.said("job", status="RUNNING")
        await world.remove("rayjob", "job")

        async def buried() -> bool | None:
            found = await world.state("job")
            return True if found and found.object is None else None

        await eventually("the report is gone", buried, limit_seconds=LIMIT_SECONDS)


async def test_a_stream_that_was_wiped_is_filled_again(
    world: World, gateway: Gateway, nats: SimulatedNats, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", name)
    await world.said("job", status="RUNNING")
    nats.wipe()
    await world.cluster("ray", stub_dashboard.dashboard_url)  # the watcher's part
    await world.job("job", "ray", name)
    await world.said("job", status="RUNNING")


async def test_a_single_report_that_was_lost_is_said_again(
    world: World, gateway: Gateway, nats: SimulatedNats, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", name)
    found = await world.said("job", status="RUNNING")
    state = await world.state("job")
    assert state
    await world.bus.publish(*_tombstone(state.version))
    assert (await world.said("job", status="RUNNING")).started_at == found.started_at


async def test_replicas_share_the_clusters_and_take_over(
    world: World, nats: SimulatedNats, stub_dashboard: StubDashboard
) -> None:
    names = stub_dashboard.add(12, LONG)
    async with world.gateway(sweep_seconds=0.1) as first:
        for name in names:
            await world.cluster(f"ray-{name}", stub_dashboard.dashboard_url)
            await world.job(name, f"ray-{name}")
        for name in names:
            await world.said(name, status="RUNNING")
        async with world.gateway(SimulatedBus(nats)) as second:

            async def shared() -> bool | None:
                counts = len(list(first.polls)), len(list(second.polls))
                return True if min(counts) > 0 and sum(counts) == 12 else None

            await eventually("both have some", shared, limit_seconds=LIMIT_SECONDS)
        before = nats.stream.last
        stub_dashboard.end(names[3], "SUCCEEDED")
        stub_dashboard.end(names[4], "SUCCEEDED")
        await world.said(names[3], status="SUCCEEDED")
        await world.said(names[4], status="SUCCEEDED")
        assert nats.stream.last == before + 2  # a hand-over is no news


async def test_bad_dashboards_cost_their_own_clusters_only(
    world: World, stub_dashboard: StubDashboard, hung: StubDashboard, dripping: StubDashboard
) -> None:
    [port], [dripped] = free_ports(1), dripping.add(1, LONG)
    bad = {"hung": hung.dashboard_url, "refusing": f"http://127.0.0.1:{port}", "dripping": dripping.dashboard_url}
    [name] = stub_dashboard.add(1, LONG)
    async with world.gateway(pace=Pace(usual_seconds=0.5, new_seconds=0.5, longest_seconds=2)) as gateway:
        for kind, url in bad.items():
            for number in range(20):
                await world.cluster(f"{kind}-{number}", url)
                await world.job(f"{kind}-{number}", f"{kind}-{number}", dripped)
        await asyncio.gather(*(world.said(f"{kind}-{i}", trouble="unreachable") for kind in bad for i in range(20)))
        await world.cluster("ray", stub_dashboard.dashboard_url)
        await world.job("job", "ray", name)
        await world.said("job", status="RUNNING")
        stub_dashboard.end(name, "SUCCEEDED")
        began = time.monotonic()
        await world.said("job", status="SUCCEEDED")
        assert time.monotonic() - began < patient(1)
        states = [poll.dashboard.course.failures > 0 for poll in gateway.polls]
        assert sorted(states) == [False] + [True] * 60


async def test_a_stop_waits_for_no_dashboard_and_says_nothing_of_it(
    world: World, stub_dashboard: StubDashboard
) -> None:
    [name] = stub_dashboard.add(1, LONG)
    async with world.gateway(limits=Limits(one_seconds=30)):
        await world.cluster("ray", stub_dashboard.dashboard_url)
        await world.job("job", "ray", name)
        before = await world.said("job", status="RUNNING")
        stub_dashboard.misbehave(Hang())
        await asked(stub_dashboard, "GET /api/jobs/{id}", 1)
        began = time.monotonic()
    assert time.monotonic() - began < patient(5)
    assert await world.report("job") == before


async def test_nothing_is_left_behind(world: World, stub_dashboard: StubDashboard, hung: StubDashboard) -> None:
    before = len(asyncio.all_tasks())
    async with world.gateway() as gateway:
        idle = len(asyncio.all_tasks())
        for number, stub in enumerate([stub_dashboard, hung] * 10):
            [name] = stub.add(1, LONG)
            await world.cluster(f"ray-{number}", stub.dashboard_url, auth=token_auth() if number % 5 == 0 else None)
            await world.job(f"job-{number}", f"ray-{number}", name)
        await world.said("job-2", status="RUNNING")
        await world.said("job-3", trouble="unreachable")
        await world.said("job-5", trouble="unauthorised")
        for number in range(20):
            await world.remove("rayjob", f"job-{number}")
            await world.remove("raycluster", f"ray-{number}")

        async def quiet() -> bool | None:
            return True if len(asyncio.all_tasks()) <= idle and not list(gateway.polls) else None

        await eventually("no task is left", quiet, limit_seconds=LIMIT_SECONDS)
    assert len(asyncio.all_tasks()) == before

    async def closed() -> bool | None:
        return True if stub_dashboard.connections == hung.connections == 0 else None

    await eventually("no connection is left", closed, limit_seconds=LIMIT_SECONDS)


async def test_a_page_shows_every_cluster(world: World, gateway: Gateway, stub_dashboard: StubDashboard) -> None:
    [name] = stub_dashboard.add(1, LONG)
    await world.cluster("ray", stub_dashboard.dashboard_url)
    await world.job("job", "ray", name)
    await world.said("job", status="RUNNING")
    [shown] = gateway.shown()
    assert (shown["cluster"], shown["breaker"], shown["failures"]) == ("default/ray", "closed", 0)
    assert shown["jobs"] == {"default/job": {"id": name, "status": "RUNNING", "trouble": None}}


def _jobs(*names: str) -> Iterator[Job]:
    for name in names:
        yield Job({"submission_id": name, "entrypoint": f"python {name}.py"}, LONG)


def _tombstone(version: str) -> tuple[str, bytes]:
    key = Key("default", "job")
    state: State[JobReport] = State(key=key, uid="job-uid", version=str(int(version) + 1))
    return JOB_INFO.subject(partition_of(key, PARTITIONS), key), JOB_INFO.encode(state)
