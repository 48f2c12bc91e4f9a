"""RayClusters: Manta beside KubeRay and beside bare pods, on the same control plane in the same run.

Manta's services are processes of their own, as in production. Each side has its own namespace, which is gone before
the next one begins. Parts: `pytest -s tests/bench/test_clusters.py -k paused`, `ready`, `many`, `bystander`, ...
"""

import asyncio
import functools
import pathlib
import secrets
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import pytest

from manta_common.kinds import POD, RAYCLUSTER
from tests.bench.cluster_api import Api, run, took
from tests.bench.cluster_raw import Script
from tests.bench.cluster_sides import RECONCILER, Manta, Side, kuberay, manta
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.process import wait_until
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

WORKERS, CLUSTERS, BYSTANDERS, RESTING, ROUNDS = 500, 100, 10, 1000, 3
CLEANING_SECONDS = 600  # thousands of pods that no node has taken go slowly
QUIET_SECONDS = 15  # events are repeated after ten, if at all
SETTLED_SECONDS = 7  # after which a service takes what is new for its own, without asking the API server
pytestmark = pytest.mark.timeout(900)
Start = Callable[[ControlPlane, str, pathlib.Path], AbstractContextManager[Side]]
PEERS: dict[str, Start] = {"KubeRay": kuberay, "Manta": manta}
T = TypeVar("T")


class Bench:
    """A control plane, and a namespace for what is measured next."""

    def __init__(self, plane: ControlPlane, folder: pathlib.Path) -> None:
        self.plane, self.folder = plane, folder
        self.namespace = f"bench-{secrets.token_hex(3)}"

    def run(self, steps: Callable[[Api], Coroutine[Any, Any, T]]) -> T:
        """Take some steps in the namespace."""
        return run(self.plane, self.namespace, steps)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Something in a fresh namespace, of which nothing is left."""
        self.namespace = f"bench-{secrets.token_hex(3)}"
        self.plane.request("POST", "api/v1/namespaces", {"metadata": {"name": self.namespace}})
        yield
        run(self.plane, self.namespace, lambda api: api.delete_namespace(), limit_seconds=CLEANING_SECONDS)

    @contextmanager
    def operated(self, start: Callable[..., AbstractContextManager[Side]]) -> Iterator[Any]:
        """The same with an operator that has shown that it works."""
        with self.apart(), start(self.plane, self.namespace, self.folder) as side:
            self.run(_first)
            yield side

    @contextmanager
    def nodes_paused(self) -> Iterator[None]:
        """Nobody schedules or runs a pod."""
        for process in (self.plane.scheduler, self.plane.kwok):
            process.pause()
        yield
        for process in (self.plane.scheduler, self.plane.kwok):
            process.resume()


@pytest.fixture(scope="module", autouse=True)
def warm(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Our CRDs, which KubeRay works under too; and some pods, for whoever comes first would wait for a cold server."""
    ensure([TOOLS["kuberay"]])
    crds.install(control_plane)
    bench = Bench(control_plane, tmp_path_factory.mktemp("warm"))
    with bench.apart():
        bench.run(lambda api: took(api.create_raw(WORKERS), api.until_running(WORKERS)))


@pytest.fixture
def bench(control_plane: ControlPlane, tmp_path: pathlib.Path) -> Bench:
    return Bench(control_plane, tmp_path)


async def _first(api: Api) -> None:
    await api.create("first", workers=0)
    await api.until_ready(["first"])
    await asyncio.sleep(SETTLED_SECONDS)


def test_creates_with_nodes_paused(bench: Bench) -> None:
    """By the medians of some rounds: each takes a second or less."""
    seconds: dict[str, list[float]] = {"raw": [], **{name: [] for name in PEERS}}
    for _ in range(ROUNDS):
        with bench.apart(), bench.nodes_paused():
            seconds["raw"].append(bench.run(lambda api: took(api.create_raw(WORKERS))))
        for name, start in PEERS.items():
            with bench.operated(start), bench.nodes_paused():
                seconds[name].append(
                    bench.run(lambda api: took(api.create("large", workers=WORKERS), api.until_pods(WORKERS + 2)))
                )
    rates = {name: WORKERS / statistics.median(each) for name, each in seconds.items()}
    print("\npods created per second, nodes paused:", shown(rates), "seconds in each round:", seconds)
    assert rates["Manta"] > 0.6 * rates["raw"]
    assert rates["Manta"] > 1.5 * rates["KubeRay"]


