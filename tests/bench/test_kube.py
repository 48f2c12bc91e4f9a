"""What our client costs over a bare aiohttp loop: creates from one process with 16 in flight, side by side."""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import uvloop
from yarl import URL

from manta_common.api.meta import ObjectMeta
from manta_common.kinds import CONFIGMAP
from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings
from tests.parts.cluster import Cluster

ROUNDS, IN_FLIGHT, EACH = 16, 16, 48  # 1,536 objects and a warm-up
TEXT = {f"key-{number}": "value " * 10 for number in range(16)}  # about 1 kB
Create = Callable[[str], Awaitable[object]]


class Created(msgspec.Struct):
    """What a reconciler reads of the answer."""

    metadata: ObjectMeta


class Figures(msgspec.Struct):
    """One round of one way: creates in a second, and our processor time for each."""

    rate: float
    cpu_ms: float


async def measured(create: Create, stem: str) -> Figures:
    """Create objects with so many in flight."""
    names = iter([f"{stem}-{number}" for number in range(EACH)])

    async def work() -> None:
        for name in names:
            await create(name)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Figures(EACH / wall, cpu * 1000 / EACH)


@asynccontextmanager
async def bare(cluster: Cluster, namespace: str) -> AsyncIterator[Create]:
    """A loop that does nothing but send bytes made beforehand and read the answer's."""
    url = URL(f"{cluster.server}/api/v1/namespaces/{namespace}/configmaps", encoded=True)
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    headers["Accept-Encoding"] = "identity"
    body = msgspec.json.encode(manifest("@"))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=64, ssl=cluster.tls),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:

        async def create(name: str) -> None:
            async with session.post(url, data=body.replace(b"@", name.encode(), 1), headers=headers) as answer:
                assert answer.status == 201
                await answer.read()

        yield create


def through(client: Client, namespace: str) -> Create:
    """Our client as a reconciler uses it: encode, send, decode."""

    async def create(name: str) -> None:
        made = await client.create(CONFIGMAP, namespace, manifest(name), Created)
        assert made.metadata.uid

    return create


def manifest(name: str) -> dict[str, object]:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": TEXT}


async def compare(cluster: Cluster, namespace: str) -> tuple[list[Figures], list[Figures]]:
    """Rounds of both ways in turn, so that what else runs on the machine strikes both alike."""
    ours: list[Figures] = []
    raw: list[Figures] = []
    async with (
        connect(KubeSettings(service="bench"), kubeconfig=str(cluster.kubeconfig)) as client,
        bare(cluster, namespace) as create_raw,
    ):
        create_ours = through(client, namespace)
        await measured(create_raw, "warm-raw")
        await measured(create_ours, "warm-ours")
        for number in range(ROUNDS):
            ways = [(raw, create_raw, "raw"), (ours, create_ours, "ours")]
            for figures, create, stem in ways if number % 2 else reversed(ways):
                figures.append(await measured(create, f"{stem}-{number}"))
    return ours, raw


def test_creates_cost_little_more_than_a_bare_loop(kubernetes: Cluster, namespace: str) -> None:
    ours, raw = uvloop.run(compare(kubernetes, namespace))
    ratio = statistics.median(mine.rate / bare.rate for mine, bare in zip(ours, raw, strict=True))
    cpu_ms, raw_cpu_ms = (statistics.median(figures.cpu_ms for figures in way) for way in (ours, raw))
    sys.stdout.write(
        f"\nkube: creates with {IN_FLIGHT} in flight: ours {statistics.median(f.rate for f in ours):.0f}/s, "
        f"bare aiohttp {statistics.median(f.rate for f in raw):.0f}/s, ratio {ratio:.2f} (at least 0.90)\n"
        f"kube: our processor time for each create {cpu_ms:.2f} ms (at most 1.50), bare aiohttp {raw_cpu_ms:.2f} ms\n"
    )
    assert ratio >= 0.9
    assert cpu_ms <= 1.5
