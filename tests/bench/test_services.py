"""RayServices: many at once beside KubeRay in the same run, what a running one costs, what hung ones cost others."""

import asyncio
import functools
import pathlib
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager

import msgspec
import pytest
import uvloop

from manta_common.api.meta import ObjectMeta
from manta_common.kinds import RAYSERVICE
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import Scope
from manta_common.kube.settings import KubeSettings
from tests.integration.service_world import ONE, TWO, ServiceWorld
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.parts.stub_serves import StubServes
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

SERVICES, HUNG, CHANGES = 100, 20, 20
IN_FLIGHT = 16
LIMIT_SECONDS = 600
QUIET_SECONDS = 10
CLOSING_SECONDS = 0.25  # TLS connections take their time to close, and an open one is a warning
PASSES = re.compile(r'^manta_passes_total\{[^}]*worker="serve-reconciler"[^}]*\} (\S+)$', re.MULTILINE)
WRITES = re.compile(
    r'^apiserver_request_total\{[^}]*resource="rayservices"[^}]*verb="(?:PATCH|PUT|POST|APPLY)"[^}]*\} (\S+)$',
    re.MULTILINE,
)
pytestmark = pytest.mark.timeout(1800)


class KubeRayWorld(ServiceWorld):
    """The same with KubeRay, which reaches dashboards and proxies by their names: the stub is its proxy for all."""

    def __init__(self, plane: ControlPlane, namespace: str, serves: str, folder: pathlib.Path) -> None:
        self.plane, self.namespace, self.port = plane, namespace, free_port()
        flags = ["--enable-leader-election=false", f"--watch-namespace={namespace}"]
        flags += [f"--metrics-addr=127.0.0.1:{self.port}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
        settings = {"KUBECONFIG": str(plane.kubeconfig), "HTTP_PROXY": f"http://{serves}"}
        command = [str(TOOLS["kuberay"].path), *flags]
        self.process = Process("kuberay", command, folder / "kuberay.log", environment=settings)
        self.process.start()


Start = Callable[[ControlPlane, str, str, pathlib.Path], ServiceWorld]
PEERS: dict[str, Start] = {"Manta": ServiceWorld, "KubeRay": KubeRayWorld}


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """Whether it serves."""

    service_status: str = ""


class Seen(msgspec.Struct, frozen=True):
    """As much of a RayService as is waited for."""

    metadata: ObjectMeta
    status: Status = Status()


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> None:
    """Our CRDs, which KubeRay works under too."""
    ensure([TOOLS["kuberay"]])
    crds.install(control_plane)


@contextmanager
def operated(start: Start, plane: ControlPlane, folder: pathlib.Path) -> Iterator[tuple[ServiceWorld, StubServes]]:
    """A namespace of its own with an operator that serves one RayService already; all is gone before the next."""
    serves = StubServes.start()
    with plane.fresh_namespace("bench-services") as namespace:
        world = start(plane, namespace, serves.address, folder)
        try:
            world.make("first")
            world.until("it serves", lambda: world.holds("first", "Ready"))
            yield world, serves
        finally:
            serves.hung.clear()
            plane.kubectl("delete", "rayservices", "--all", "--namespace", namespace, "--timeout=300s")
            wait_until("its pods are gone", lambda: not world.names("pods"), limit_seconds=LIMIT_SECONDS)
            world.end()
            serves.stop()


def create(world: ServiceWorld, stem: str, count: int) -> float:
    """So many RayServices at once; seconds until all of them serve."""
    wanted = {f"{stem}-{number}" for number in range(count)}

    async def main() -> float:
        settings = KubeSettings(service="bench", connections=IN_FLIGHT + 4)
        async with connect(settings, kubeconfig=str(world.plane.kubeconfig)) as kube:
            began = time.monotonic()
            async with asyncio.timeout(LIMIT_SECONDS):
                await _create(kube, world, wanted)
                await _until_served(kube, world.namespace, wanted)
            took = time.monotonic() - began
        await asyncio.sleep(CLOSING_SECONDS)
        return took

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def _create(kube: Client, world: ServiceWorld, wanted: set[str]) -> None:
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def one(name: str) -> None:
        async with turns:
            await kube.create(RAYSERVICE, world.namespace, world.manifest(name), msgspec.Raw)

    await asyncio.gather(*(one(name) for name in wanted))


async def _until_served(kube: Client, namespace: str, wanted: set[str]) -> None:
    """A watch costs the API server less than asking again and again."""
    scope = Scope(namespace=namespace)
    while True:
        listed = await kube.list(RAYSERVICE, Seen, scope)
        left = wanted - {one.metadata.name for one in listed.items if one.status.service_status == "Running"}
        async with aclosing(kube.watch(RAYSERVICE, Seen, scope, since=listed.version)) as changes:
            while left:
                change = await anext(changes, None)
                if change is None:
                    break
                if change.object and change.object.status.service_status == "Running":
                    left.discard(change.object.metadata.name)
        if not left:
            return


def writes(plane: ControlPlane) -> float:
    """How many writes of RayServices the API server has answered."""
    return sum(float(count) for count in WRITES.findall(plane.request("GET", "metrics")))


def passes(world: ServiceWorld) -> float:
    """How many passes RayServices have cost."""
    return sum(float(count) for count in PASSES.findall(world.metrics()))


def test_many_services_at_once(control_plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    seconds: dict[str, float] = {}
    for name, start in PEERS.items():
        with operated(start, control_plane, tmp_path) as (world, serves):
            before = writes(control_plane)
            seconds[name] = create(world, "s", SERVICES)
            made = (writes(control_plane) - before) / SERVICES
            print(f"\n{name}: {SERVICES} RayServices serve after {seconds[name]:.1f} s, {made:.2f} writes of each")
            assert all(len(each.told_at) >= 1 for each in serves.clusters.values())
            if name == "Manta":
                _costs_nothing(world, control_plane)
    print(f"Manta takes {seconds['Manta'] / seconds['KubeRay']:.0%} of KubeRay's time")


def _costs_nothing(world: ServiceWorld, plane: ControlPlane) -> None:
    """What all of them cost while nothing happens."""
    seen: list[tuple[float, float]] = []
    assert passes(world) > 0

    def is_calm() -> bool:
        time.sleep(QUIET_SECONDS)
        seen.append((passes(world), writes(plane)))
        return len(seen) > 1 and seen[-1] == seen[-2]

    wait_until("running services cost nothing", is_calm, limit_seconds=8 * QUIET_SECONDS)
    print(f"{QUIET_SECONDS} s of {SERVICES} running services: no pass and no write")


def test_a_changed_configuration_reaches_serve_at_once_and_hung_ones_delay_nobody(
    control_plane: ControlPlane, tmp_path: pathlib.Path
) -> None:
    with operated(ServiceWorld, control_plane, tmp_path) as (world, serves):
        alone = create(world, "alone", 1)
        calm = [_change(world, serves, "alone-0", number) for number in range(CHANGES)]
        create(world, "hung", HUNG)
        clusters = [world.active(f"hung-{number}") for number in range(HUNG)]
        heads = [_head_address(world, cluster) for cluster in clusters]
        serves.hung |= {*clusters[: HUNG // 2], *heads[HUNG // 2 :]}  # half of them dashboards, half proxies
        wait_until("they are noticed", lambda: all(serves.asked[name] for name in serves.hung), limit_seconds=60)
        among = create(world, "among", 1)
        busy = [_change(world, serves, "among-0", number) for number in range(CHANGES)]
    print(f"\na RayService alone: {alone:.2f} s, among {HUNG} hung ones: {among:.2f} s")
    for what, found in (("alone", calm), ("among hung ones", busy)):
        median, most = statistics.median(found), max(found)
        print(f"a changed serveConfigV2 reaches Serve {what}: {median:.3f} s, at most {most:.3f} s")
    assert max(calm + busy) < 1
    assert among <= 1.5 * alone


def _change(world: ServiceWorld, serves: StubServes, name: str, number: int) -> float:
    """Seconds from an edit to Serve."""
    text, cluster = (ONE, TWO)[number % 2 == 0], world.active(name)
    told = serves.of(cluster).told_at
    before, began = len(told), time.monotonic()
    world.change(name, serveConfigV2=text)
    wait_until("it is told", functools.partial(_is_longer, told, before), limit_seconds=60)
    return told[before] - began


def _is_longer(told: list[float], before: int) -> bool:
    return len(told) > before


def _head_address(world: ServiceWorld, cluster: str) -> str:
    path = f"{world.path('pods')}?labelSelector=ray.io/cluster={cluster},ray.io/node-type=head"
    return str(world.plane.request("GET", path)["items"][0]["status"]["podIP"])