def test_a_large_cluster_until_ready(bench: Bench) -> None:
    rates = {}
    with bench.apart():
        rates["raw"] = WORKERS / bench.run(lambda api: took(api.create_raw(WORKERS), api.until_running(WORKERS)))
    for name, start in PEERS.items():
        with bench.operated(start):
            rates[name] = WORKERS / bench.run(
                lambda api: took(api.create("large", workers=WORKERS), api.until_ready(["large"]))
            )
    print("\npods ready per second:", shown(rates))
    assert rates["Manta"] > 0.75 * rates["raw"]


def test_many_clusters_until_ready(bench: Bench) -> None:
    """Bare pods tell how long the nodes take; a script that makes the same objects, how long all of it takes at least:
    no operator can be faster."""
    seconds, cpu, names = dict[str, float](), dict[str, float](), [f"c{number}" for number in range(CLUSTERS)]
    with bench.apart():
        pods = 4 * CLUSTERS
        seconds["raw"] = bench.run(lambda api: took(api.create_raw(pods), api.until_running(pods)))
    with bench.apart():
        seconds["script"] = bench.run(lambda api: took(Script(api.kube, api.namespace, 3).run(names)))
    for name, start in PEERS.items():
        with bench.operated(start) as side:
            before = side.cpu_seconds()
            seconds[name] = bench.run(lambda api: took(api.create_many(names, workers=3), api.until_ready(names)))
            cpu[name] = side.cpu_seconds() - before
    print(f"\nseconds until {CLUSTERS} clusters of 4 pods are ready:", shown(seconds), "CPU seconds:", shown(cpu))
    assert cpu["Manta"] < 3 * cpu["KubeRay"]
    # On two cores the script alone takes more than half of KubeRay's time: what comes on top of it is compared.
    assert seconds["Manta"] - seconds["script"] < 0.6 * (seconds["KubeRay"] - seconds["script"])


def test_a_bystander_does_not_wait_for_a_large_cluster(bench: Bench) -> None:
    """By the medians of some rounds: when ten pods run depends on what the scheduler and the nodes do just then."""
    found: dict[str, list[tuple[float, float]]] = {"raw": [], **{name: [] for name in PEERS}}
    for _ in range(ROUNDS):
        with bench.apart():
            found["raw"].append(bench.run(_raw_bystander))
        for name, start in PEERS.items():
            with bench.operated(start):
                found[name].append(bench.run(_bystander))
    created = {name: statistics.median(one for one, _ in each) for name, each in found.items()}
    running = {name: statistics.median(one for _, one in each) for name, each in found.items()}
    print(f"\nseconds until a bystander's {BYSTANDERS} pods are created:", shown(created), "and run:", shown(running))
    print("in each round:", {name: [f"{one:.1f}, {other:.1f}" for one, other in each] for name, each in found.items()})
    # A head follows its Service, workers follow the head: where a bare pod alone waits for long, so does each of them.
    assert created["Manta"] < max(1, 1.5 * created["raw"])
    assert running["Manta"] < 1.2 * running["raw"]


async def _raw_bystander(api: Api) -> tuple[float, float]:
    large = asyncio.create_task(api.create_raw(WORKERS))
    await asyncio.sleep(2)
    began = time.monotonic()
    await api.create_raw(BYSTANDERS, stem="small")
    created = time.monotonic() - began
    await api.until_running(BYSTANDERS, cluster="small")
    ran = time.monotonic() - began
    await large
    return created, ran


async def _bystander(api: Api) -> tuple[float, float]:
    await api.create("large", workers=WORKERS)
    await asyncio.sleep(2)
    began = time.monotonic()
    await api.create("small", workers=BYSTANDERS - 1)
    await api.until_pods(BYSTANDERS, cluster="small")
    created = time.monotonic() - began
    await api.until_running(BYSTANDERS, cluster="small")
    return created, time.monotonic() - began


