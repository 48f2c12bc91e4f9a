"""The gateway: what it takes to follow many clusters, how soon a job's end is told, and what bad dashboards cost."""

import asyncio
import itertools
import os
import pathlib
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.protocol import Bus
from manta_common.bus.settings import BusSettings
from manta_common.dashboard.reports import JOB_INFO
from tests.parts.eventually import eventually
from tests.parts.gateway_world import World, ago
from tests.parts.nats import Nats
from tests.parts.ports import free_ports
from tests.parts.process import Process
from tests.parts.stub_fleet import Fleet

CLUSTERS, JOBS, ENDS, BAD = 1000, 500, 200, 100
INTERVAL_SECONDS, MEASURED_SECONDS = 3.0, 30.0
LIMIT_SECONDS = 120.0
MEMORY_BYTES, CPU_SHARE = 150 * 2**20, 0.30


def run(work: Coroutine[Any, Any, None]) -> None:
    """On a fast loop, so that the dashboards are not what is measured."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


@pytest.fixture
def gateway(own_nats: Nats, tmp_path: pathlib.Path) -> Iterator[Process]:
    """A gateway as a process of its own."""
    command = [sys.executable, "-m", "tests.bench.gateway_process", own_nats.url]
    process = Process("gateway", command, tmp_path / "log")
    process.start()
    yield process
    process.stop()


class Ends:
    """When the end of each job was told on the bus."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.told_at: dict[str, float] = {}

    async def follow(self, bus: Bus) -> None:
        async with bus.replay([JOB_INFO.filter()]) as batches:
            async for batch in batches:
                for message in batch.messages:
                    state = JOB_INFO.decode(message.body)
                    if state.object and state.object.status:
                        self.seen.add(state.key.name)
                    if state.object and state.object.is_terminal:
                        self.told_at.setdefault(state.key.name, time.monotonic())

    async def all_seen(self, count: int) -> None:
        async def find() -> bool | None:
            return True if len(self.seen) >= count else None

        await eventually(f"{count} jobs are seen", find, limit_seconds=LIMIT_SECONDS)

    async def measured(self, fleet: Fleet, names: list[str]) -> list[float]:
        """End jobs one by one within five intervals; how long it took until each end was told."""
        ended_at: dict[str, float] = {}
        for name in names:
            await asyncio.sleep(random.uniform(0, 2) * 5 * INTERVAL_SECONDS / len(names))
            fleet.ended.add(name)
            ended_at[name] = time.monotonic()

        async def all_told() -> bool | None:
            return True if ended_at.keys() <= self.told_at.keys() else None

        await eventually("all ends are told", all_told, limit_seconds=LIMIT_SECONDS)
        return [self.told_at[name] - ended_at[name] for name in names]


@asynccontextmanager
async def measuring(nats: Nats) -> AsyncIterator[tuple[World, Fleet, Ends]]:
    async with open_bus(BusSettings(urls=(nats.url,))) as bus, Fleet() as fleet:
        ends = Ends()
        following = asyncio.ensure_future(ends.follow(bus))
        yield World(bus), fleet, ends
        following.cancel()
        await asyncio.wait([following])


async def follow(world: World, prefix: str, url: str, count: int) -> list[str]:
    """Clusters with a job each that has run for a while."""
    names = [f"{prefix}-{number}" for number in range(count)]
    for name in names:
        await world.cluster(name, url)
        await world.job(name, name, start_time=ago(3600))
    return names


def test_a_thousand_clusters(own_nats: Nats, gateway: Process) -> None:
    run(thousand_clusters(own_nats, gateway.pid))


async def thousand_clusters(own_nats: Nats, pid: int) -> None:
    async with measuring(own_nats) as (world, fleet, ends):
        names = await follow(world, "ray", fleet.healthy, CLUSTERS)
        await ends.all_seen(CLUSTERS)
        cpu_before, began = _cpu_seconds(pid), time.monotonic()
        fleet.asked.clear()
        await asyncio.sleep(MEASURED_SECONDS)
        share = (_cpu_seconds(pid) - cpu_before) / (time.monotonic() - began)
        memory = _memory_bytes(pid)
        longest = max(_longest_gap(began, times, time.monotonic()) for times in fleet.asked.values())
        requests = sum(map(len, fleet.asked.values())) / MEASURED_SECONDS
        took = await ends.measured(fleet, random.sample(names, ENDS))
        p95 = _p95(took)
        print(
            f"\ngateway: {CLUSTERS} clusters: {requests:.0f} requests/s, {share:.0%} of a core, "
            f"{memory / 2**20:.0f} MiB, {fleet.connections} connections, longest gap {longest:.2f} s; "
            f"a job's end is told after {statistics.median(took):.2f} s (median), {p95:.2f} s (p95)"
        )
        assert len(fleet.asked) == CLUSTERS
        assert longest <= 2 * INTERVAL_SECONDS
        assert memory < MEMORY_BYTES
        assert share < CPU_SHARE
        assert p95 <= INTERVAL_SECONDS + 0.1


def test_five_hundred_jobs_of_one_cluster_are_one_request(own_nats: Nats, gateway: Process) -> None:
    run(one_cluster(own_nats))


async def one_cluster(own_nats: Nats) -> None:
    async with measuring(own_nats) as (world, fleet, ends):
        names = [f"job-{number}" for number in range(JOBS)]
        fleet.jobs["ray-head-svc"] = names
        await world.cluster("ray", fleet.healthy)
        for name in names:
            await world.job(name, "ray", start_time=ago(3600))
        await ends.all_seen(JOBS)
        fleet.asked.clear()
        await asyncio.sleep(MEASURED_SECONDS / 2)
        intervals = MEASURED_SECONDS / 2 / INTERVAL_SECONDS
        requests = len(fleet.asked["ray-head-svc"]) / intervals
        took = await ends.measured(fleet, random.sample(names, 50))
        print(f"\ngateway: {JOBS} jobs of a cluster: {requests:.2f} requests per interval; p95 {_p95(took):.2f} s")
        assert requests < 1.5
        assert _p95(took) <= INTERVAL_SECONDS + 0.1


def test_bad_dashboards_cost_their_own_clusters_only(own_nats: Nats, gateway: Process) -> None:
    run(bad_dashboards(own_nats))


async def bad_dashboards(own_nats: Nats) -> None:
    async with measuring(own_nats) as (world, fleet, ends):
        names = await follow(world, "ray", fleet.healthy, 2 * ENDS)
        await ends.all_seen(2 * ENDS)
        alone = await ends.measured(fleet, names[:ENDS])
        [closed] = free_ports(1)
        for kind, url in {"hung": fleet.hung, "shut": f"http://127.0.0.1:{closed}", "drip": fleet.dripping}.items():
            await follow(world, kind, url, BAD)
        among = await ends.measured(fleet, names[ENDS:])
        print(
            f"\ngateway: a healthy job's end, alone: {statistics.mean(alone):.2f} s (mean), {_p95(alone):.2f} s (p95); "
            f"among {3 * BAD} bad dashboards: {statistics.mean(among):.2f} s, {_p95(among):.2f} s"
        )
        assert statistics.mean(among) < 1.2 * statistics.mean(alone)
        assert _p95(among) < 1.2 * _p95(alone)


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _longest_gap(began: float, times: list[float], ended: float) -> float:
    moments = [began, *times, ended]
    return max(later - earlier for earlier, later in itertools.pairwise(moments))


def _cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_bytes(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
