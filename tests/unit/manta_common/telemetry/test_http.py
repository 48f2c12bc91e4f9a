"""The HTTP side: alive, ready or why not, metrics, state."""

import contextlib
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from manta_common.config import Address
from manta_common.errors import Misconfigured
from manta_common.telemetry.definitions import gauge
from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Listener, Pages
from manta_common.telemetry.metrics import Registry
from tests.unit.manta_common.telemetry.parse import samples

LOOPBACK = Address("127.0.0.1", 0)


class Scene:
    """A listener with what it shows."""

    def __init__(self) -> None:
        self.health, self.registries, self.pages = Health(), [Registry("x")], Pages()
        self.url = ""

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[aiohttp.ClientSession]:
        listener = Listener(LOOPBACK, self.health, registries=self.registries, pages=self.pages)
        async with listener, aiohttp.ClientSession(f"http://127.0.0.1:{listener.port}") as client:
            yield client


async def test_a_process_that_answers_is_alive() -> None:
    async with Scene().listening() as client, client.get("/healthz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok\n")


async def test_a_process_is_ready_when_nothing_is_missing() -> None:
    scene, reasons = Scene(), {"nats": "not connected", "feed": "3 partitions to read"}
    for what in list(reasons):
        scene.health.need(what, lambda what=what: reasons.get(what, ""))  # type: ignore[misc]
    async with scene.listening() as client:
        async with client.get("/readyz") as answer:
            assert answer.status == 503
            assert await answer.text() == "nats: not connected\nfeed: 3 partitions to read\n"
        reasons.clear()
        async with client.get("/readyz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")


async def test_metrics_are_served_as_prometheus_wants_them() -> None:
    scene = Scene()
    scene.registries[0].numbers(gauge("g", "G.")).at().set(2)
    async with scene.listening() as client:
        scene.registries.append(Registry("late"))
        scene.registries[1].numbers(gauge("g", "G.")).at().set(3)
        async with client.get("/metrics") as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert answer.headers["Content-Encoding"] in ("gzip", "deflate")
            assert sorted(samples(await answer.text()).values()) == [2, 3]


async def test_state_has_a_part_for_everyone() -> None:
    scene = Scene()
    scene.pages.state("janitor", "worker", lambda: {"dirty": 3, "token": "hunter2"})
    scene.pages.state("janitor", "ownership", lambda: {"owned": [1, 2]})
    scene.pages.state("watcher", "streams", lambda: None)
    scene.pages.page("settings", lambda: {"a": 1})
    async with scene.listening() as client:
        async with client.get("/debug/state") as answer:
            assert await answer.json() == {
                "janitor": {"worker": {"dirty": 3, "token": "***"}, "ownership": {"owned": [1, 2]}},
                "watcher": {"streams": None},
            }
        async with client.get("/debug/settings") as answer:
            assert await answer.json() == {"a": 1}
        async with client.get("/debug/nothing") as answer:
            assert (answer.status, await answer.text()) == (404, "no such page; there are settings, state\n")
        async with client.get("/") as answer:
            assert (await answer.text()).split() == [
                "/healthz",
                "/readyz",
                "/metrics",
                "/debug/settings",
                "/debug/state",
            ]


async def test_other_pages_can_have_parts_too() -> None:
    scene = Scene()
    scene.pages.part("objects", "janitor", "clusters", lambda: {"n/a": "1"})
    scene.pages.part("objects", "watcher", "watcher", dict)
    async with scene.listening() as client, client.get("/debug/objects") as answer:
        assert await answer.json() == {"janitor": {"clusters": {"n/a": "1"}}, "watcher": {"watcher": {}}}


async def test_a_taken_port_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(Misconfigured, match="another process listens there"):
            await Listener(address, Health(), registries=[], pages=Pages()).__aenter__()


@pytest.mark.parametrize(
    ("host", "complaint"),
    [
        pytest.param("192.0.2.1", "this machine has no such address", id="an address of another machine"),
        pytest.param("no.such.host.invalid", "cannot be resolved", id="no address at all"),
    ],
)
async def test_an_address_that_is_not_ours_is_told(host: str, complaint: str) -> None:
    with pytest.raises(Misconfigured, match=complaint):
        await Listener(Address(host, 0), Health(), registries=[], pages=Pages()).__aenter__()


async def test_the_port_is_free_after_the_end() -> None:
    async with Listener(LOOPBACK, Health(), registries=[], pages=Pages()) as listener:
        port = listener.port
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
