"""The watcher: memory with many pods, and how fast a change passes on."""

import asyncio
import pathlib
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import uvloop

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.kinds import POD, RAYCLUSTER, Kind
from manta_common.kube.client import connect
from manta_common.kube.protocol import EVERYTHING, Change, Listing, Scope
from manta_common.kube.settings import KubeSettings
from manta_watcher.session import Session, Task
from tests.parts.control_plane import ControlPlane
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.parts.process import Process

PODS, CLUSTERS, IN_FLIGHT = 40_000, 100, 32
CHANGES_PER_SECOND, SECONDS = 2_000, 10
MEMORY = "/dev/shm"
T = TypeVar("T")


def pod(number: int) -> dict[str, Any]:
    """A pod that nobody schedules, of the size that Ray's pods have."""
    labels = {"ray.io/cluster": f"c{number % CLUSTERS}", "ray.io/node-type": "worker", "ray.io/group": "g"}
    env = [{"name": f"RAY_VARIABLE_{index}", "value": "x" * 60} for index in range(40)]
    container = {"name": "ray", "image": "example/ray:1", "env": env}
    spec = {"schedulerName": "nobody", "containers": [container]}
    metadata = {"name": f"pod-{number}", "namespace": "bench", "labels": labels, "uid": f"u{number}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def cluster(number: int) -> dict[str, Any]:
    head = {"template": {"spec": {"containers": [{"name": "ray", "image": "example/ray:1"}]}}}
    metadata = {"name": f"c{number}", "namespace": "bench", "uid": f"c{number}"}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": metadata,
        "spec": {"headGroupSpec": head},
    }


def run(main: Callable[[], Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def create_all(kubeconfig: pathlib.Path, namespace: str) -> float:
    """Create the pods, so many in flight; how many a second."""
    room = asyncio.Semaphore(IN_FLIGHT)
    async with connect(KubeSettings(), kubeconfig=str(kubeconfig)) as kube:

        async def create(kind: Kind, body: dict[str, Any]) -> None:
            del body["metadata"]["uid"], body["metadata"]["namespace"]
            async with room:
                await kube.create(kind, namespace, body, msgspec.Raw)

        await asyncio.gather(*(create(RAYCLUSTER, cluster(number)) for number in range(CLUSTERS)))
        started = time.monotonic()
        for first in range(0, PODS, 1000):
            await asyncio.gather(*(create(POD, pod(first + number)) for number in range(1000)))
        return PODS / (time.monotonic() - started)


async def until_published(url: str, wanted: int) -> None:
    async with open_bus(BusSettings(urls=(url,))) as bus:

        async def enough() -> bool | None:
            return (await bus.state()).messages >= wanted or None

        await eventually(f"{wanted} messages are in the stream", enough, limit_seconds=300)


def peak_mib(process: Process) -> float:
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def test_forty_thousand_pods_fit(
    control_plane: ControlPlane, ray_crds: None, namespace: str, own_nats: Nats, tmp_path: pathlib.Path
) -> None:
    rate = run(lambda: create_all(control_plane.kubeconfig, namespace))
    command = [sys.executable, "-m", "tests.bench.watcher_process"]
    process = Process(
        "watcher", [*command, str(control_plane.kubeconfig), own_nats.url, namespace], tmp_path / "watcher.log"
    )
    started = time.monotonic()
    process.start()
    try:
        run(lambda: until_published(own_nats.url, PODS + CLUSTERS))
        took, peak = time.monotonic() - started, peak_mib(process)
    finally:
        process.kill()
    print(f"\nwatcher: {PODS} pods created at {rate:.0f}/s, listed and published in {took:.1f} s, peak {peak:.0f} MiB")
    assert peak < 400


class Source:
    """A source of changes at a given rate, in place of an API server, which could not make so many here."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}

    async def pages(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> AsyncGenerator[Listing[T], None]:
        bodies: list[dict[str, Any]] = []
        if kind == RAYCLUSTER:
            bodies = [cluster(number) for number in range(CLUSTERS)]
        for body in bodies:
            body["metadata"]["resourceVersion"] = "1"
        items = tuple(msgspec.Raw(msgspec.json.encode(body)) for body in bodies)
        yield Listing(items, "1")  # type: ignore[arg-type]

    async def watch(
        self, kind: Kind, into: type[T], scope: Scope = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Change[T], None]:
        if kind != POD or "job-name" in scope.labels:
            await asyncio.Event().wait()
        began = time.monotonic()
        for number in range(CHANGES_PER_SECOND * SECONDS):
            version = str(number + 2)
            body = pod(number % 4000)
            body["metadata"]["resourceVersion"] = version
            raw = msgspec.Raw(msgspec.json.encode(body))
            early = began + number / CHANGES_PER_SECOND - time.monotonic()
            if early > 0:
                await asyncio.sleep(early)
            self.sent[version] = time.monotonic()
            yield Change("MODIFIED", version, raw)  # type: ignore[arg-type]
        await asyncio.Event().wait()


@asynccontextmanager
async def session(url: str, source: Source) -> AsyncIterator[None]:
    async with open_bus(BusSettings(urls=(url,))) as bus:
        task = asyncio.create_task(Session(source, bus, Task()).run())  # type: ignore[arg-type]
        yield
        task.cancel()
        await asyncio.wait([task])


async def measure(url: str) -> list[float]:
    """How long each change takes from the watch's line to a reader of the stream."""
    source, took = Source(), list[float]()
    last = str(CHANGES_PER_SECOND * SECONDS + 1)
    pattern = ["manta.v1.state.*.*.pod.>"]
    async with (
        open_bus(BusSettings(urls=(url,))) as bus,
        session(url, source),
        asyncio.timeout(120),
        bus.replay(pattern) as batches,
    ):
        async for batch in batches:
            for message in batch.messages:
                version = msgspec.json.decode(message.body)["version"]
                took.append(time.monotonic() - source.sent[version])
                if version == last:
                    return took
    return took


def percentiles(folder: pathlib.Path) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds, with a NATS that keeps its data in this folder."""
    nats = Nats.start_program(folder)
    try:
        took = sorted(run(lambda: measure(nats.url)))
    finally:
        nats.stop()
    return 1000 * took[len(took) // 2], 1000 * took[int(0.99 * len(took))]


def test_two_thousand_changes_a_second_pass_on(tmp_path: pathlib.Path) -> None:
    """NATS syncs every message, so a slow disk is the limit; what is asserted is what Manta adds to that."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        in_memory = percentiles(pathlib.Path(folder))
    on_disk = percentiles(tmp_path)
    print(
        f"\nwatcher: {CHANGES_PER_SECOND} changes/s seen by a reader, p50 and p99 in ms:"
        f" NATS in memory {in_memory[0]:.1f}, {in_memory[1]:.1f}; on this disk {on_disk[0]:.1f}, {on_disk[1]:.1f}"
    )
    assert in_memory[1] < 250
