"""Thousands of RayJobs that fall due in the same second, between two rounds of bare deletes of the same objects.

All three are watched alike, by the watcher, the janitor, the garbage collector and this bench, and pay for that alike.
Before the storm some fall due one after another, to see how late they go when nothing is in their way.
"""

import asyncio
import contextlib
import functools
import os
import pathlib
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
import pytest
import uvloop

from manta_common.kinds import RAYJOB
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import Scope
from manta_common.kube.settings import KubeSettings
from manta_janitor.jobs import AHEAD
from tests.bench.storm_jobs import IN_FLIGHT, Ended, before_their_time, bystander, gone, made, percentile
from tests.bench.storm_raw import Order, Target
from tests.bench.storm_world import Measured, Round, World, counted, ended_seconds, is_ready, is_waiting
from tests.integration.clusters import MANTA
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until

JOBS = int(os.environ.get("BENCH_JOBS", "5000"))  # that fall due in the same second
RAW = JOBS * 3 // 10  # in each of both rounds
LATER, LATER_SECONDS = JOBS // 50, 3  # so many more in each of the seconds after, while those before are still there
CALM, CALM_SECONDS = 100, 10  # so many before, in so many seconds
PAUSE_SECONDS = 2  # between those and the storm
LIMIT_SECONDS = 300
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def world(control_plane: ControlPlane, own_nats: Nats, tmp_path: pathlib.Path) -> Iterator[World]:
    """A watcher and a janitor, each in a process of its own."""
    crds.install(control_plane)
    with control_plane.fresh_namespace("storm") as namespace, contextlib.ExitStack() as stack:
        environment = {
            "MANTA_KUBECONFIG": str(control_plane.kubeconfig),
            "MANTA_NATS_URLS": own_nats.url,
            "MANTA_WATCH_NAMESPACES": namespace,
        }
        services = dict[str, Process]()
        for name in ("watcher", "janitor"):
            port = free_port()
            variables = environment | {"MANTA_HTTP_ADDRESS": f"127.0.0.1:{port}"}
            process = Process(name, [MANTA, "run", name], tmp_path / f"{name}.log", environment=variables)
            process.start()
            stack.callback(process.kill)
            process.wait_until("it is ready", functools.partial(is_ready, port), limit_seconds=60)
            services[name] = process
        yield World(plane=control_plane, namespace=namespace, folder=tmp_path, services=services, port=port)


def test_thousands_that_fall_due_at_once(world: World) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(measured(world))
    before, storm, after = found.before, found.storm, found.after
    calm, late = found.late(found.calm), found.late(storm)
    overtaken = before_their_time([found.due[went.name] for went in storm.went])
    read = counted(world.port, "manta_api_calls_total", verb="get", kind="rayjob")
    print(f"\n{before.told('bare before')}\n{storm.told('janitor')}\n{after.told('bare after')}")
    print(f"the janitor's rate is {storm.rate / found.bare:.0%} of that of bare deletes; {read:.0f} jobs were read")
    print(f"late in calm: half {percentile(calm, 50):.2f} s, p99 {percentile(calm, 99):.2f} s")
    print(
        f"in the storm: the first {late[0]:.2f} s, half {percentile(late, 50):.2f} s, p99 {percentile(late, 99):.2f} s"
    )
    print(f"at most {overtaken} that were due before were still there when one went")
    assert min([*calm, *late]) >= -1  # the server's clock is known to a second here
    assert percentile(calm, 99) <= 1
    assert read <= CALM + JOBS / 50
    assert overtaken <= 2 * AHEAD * IN_FLIGHT
    assert percentile(storm.waits, 99) <= 2 * percentile([*before.waits, *after.waits], 99) + 0.05
    assert storm.rate >= 0.8 * found.bare


