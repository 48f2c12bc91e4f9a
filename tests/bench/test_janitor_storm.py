"""Thousands of RayJobs that fall due in the same second, beside bare deletes of the same objects in the same run."""

import asyncio
import contextlib
import functools
import os
import pathlib
import statistics
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
import pytest
import uvloop
from prometheus_client.parser import text_string_to_metric_families

from manta_common.api.meta import ObjectMeta
from manta_common.errors import AlreadyExists
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, RAYJOB
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from manta_janitor.decide import announcement
from manta_janitor.observed import CONDITION
from manta_janitor.policies.endings import Deletion
from tests.examples import manifests
from tests.integration.clusters import MANTA
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.ports import free_port
from tests.parts.process import Process

JOBS = int(os.environ.get("BENCH_JOBS", "5000"))
RAW = max(100, JOBS // 5)
IN_FLIGHT = 32  # deletions at once, the janitor's default too
TTL_SECONDS = 3600
READ = ("get", "rayjob")
PAUSE_SECONDS = 0.05  # between two calls of the bystander
T = TypeVar("T")
pytestmark = pytest.mark.timeout(900)


class Named(msgspec.Struct, frozen=True):
    """An object's metadata."""

    metadata: ObjectMeta


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    crds.install(control_plane)
    with control_plane.fresh_namespace("storm") as name:
        yield name


@pytest.fixture
def services(control_plane: ControlPlane, namespace: str, own_nats: Nats, tmp_path: pathlib.Path) -> Iterator[int]:
    """A watcher and a janitor, each in a process of its own; the port of the latter."""
    environment = {
        "MANTA_KUBECONFIG": str(control_plane.kubeconfig),
        "MANTA_NATS_URLS": own_nats.url,
        "MANTA_WATCH_NAMESPACES": namespace,
    }
    with contextlib.ExitStack() as stack:
        for name in ("watcher", "janitor"):
            port = free_port()
            variables = environment | {"MANTA_HTTP_ADDRESS": f"127.0.0.1:{port}"}
            process = Process(name, [MANTA, "run", name], tmp_path / f"{name}.log", environment=variables)
            process.start()
            stack.callback(process.kill)
            process.wait_until("it is ready", functools.partial(is_ready, port), limit_seconds=60)
        yield port


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            return True
    except OSError:
        return False


def reads(port: int) -> int:
    """How often a service has read an object from the API server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = [sample for family in families for sample in family.samples if sample.name == "manta_api_calls_total"]
    return int(sum(sample.value for sample in samples if (sample.labels["verb"], sample.labels["kind"]) == READ))


def test_thousands_that_fall_due_at_once(control_plane: ControlPlane, services: int, namespace: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        raw, storm = runner.run(measured(str(control_plane.kubeconfig), namespace))
    share = storm.rate / raw.rate
    print(f"\nbare deletes: {raw.rate:.0f}/s of {RAW}; the janitor's: {storm.rate:.0f}/s of {JOBS}, {share:.0%}")
    print(f"the first went {storm.first_late_seconds:.2f} s after its time, {reads(services)} were read before")
    print(f"others' calls: {raw.bystander * 1000:.0f} ms beside bare deletes, {storm.bystander * 1000:.0f} ms (p99)")
    assert reads(services) <= JOBS / 10  # those whose deletion came before the server's clock was known well enough
    assert share >= 0.8
    assert storm.bystander <= 2 * raw.bystander + 0.05


class Measured(msgspec.Struct, frozen=True):
    """How fast objects went, and how long somebody else's calls took meanwhile (p99)."""

    rate: float
    bystander: float
    first_late_seconds: float = 0.0


async def measured(kubeconfig: str, namespace: str) -> tuple[Measured, Measured]:
    settings = KubeSettings(service="bench")
    async with connect(settings, kubeconfig=kubeconfig) as kube, connect(settings, kubeconfig=kubeconfig) as other:
        await kube.server_version()
        started = time.monotonic()
        never = kube.now() + timedelta(days=1)
        raw = await made(kube, namespace, [f"raw-{number:05}" for number in range(RAW)], never)
        seconds = 1.5 * (time.monotonic() - started) * JOBS / RAW + 5  # until all are made
        bare = await deleted_bare(kube, other, namespace, raw)
        due_at = (kube.now() + timedelta(seconds=seconds)).replace(microsecond=0)
        await made(kube, namespace, [f"due-{number:05}" for number in range(JOBS)], due_at)
        assert kube.now() < due_at - timedelta(seconds=2), "the machine is too slow for this bench"
        return bare, await deleted_when_due(kube, other, namespace, due_at)


async def made(kube: Client, namespace: str, names: Sequence[str], due_at: datetime) -> list[ObjectMeta]:
    """RayJobs that have ended and are deleted at a time, as they have announced."""
    rule = {"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": TTL_SECONDS}}
    ended_at = due_at - timedelta(seconds=TTL_SECONDS)
    said = announcement(Deletion(due_at.replace(microsecond=0), "DeleteSelf", "deletionRules[0]"))
    condition: dict[str, object] = {"type": CONDITION, "status": said.status, "reason": said.reason}
    condition |= {"message": said.message, "observedGeneration": 1}
    stamp = f"{ended_at:%Y-%m-%dT%H:%M:%SZ}"
    status: dict[str, object] = {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "endTime": stamp}
    status["conditions"] = [condition | {"lastTransitionTime": stamp}]

    async def make(name: str) -> ObjectMeta:
        body = manifests.job({"deletionStrategy": {"deletionRules": [rule]}}, name=name)
        await kube.create(RAYJOB, namespace, body, Named)
        key, patch = Key(namespace, name), MergePatch({"status": status})
        return (await kube.patch(RAYJOB, key, patch, Named, subresource="status")).metadata

    return await bounded([functools.partial(make, name) for name in names])


