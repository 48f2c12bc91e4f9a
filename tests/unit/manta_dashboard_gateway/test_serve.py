"""Serve's applications and proxies: what is asked, when, and what is said of them."""

import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from manta_common.clock import SystemClock
from manta_common.dashboard import calls
from manta_common.dashboard.reports import ServeReport
from manta_common.errors import Refused
from manta_common.keys import Key
from manta_dashboard_gateway.gateway import Gateway
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.rounds import Limits
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from tests.parts.eventually import eventually
from tests.parts.gateway_world import BRIEF, LIMIT_SECONDS, World, ago, token_auth
from tests.parts.patience import patient
from tests.parts.ports import free_ports
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Delay, Fail, Hang

RAY = Key("default", "ray")
APPLICATIONS = "GET /api/serve/applications/"
RARE = Pace(usual_seconds=1000, new_seconds=0.1, moving_seconds=1000)


def config(*names: str, **fields: object) -> dict[str, object]:
    return {"applications": [{"name": name, "import_path": f"m:{name}"} for name in names]} | fields


def statuses(report: ServeReport) -> dict[str, str]:
    return {name: one.status for name, one in report.applications.items()}


def has_trouble(kind: str, report: ServeReport) -> bool:
    return report.trouble is not None and report.trouble.kind == kind


def is_well(report: ServeReport) -> bool:
    return report.trouble is None and report.proxy is not None and report.proxy.healthy


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
def ray(stub_dashboard: StubDashboard) -> StubDashboard:
    """A head whose proxy listens where its dashboard does."""
    stub_dashboard.serve_config = config("a", "b", target_capacity=40)
    return stub_dashboard


@pytest.fixture
def hung() -> Iterator[StubDashboard]:
    stub = StubDashboard.start()
    stub.misbehave(Hang())
    yield stub
    stub.stop()


async def asked(stub: StubDashboard, call: str, times: int) -> None:
    before = stub.calls[call]

    async def find() -> bool | None:
        return True if stub.calls[call] >= before + times else None

    await eventually(f"{call} {times} times", find, limit_seconds=LIMIT_SECONDS)


async def followed_rarely(world: World, gateway: Gateway, ray: StubDashboard) -> None:
    """A cluster that was new until a moment ago."""
    await world.serving("ray", ray.dashboard_url, ready_at=ago(28))
    await world.served("ray", "is well", is_well)

    async def find() -> bool | None:
        return True if [one for one in gateway.polls if gateway.polls.late_seconds(one) < -100] else None

    await eventually("it is asked rarely", find, limit_seconds=LIMIT_SECONDS)


async def test_applications_that_do_not_change_cost_no_messages(
    world: World, gateway: Gateway, nats: SimulatedNats, ray: StubDashboard
) -> None:
    ray.application_status["b"] = "DEPLOYING"
    await world.serving("ray", ray.dashboard_url)
    found = await world.served("ray", "is followed", is_well)
    assert (statuses(found), found.target_capacity) == ({"a": "RUNNING", "b": "DEPLOYING"}, 40)
    assert found.applications["a"].config == {"name": "a", "import_path": "m:a"}
    assert (found.cluster_uid, found.proxy and found.proxy.pod) == ("ray-uid", "ray-head")
    before = nats.stream.last
    await asked(ray, APPLICATIONS, 3)
    assert nats.stream.last == before
    ray.application_status["b"] = "RUNNING"
    await world.served("ray", "b runs", lambda one: statuses(one)["b"] == "RUNNING")
    assert nats.stream.last == before + 1


async def test_three_kinds_of_trouble_and_the_proxy_on_its_own(
    world: World, gateway: Gateway, ray: StubDashboard
) -> None:
    await world.serving("ray", ray.dashboard_url)
    well = await world.served("ray", "is well", is_well)
    for fault, kind in ((Fail(503, "no controller"), "unreachable"), (Fail(404, "no Serve"), "not_found")):
        ray.misbehave(fault, call=APPLICATIONS)
        found = await world.served("ray", kind, partial(has_trouble, kind))
        assert found.applications == well.applications
        assert found.trouble
        assert found.trouble.since > well.asked_at
        assert (found.proxy, fault.text in found.trouble.message) == (well.proxy, True)
        ray.behave()
        await world.served("ray", "is well again", is_well)
    ray.proxy_code = 500
    found = await world.served("ray", "takes no requests", lambda one: one.proxy is not None and not one.proxy.healthy)
    assert (found.trouble, found.applications) == (None, well.applications)
    assert found.proxy
    assert well.proxy
    assert found.proxy.since > well.proxy.since


async def test_a_dashboard_that_does_not_let_us_in(world: World, gateway: Gateway, ray: StubDashboard) -> None:
    ray.token = "sesame"
    await world.serving("ray", ray.dashboard_url, auth=token_auth())
    found = await world.served("ray", "no Secret", lambda one: one.trouble is not None)
    assert found.trouble
    assert (found.trouble.kind, found.applications) == ("unauthorised", {})
    world.secrets.put("ray", "1", auth_token="sesame")
    assert statuses(await world.served("ray", "is let in", lambda one: one.trouble is None)).keys() == {"a", "b"}


