"""What services rely on in the gateway: with the stub and with a real Ray it says and does the same."""

import asyncio
import json
import secrets
from typing import Any

import pytest
from nats.aio.client import Client

from manta_common.dashboard import calls
from manta_common.errors import AlreadyExists, Conflict, NotFound, Unreachable
from tests.contract.gateway.conftest import CLUSTER, StubHead
from tests.parts.eventually import eventually
from tests.parts.gateway_world import LIMIT_SECONDS, World, token_auth
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.parts.ports import free_ports
from tests.parts.ray import LocalRay


def job_id() -> str:
    return f"gateway-{secrets.token_hex(4)}"


def submission(name: str, entrypoint: str, **fields: Any) -> calls.Submission:
    return calls.Submission(cluster=CLUSTER, job_id=name, entrypoint=entrypoint, limit_seconds=30, **fields)


def about(name: str) -> calls.AboutJob:
    return calls.AboutJob(cluster=CLUSTER, job_id=name, limit_seconds=30)


async def test_a_job_is_submitted_followed_and_read(world: World) -> None:
    name = job_id()
    await world.job(name, "ray")
    await world.said(name, trouble="not_found")
    wanted = submission(name, "echo hello; sleep 4", metadata={"a": "b"}, runtime_env={"env_vars": {"A": "b"}})
    assert await world.dashboards.submit(wanted) == calls.Submitted(job_id=name)
    await world.said(name, status="RUNNING")
    assert await world.dashboards.submit(wanted) == calls.Submitted(job_id=name, existed=True)
    ended = await world.said(name, status="SUCCEEDED")
    assert (ended.message, ended.error_type, ended.driver_exit_code) == ("Job finished successfully.", "", 0)
    assert ended.started_at
    assert ended.ended_at
    assert ended.started_at <= ended.ended_at
    log = await world.dashboards.logs(calls.LogRange(cluster=CLUSTER, job_id=name))
    assert "hello" in log.text.splitlines()
    assert (await world.dashboards.stop(about(name))).status == "SUCCEEDED"
    await world.dashboards.delete(about(name))
    with pytest.raises(NotFound):
        await world.dashboards.get(about(name))


async def test_a_job_that_fails(world: World) -> None:
    name = job_id()
    await world.job(name, "ray")
    await world.dashboards.submit(submission(name, "echo oops; exit 3"))
    ended = await world.said(name, status="FAILED")
    assert (ended.driver_exit_code, ended.error_type) == (3, "JOB_ENTRYPOINT_COMMAND_ERROR")
    assert "oops\n" in ended.message


async def test_a_job_is_stopped_but_not_deleted_while_it_runs(world: World) -> None:
    name = job_id()
    await world.job(name, "ray")
    await world.dashboards.submit(submission(name, "sleep 600"))
    await world.said(name, status="RUNNING")
    with pytest.raises(Conflict):
        await world.dashboards.delete(about(name))
    assert await world.dashboards.stop(about(name)) == calls.Stopped(stopped=True)
    ended = await world.said(name, status="STOPPED")
    assert (ended.message, ended.driver_exit_code) == ("Job was intentionally stopped.", None)


async def test_two_jobs_of_a_cluster(world: World) -> None:
    names = [job_id(), job_id()]
    for name in names:
        await world.job(name, "ray")
        await world.dashboards.submit(submission(name, f"echo {name}"))
    await asyncio.gather(*(world.said(name, status="SUCCEEDED") for name in names))
    listed = await world.dashboards.list(calls.AboutCluster(cluster=CLUSTER))
    assert {*names} <= {job.job_id for job in listed.jobs}


async def test_an_id_belongs_to_one_job(world: World) -> None:
    name = job_id()
    await world.dashboards.submit(submission(name, "echo first"))
    with pytest.raises(AlreadyExists):
        await world.dashboards.submit(submission(name, "echo second"))


@pytest.mark.parametrize("verb", ["get", "stop", "delete"])
async def test_a_job_that_nobody_knows(world: World, verb: str) -> None:
    with pytest.raises(NotFound):
        await getattr(world.dashboards, verb)(about("nobody"))


async def test_the_log_of_a_job_that_nobody_knows(world: World) -> None:
    with pytest.raises(NotFound):
        await world.dashboards.logs(calls.LogRange(cluster=CLUSTER, job_id="nobody"))


