"""A real Ray Serve application through its life as a RayService, asked all the time by the addresses of its Service."""

import pathlib
import re

import aiohttp
import pytest

from tests.integration.node_ray import RayWorld, ray_world
from tests.integration.serve_load import Load
from tests.integration.serve_world import ServeWorld
from tests.parts.eventually import eventually

pytestmark = pytest.mark.timeout(2400)
PER_SECOND = 50
LIMIT_SECONDS = 150.0
REQUESTS = re.compile(
    r'^manta_dashboard_requests_total\{(?=[^}]*call="([a-z-]+)")(?=[^}]*outcome="ok")[^}]*\} (\d+)', re.MULTILINE
)


async def test_no_request_is_lost_while_a_service_is_updated_upgraded_and_rolled_back(tmp_path: pathlib.Path) -> None:
    async with ray_world(tmp_path) as world:
        service = ServeWorld(world)
        service.create(word="hello", release="1")
        first = await service.until_ready()
        assert service.applications == {"greeter": "RUNNING"}
        load = Load(service.addresses, per_second=PER_SECOND)
        async with load.running():
            await _is_updated_in_place(service, load, first)
            second = await _is_upgraded(service, load, first)
            third = await _is_rolled_back(service, load, second)
        assert (load.failures, len(load.answers)) == ([], load.sent)
        await _comes_back_after_its_head_was_lost(service, third)


async def _is_updated_in_place(service: ServeWorld, load: Load, cluster: str) -> None:
    """The same cluster says another word; a Manta that was started anew tells Serve nothing that it runs already."""
    world = service.world
    await world.until("it says hello", lambda: load.latest().word == "hello", LIMIT_SECONDS)
    world.operator.kill()
    world.operator.start()
    await eventually("Serve was asked", lambda: _done(world, "get-applications"), limit_seconds=LIMIT_SECONDS)
    service.change(word="goodbye")
    await world.until("it says goodbye", lambda: load.latest().word == "goodbye", LIMIT_SECONDS)
    await world.until("that is known", lambda: service.is_current, LIMIT_SECONDS)
    assert (service.active, service.clusters) == (cluster, {cluster})
    assert await _done(world, "put-applications") == 1


async def _is_upgraded(service: ServeWorld, load: Load, before: str) -> str:
    """Another cluster takes over, and nothing is left of the one before."""
    service.change(release="2")
    cluster = await service.until_ready(but=before)
    await service.until_gone(before)
    await service.world.until("it is release 2", lambda: load.latest().release == "2", LIMIT_SECONDS)
    return cluster


async def _is_rolled_back(service: ServeWorld, load: Load, before: str) -> str:
    """An upgrade is called off while its cluster starts, and the first release comes back."""
    service.change(release="3")
    await service.world.until("a cluster is to come", lambda: service.pending in service.clusters, LIMIT_SECONDS)
    called_off = service.pending
    service.change(release="1")
    cluster = await service.until_ready(but=before)
    await service.until_gone(before)
    await service.until_gone(called_off)
    await service.world.until("it is release 1", lambda: load.latest().release == "1", LIMIT_SECONDS)
    assert (service.clusters, set(load.releases)) == ({cluster}, {"1", "2"})
    return cluster


async def _comes_back_after_its_head_was_lost(service: ServeWorld, cluster: str) -> None:
    """A head that has forgotten everything is told again what to run."""
    world, head = service.world, service.head(cluster)
    await world.run(head, "sh", "-c", "kill -9 -1", container="ray-head")
    await world.until("it has begun anew", lambda: world.state(head, "ray-head").get("restartCount"), LIMIT_SECONDS)

    async def answered() -> str | None:
        async with aiohttp.ClientSession() as session:
            try:
                async with session.post(service.addresses[0]) as answer:
                    return str((await answer.json())["word"]) if answer.status == 200 else None
            except (aiohttp.ClientError, OSError):
                return None

    assert await eventually("it answers again", answered, limit_seconds=LIMIT_SECONDS) == "goodbye"
    await world.until("it is ready again", lambda: service.condition("Ready") == "True", LIMIT_SECONDS)
    assert (service.active, service.clusters) == (cluster, {cluster})


async def _done(world: RayWorld, call: str) -> int | None:
    """How many requests of a kind Manta has had answered by dashboards since it was started; None for none."""
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(f"http://{world.http}/metrics") as answer:
                found = REQUESTS.findall(await answer.text())
        except (aiohttp.ClientError, OSError):
            return None
    return sum(int(count) for name, count in found if name == call) or None