async def test_a_head_that_is_not_ready_is_asked_for_its_proxy_alone(
    world: World, gateway: Gateway, ray: StubDashboard
) -> None:
    await world.serving("ray", ray.dashboard_url)
    well = await world.served("ray", "is well", is_well)
    await world.serving("ray", ray.dashboard_url, ready=False)
    found = await world.served("ray", "is not ready", lambda one: one.trouble is not None)
    assert found.trouble
    assert (found.trouble.message, found.applications) == ("the head pod is not ready", well.applications)
    before = ray.calls[APPLICATIONS]
    await asked(ray, "GET /-/healthz", 3)
    assert ray.calls[APPLICATIONS] == before
    await world.serving("ray", ray.dashboard_url)
    await world.served("ray", "is well again", is_well)


async def test_what_was_put_is_looked_at_at_once(world: World, ray: StubDashboard) -> None:
    async with world.gateway(pace=RARE) as gateway:
        await followed_rarely(world, gateway, ray)
        await world.dashboards.deploy(calls.ServeConfig(cluster=RAY, config=config("c")))
        await world.served("ray", "c runs", lambda one: statuses(one) == {"c": "RUNNING"})
        ray.application_status["c"] = "UNHEALTHY"  # asked often for a while
        await world.served("ray", "c does not", lambda one: statuses(one) == {"c": "UNHEALTHY"})


async def test_what_is_put_while_a_poll_is_under_way_is_looked_at_too(world: World, ray: StubDashboard) -> None:
    async with world.gateway(pace=RARE) as gateway:
        await followed_rarely(world, gateway, ray)
        ray.misbehave(Delay(0.3), call=APPLICATIONS)
        for names in (("c",), ("d",)):
            await world.dashboards.deploy(calls.ServeConfig(cluster=RAY, config=config(*names)))
        await world.served("ray", "d runs", lambda one: statuses(one) == {"d": "RUNNING"})


async def test_a_put_that_ray_refuses_is_told_in_its_words(world: World, gateway: Gateway, ray: StubDashboard) -> None:
    await world.serving("ray", ray.dashboard_url)
    wrong = calls.ServeConfig(cluster=RAY, config={"applications": [{"name": "a"}]})
    with pytest.raises(Refused, match=r"applications.0.import_path Field required") as refused:
        await world.dashboards.deploy(wrong)
    assert (refused.value.code, refused.value.reason) == (400, calls.RAY_REFUSED)
    assert ray.serve_config == config("a", "b", target_capacity=40)


@pytest.mark.parametrize("changes", [{"config": "applications: []"}, {"capacity": 20}])
async def test_a_rayservice_that_changed_is_worth_a_look(
    world: World, ray: StubDashboard, changes: dict[str, Any]
) -> None:
    async with world.gateway(pace=RARE) as gateway:
        await world.service("service", "ray")
        await followed_rarely(world, gateway, ray)
        ray.application_status["a"] = "UNHEALTHY"
        await world.service("service", "ray", **changes)
        await world.served("ray", "a is not well", lambda one: statuses(one)["a"] == "UNHEALTHY")


async def test_a_head_made_anew_has_lost_what_it_was_told(world: World, gateway: Gateway, ray: StubDashboard) -> None:
    await world.serving("ray", ray.dashboard_url)
    await world.served("ray", "is well", is_well)
    ray.forget()
    found = await world.served("ray", "nothing runs", lambda one: not one.applications)
    assert found.trouble is None


async def test_bad_heads_cost_themselves_only(world: World, ray: StubDashboard, hung: StubDashboard) -> None:
    [port] = free_ports(1)
    shut = f"http://127.0.0.1:{port}"
    pace = Pace(usual_seconds=0.5, new_seconds=0.5, moving_seconds=0.5, longest_seconds=2)
    limits = Limits(one_seconds=BRIEF.one_seconds, list_seconds=BRIEF.list_seconds, proxy_seconds=1.0)
    async with world.gateway(pace=pace, limits=limits) as gateway:
        for number in range(10):
            await world.serving(f"hung-{number}", hung.dashboard_url)
            await world.serving(f"no-proxy-{number}", ray.dashboard_url, proxy=hung.dashboard_url)
            await world.serving(f"shut-{number}", shut, proxy=ray.dashboard_url)
        for number in range(10):
            found = await world.served(f"no-proxy-{number}", "applications", lambda one: bool(one.applications))
            assert (found.trouble, found.proxy and found.proxy.healthy) == (None, False)
            found = await world.served(f"shut-{number}", "trouble", lambda one: one.trouble is not None)
            assert found.proxy
            assert found.proxy.healthy
            await world.served(f"hung-{number}", "trouble", lambda one: one.trouble is not None)
        await world.serving("ray", ray.dashboard_url)
        await world.served("ray", "is well", is_well)
        ray.application_status["a"] = "UNHEALTHY"
        began = time.monotonic()
        await world.served("ray", "a is not", lambda one: statuses(one)["a"] == "UNHEALTHY")
        assert time.monotonic() - began < patient(1)
        shown = {str(one["cluster"]): one["serve"] for one in gateway.shown()}
        assert shown["default/ray"] == {
            "applications": {"a": "UNHEALTHY", "b": "RUNNING"},
            "trouble": None,
            "proxy": {"address": ray.dashboard_url.removeprefix("http://"), "healthy": True},
        }


async def test_a_cluster_that_is_gone_is_followed_no_more(world: World, ray: StubDashboard) -> None:
    async with world.gateway(sweep_seconds=0.1) as gateway:
        await world.serving("ray", ray.dashboard_url)
        await world.served("ray", "is well", is_well)
        await world.remove("raycluster", "ray")

        async def gone() -> bool | None:
            return True if not list(gateway.polls) and await world.serve_report("ray") is None else None

        await eventually("nothing is followed and said", gone, limit_seconds=LIMIT_SECONDS)