async def deleted_bare(kube: Client, other: Client, namespace: str, raw: Sequence[ObjectMeta]) -> Measured:
    """Delete objects with nothing else to do."""
    deletions = [functools.partial(kube.delete, RAYJOB, Key(namespace, meta.name), uid=meta.uid) for meta in raw]
    since = await version_of(kube, namespace, len(raw))
    async with bystander(other, namespace) as waits, asyncio.TaskGroup() as group:
        seen = group.create_task(gone(other, namespace, len(raw), since=since))
        await bounded(deletions)
    return measured_by(seen.result(), waits)


async def deleted_when_due(kube: Client, other: Client, namespace: str, due_at: datetime) -> Measured:
    """Watch objects go."""
    since = await version_of(kube, namespace, JOBS)
    async with bystander(other, namespace) as waits:
        due = time.monotonic() + (due_at - kube.now()).total_seconds()
        seen = await gone(other, namespace, JOBS, since=since)
    assert seen[0] >= due - 1  # the server's clock is known to a second
    return measured_by(seen, waits, seen[0] - due)


async def version_of(kube: Client, namespace: str, count: int) -> str:
    """The version of a list that has all objects."""
    listing = await kube.list_versions(RAYJOB, Scope(namespace=namespace))
    assert len(listing.items) == count
    return listing.version


async def gone(kube: Client, namespace: str, count: int, *, since: str) -> list[float]:
    """When each of all objects went, as a watch shows it."""
    seen, version = list[float](), since
    while len(seen) < count:
        async with contextlib.aclosing(
            kube.watch(RAYJOB, msgspec.Raw, Scope(namespace=namespace), since=version)
        ) as changes:
            async for change in changes:
                version = change.version
                if change.type == "DELETED":
                    seen.append(time.monotonic())
                    if len(seen) == count:
                        break
    return seen


def measured_by(seen: Sequence[float], waits: Sequence[float], late_seconds: float = 0.0) -> Measured:
    """The rate from the first to the last; of the bystander's calls, those of that time."""
    during = waits[-max(1, int((seen[-1] - seen[0]) / PAUSE_SECONDS)) :]
    return Measured((len(seen) - 1) / (seen[-1] - seen[0]), p99(during), late_seconds)


@contextlib.asynccontextmanager
async def bystander(kube: Client, namespace: str) -> AsyncIterator[list[float]]:
    """Somebody who reads and writes now and then; how long that takes."""
    waits, number = list[float](), 0
    key = Key(namespace, "bystander")

    async def go_on() -> None:
        nonlocal number
        while True:
            started = time.monotonic()
            number += 1
            await kube.patch(CONFIGMAP, key, MergePatch({"data": {"number": str(number)}}), msgspec.Raw)
            await kube.get(CONFIGMAP, key, msgspec.Raw)
            waits.append(time.monotonic() - started)
            await asyncio.sleep(PAUSE_SECONDS)

    with contextlib.suppress(AlreadyExists):
        await kube.create(CONFIGMAP, namespace, {"metadata": {"name": key.name}}, msgspec.Raw)
    task = asyncio.create_task(go_on())
    try:
        yield waits
    finally:
        task.cancel()
        await asyncio.wait([task])


def p99(waits: Sequence[float]) -> float:
    return statistics.quantiles(waits, n=100)[-1] if len(waits) > 1 else 0.0


async def bounded(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Make calls, so many at a time."""
    room = asyncio.Semaphore(IN_FLIGHT)

    async def call(one: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await one()

    return await asyncio.gather(*(call(one) for one in calls))