def test_writes_for_a_cluster_of_four(bench: Bench) -> None:
    """Why three events: docs/adr/0009-events-of-a-cluster.md."""
    with bench.operated(manta) as side:
        before = side.calls(f"{RECONCILER}-0")
        bench.run(lambda api: took(api.create("four", workers=3), api.until_ready(["four"])))
        time.sleep(QUIET_SECONDS)
        told = added(before, side.calls(f"{RECONCILER}-0"))
    print("\ncalls until a cluster of 4 pods is ready:", told)
    assert told.pop("create pod") == 4
    assert told.pop("create service") == 1
    assert told.pop("patch raycluster") <= 2
    assert told.pop("create event") <= 3
    assert not told, "nothing is read, and nothing else is written"


def test_a_thousand_clusters_at_rest(bench: Bench) -> None:
    """Of 9 pods each, so that there are 10,000 objects to keep in mind."""
    names, seconds = [f"c{number}" for number in range(RESTING)], 20
    with bench.operated(manta) as side, bench.nodes_paused():
        bench.run(lambda api: took(api.create_many(names, workers=8), api.until_pods(9 * RESTING + 1)))
        services = ["watcher", f"{RECONCILER}-0"]
        until_quiet(lambda: [side.calls(service) for service in services])
        calls, before = [side.calls(service) for service in services], side.shares()
        time.sleep(seconds)
        after = side.shares()
        asked = [added(was, side.calls(service)) for service, was in zip(services, calls, strict=True)]
        cpu, mib = {name: (after[name] - before[name]) / seconds for name in after}, side.mib()
    print(f"\n{RESTING} clusters, {9 * RESTING} pods at rest: calls", asked, "shares of a core:", percents(cpu))
    print("most memory in MiB:", shown(mib))
    assert asked == [{}, {}]
    assert all(share < 0.02 for share in cpu.values())
    assert all(amount < 300 for amount in mib.values())


def test_two_replicas_share_the_work(bench: Bench) -> None:
    names = [f"c{number}" for number in range(CLUSTERS)]
    with bench.operated(functools.partial(manta, replicas=2)) as side:
        before = passes(side, 2)
        bench.run(lambda api: took(api.create_many(names, workers=3), api.until_ready(names)))
        done = [now - was for now, was in zip(passes(side, 2), before, strict=True)]
    shares = [one / sum(done) for one in done]
    print("\nshares of two replicas:", ", ".join(f"{share:.0%}" for share in shares))
    assert all(0.35 < share < 0.65 for share in shares)


def test_three_replicas_survive_the_loss_of_one_while_clusters_grow(bench: Bench) -> None:
    names = [f"c{number}" for number in range(CLUSTERS // 4)]

    async def scale(api: Api, lose: Callable[[], None]) -> tuple[int, int]:
        creating = asyncio.create_task(api.create_many(names, workers=9))
        await api.until_pods(60, at_least=True)
        lose()
        await creating
        await api.until_ready(names)
        return await api.count(POD), await api.count(RAYCLUSTER)

    with bench.operated(functools.partial(manta, replicas=3)) as side:
        pods, clusters = bench.run(lambda api: scale(api, side.processes[f"{RECONCILER}-1"].kill))
    assert pods == 10 * len(names) + 1
    assert clusters == len(names) + 1


def until_quiet(count: Callable[[], object]) -> None:
    """Wait until nothing was counted for a while: the last status and the last event are written."""
    seen = [count()]

    def is_quiet() -> bool:
        time.sleep(QUIET_SECONDS)
        seen.append(count())
        return seen[-1] == seen[-2]

    wait_until("nothing is written any more", is_quiet, limit_seconds=180)


def passes(side: Manta, replicas: int) -> list[float]:
    """How many passes each replica has done."""
    return [sum(side.passes(f"{RECONCILER}-{number}").values()) for number in range(replicas)]


def added(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What there is more of."""
    return {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}


def shown(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:.1f}" for name, number in numbers.items())


def percents(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:.2%}" for name, number in numbers.items())