async def measured(world: World) -> Measured:
    """Bare deletes, deletions in calm, the storm, and bare deletes."""
    kubeconfig, settings = str(world.plane.kubeconfig), KubeSettings(service="bench")
    async with (
        asyncio.timeout(3 * LIMIT_SECONDS),
        connect(settings, kubeconfig=kubeconfig) as kube,
        connect(settings, kubeconfig=kubeconfig) as other,
    ):
        await kube.server_version()
        began_at = kube.now()
        never = (began_at + timedelta(days=1)).replace(microsecond=0)
        bare = await made(kube, world.namespace, [Ended(f"bare-{number:05}", never) for number in range(2 * RAW)])
        calm_at, due_at = times(began_at, kube.now())
        calm, due = calm_jobs(calm_at), due_jobs(due_at)
        await made(kube, world.namespace, [*calm, *due])
        assert kube.now() < calm_at, "the machine is too slow for this bench"
        waiting = functools.partial(is_waiting, world.port, len(bare) + len(calm) + len(due))
        await asyncio.to_thread(wait_until, "the janitor waits", waiting, limit_seconds=LIMIT_SECONDS)
        before = await deleted_bare(world, kube, other, bare[:RAW])
        assert kube.now() < calm_at, "the machine is too slow for this bench"
        quiet = await deleted_when_due(world, kube, other, calm)
        assert kube.now() < due_at, "the machine is too slow for this bench"
        storm = await deleted_when_due(world, kube, other, due)
        zero = time.monotonic() - kube.now().timestamp()
        after = await deleted_bare(world, kube, other, bare[RAW:])
    moments = {job.name: zero + job.due_at.timestamp() for job in (*calm, *due)}
    return Measured(before=before, calm=quiet, storm=storm, after=after, due=moments)


def times(began_at: datetime, now: datetime) -> tuple[datetime, datetime]:
    """When calm and storm begin: after their jobs are made, as others were since a time, and after the first round."""
    seconds = (now - began_at).total_seconds() * 1.5 * JOBS / (2 * RAW) + RAW / 50 + 5
    calm_at = (now + timedelta(seconds=seconds)).replace(microsecond=0)
    return calm_at, calm_at + timedelta(seconds=CALM_SECONDS + PAUSE_SECONDS)


def calm_jobs(first_at: datetime) -> list[Ended]:
    """Some in each second."""
    due = [first_at + timedelta(seconds=number * CALM_SECONDS // CALM) for number in range(CALM)]
    return [Ended(f"calm-{number:05}", due_at) for number, due_at in enumerate(due)]


def due_jobs(due_at: datetime) -> list[Ended]:
    """Most at one time, some in each of the seconds after; those are made among the others."""
    jobs = [Ended(f"due-{number:05}", due_at) for number in range(JOBS)]
    for number in range(LATER * LATER_SECONDS):
        job = Ended(f"later-{number:05}", due_at + timedelta(seconds=1 + number % LATER_SECONDS))
        jobs.insert(number * len(jobs) // (LATER * LATER_SECONDS), job)
    return jobs


async def deleted_bare(world: World, kube: Client, other: Client, targets: Sequence[Target]) -> Round:
    """Delete objects with nothing else to do."""
    order = Order(
        kubeconfig=str(world.plane.kubeconfig), namespace=world.namespace, in_flight=IN_FLIGHT, targets=targets
    )
    file = world.folder / "order.json"
    file.write_bytes(msgspec.json.encode(order))
    command = [sys.executable, "-m", "tests.bench.storm_raw", str(file)]
    process = Process("bare", command, world.folder / "bare.log")
    async with watched(world, kube, other, [target.name for target in targets]) as going:
        process.start()
        found = await going
    before = ended_seconds()
    assert process.exit_code(within_seconds=30) == 0, process.tail()
    return msgspec.structs.replace(found, cpu={**found.cpu, "bare": ended_seconds() - before})


async def deleted_when_due(world: World, kube: Client, other: Client, jobs: Sequence[Ended]) -> Round:
    """See objects go."""
    async with watched(world, kube, other, [job.name for job in jobs]) as going:
        return await going


@contextlib.asynccontextmanager
async def watched(
    world: World, kube: Client, other: Client, names: Sequence[str]
) -> AsyncIterator["asyncio.Task[Round]"]:
    """How objects go, as soon as all of them are gone."""
    since = (await kube.list_versions(RAYJOB, Scope(namespace=world.namespace, fields="metadata.name=none"))).version

    async def going() -> Round:
        before = world.cpu()
        async with bystander(other, world.namespace) as calls:
            went = await gone(kube, world.namespace, names, since=since)
        return Round(went=went, calls=calls, cpu={who: now - before[who] for who, now in world.cpu().items()})

    async with asyncio.TaskGroup() as group:
        yield group.create_task(going())