async def test_the_version(world: World) -> None:
    assert (await world.dashboards.version(calls.AboutCluster(cluster=CLUSTER))).ray_version == "2.60.0"


async def test_a_token_that_is_not_taken_and_then_is(world: World, head: StubHead | LocalRay) -> None:
    name = job_id()
    world.secrets.put("other", "1", auth_token="wrong-wrong-wrong-wrong")
    await world.cluster("other", head.dashboard_url, auth=token_auth("other"))
    await world.job(name, "other")
    refused = await world.said(name, trouble="unauthorised")
    assert refused.trouble
    assert "403" in refused.trouble.message
    world.secrets.put("other", "2", auth_token=head.token or "")
    await world.said(name, trouble="not_found")


async def test_serve_is_asked_with_the_token_and_its_proxy_on_its_own(world: World, head: StubHead | LocalRay) -> None:
    [closed] = free_ports(1)
    world.secrets.put("served", "1", auth_token="wrong-wrong-wrong-wrong")
    await world.serving("served", head.dashboard_url, proxy=f"http://127.0.0.1:{closed}", auth=token_auth("served"))
    refused = await world.served("served", "is refused", lambda one: one.trouble is not None and one.proxy is not None)
    assert refused.trouble
    assert (refused.trouble.kind, refused.applications, refused.cluster_uid) == ("unauthorised", {}, "served-uid")
    assert refused.proxy
    assert (refused.proxy.healthy, refused.proxy.address) == (False, f"127.0.0.1:{closed}")
    world.secrets.put("served", "2", auth_token=head.token or "")
    let_in = await world.served("served", "is let in", lambda one: one.trouble != refused.trouble)
    assert let_in.trouble is None or let_in.trouble.kind == "unreachable"  # a Ray without Serve says so with an error
    assert let_in.proxy == refused.proxy


async def test_a_head_that_goes_and_comes_back_without_its_jobs(world: World, head: StubHead | LocalRay) -> None:
    name = job_id()
    await world.job(name, "ray")
    await world.dashboards.submit(submission(name, "sleep 600"))
    running = await world.said(name, status="RUNNING")
    await asyncio.to_thread(head.down)
    silent = await world.said(name, status="RUNNING", trouble="unreachable")
    assert silent.trouble
    assert silent.trouble.since >= running.asked_at
    await asyncio.to_thread(head.up)
    forgotten = await world.said(name, status="RUNNING", trouble="not_found")
    assert forgotten.trouble
    assert forgotten.trouble.since > silent.trouble.since
    await world.dashboards.submit(submission(name, "echo again"))
    await world.said(name, status="SUCCEEDED")


async def test_a_nats_that_lost_everything_is_told_again(
    world: World, head: StubHead | LocalRay, own_nats: Nats
) -> None:
    name = job_id()
    await world.job(name, "ray")
    await world.dashboards.submit(submission(name, "sleep 600"))
    before = await world.said(name, status="RUNNING")
    await asyncio.to_thread(own_nats.wipe)
    await eventually("the watcher's part is done", lambda: _said_again(world, head, name), limit_seconds=LIMIT_SECONDS)
    after = await world.said(name, status="RUNNING")
    assert after.started_at == before.started_at
    await world.dashboards.stop(about(name))
    await world.said(name, status="STOPPED")


async def _said_again(world: World, head: StubHead | LocalRay, name: str) -> bool | None:
    """Publish the cluster and a job; None while NATS cannot be written to."""
    try:
        await world.cluster("ray", head.dashboard_url, auth=token_auth())
        await world.job(name, "ray")
    except Unreachable:
        return None
    return True


async def test_the_tools_of_nats_find_it(world: World, own_nats: Nats) -> None:
    client = Client()
    await client.connect(own_nats.url)
    answer = await client.request(f"$SRV.INFO.{calls.SERVICE}", b"", timeout=patient(10))
    await client.close()
    found = {endpoint["name"]: endpoint["subject"] for endpoint in json.loads(answer.data)["endpoints"]}
    assert found["submit"] == "manta.v1.call.dashboard.submit"
    assert found.keys() >= {"get", "list", "stop", "delete", "logs", "get-applications", "put-applications", "version"}
