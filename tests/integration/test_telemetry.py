"""One trace from the watch to the write, and numbers on `/metrics` for everything between, on real parts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest
from opentelemetry.sdk.trace import ReadableSpan

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.config import Address, Config
from manta_common.kinds import CONFIGMAP
from manta_common.parts import Parts
from manta_common.plane import Plane
from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Listener, Pages
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.tracing import Tracing
from manta_common.telemetry.usage import sample_loop_delay
from manta_common.wiring import connections, run_plane
from manta_watcher.main import watch
from manta_watcher.session import Task
from manta_watcher.watched import Watched
from tests.integration.toy_process import parent
from tests.integration.toy_reconciler import OWNER, TOY, Part, Toy, ToyService
from tests.parts.control_plane import ControlPlane
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.unit.manta_common.telemetry.parse import Sample, samples
from tests.unit.manta_common.telemetry.spans import Kept, context

LIMIT_SECONDS = 40
WATCHER, TOYS = "watcher", "toy-reconciler"


class System:
    """A watcher of toys and the toys' reconciler in one process, as the runner of services would run them."""

    def __init__(self, plane: ControlPlane, nats: Nats, namespace: str, tracing: Tracing) -> None:
        self.plane, self.namespace = plane, namespace
        self._config = Config(
            nats_urls=(nats.url,), kubeconfig=str(plane.kubeconfig), http_address=Address("127.0.0.1", 0)
        )
        self._registries, health, pages = list[Registry](), Health(), Pages()
        self.watcher = Parts(WATCHER, tracing, registries=self._registries, health=health, pages=pages)
        self.toys = self.watcher.beside(TOYS)
        self._listener = Listener(self._config.http_address, health, registries=self._registries, pages=pages)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run both until the end of the block."""
        async with self._listener, asyncio.TaskGroup() as group:
            sampling = group.create_task(sample_loop_delay(self.watcher.metrics))
            group.create_task(self._watch())
            group.create_task(self._reconcile())
            await self.until("everything is owned and read", self._is_settled)
            yield
            self.watcher.stopping.set()
            sampling.cancel()

    def make(self, name: str, count: int) -> None:
        """A toy that wants so many parts."""
        body = {"apiVersion": "example.test/v1", "kind": "Toy", "metadata": {"name": name}, "spec": {"count": count}}
        self.plane.request("POST", f"apis/example.test/v1/namespaces/{self.namespace}/toys", body)

    def reported(self, name: str) -> int:
        """What a toy says of itself."""
        toy = self.plane.request("GET", f"apis/example.test/v1/namespaces/{self.namespace}/toys/{name}")
        return int(toy.get("status", {}).get("count", -1))

    async def scraped(self) -> dict[Sample, float]:
        """What `/metrics` says; each component has one worker, so that label is left out."""
        url = f"http://127.0.0.1:{self._listener.port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            found = samples(await answer.text())
        return {
            (name, tuple(label for label in labels if label[0] != "worker")): value
            for (name, labels), value in found.items()
        }

    async def until(self, what: str, check: Callable[[dict[Sample, float]], bool]) -> dict[Sample, float]:
        """Wait until the metrics show something; the metrics."""

        async def look() -> dict[Sample, float] | None:
            found = await self.scraped()
            return found if check(found) else None

        return await eventually(what, look, limit_seconds=LIMIT_SECONDS)

    def _is_settled(self, found: dict[Sample, float]) -> bool:
        whole = number(found, WATCHER, "manta_watcher_whole", missing=0) == 1
        return whole and number(found, TOYS, "manta_feed_partitions", state="ready", missing=0) == 32

    async def _watch(self) -> None:
        async with connections(self._config, self.watcher) as found:
            watched = (Watched(TOY, Toy), Watched(CONFIGMAP, Part, (OWNER,)))
            await watch(found, self.watcher, Task(watched=watched, namespaces=(self.namespace,), parent=parent))

    async def _reconcile(self) -> None:
        async with connections(self._config, self.toys) as found:
            service = ToyService(found.kube, TOYS)
            service.plane = Plane(found.means, service)
            await run_plane(self.toys, service.plane)


def number(
    found: dict[Sample, float], component: str, name: str, *, missing: float | None = None, **labels: str
) -> float:
    """One number of one component; KeyError when it is not there, unless something else is to be said then."""
    place = (name, tuple(sorted({"component": component, **labels}.items())))
    return found[place] if missing is None else found.get(place, missing)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def start(control_plane: ControlPlane, toy_crd: None, own_nats: Nats, namespace: str) -> Callable[[Tracing], System]:
    return lambda tracing: System(control_plane, own_nats, namespace, tracing)


async def test_one_trace_shows_watch_publish_pass_and_write(start: Callable[[Tracing], System], kept: Kept) -> None:
    system = start(kept.tracing)
    async with system.running():
        system.make("bear", 2)
        await eventually("it has its parts", lambda: _reports(system, "bear", 2), limit_seconds=LIMIT_SECONDS)
    spans = {context(span).span_id: span for span in kept.all}
    created = [span for span in kept.all if span.name == "action Create"]
    assert len(created) == 2
    for span in created:
        line = _line(span, spans)
        assert [one.name for one in line] == ["watch", "publish", "pass", "action Create"]
        assert len({context(one).trace_id for one in line}) == 1
        assert (line[0].attributes or {})["manta.kind"] == "toy"
        assert str((line[1].attributes or {})["manta.subject"]).endswith(f".toy.{system.namespace}.bear")
        assert (line[2].attributes or {})["manta.key"] == f"{system.namespace}/bear"
    reports = [_line(span, spans) for span in kept.all if span.name == "action Report"]
    assert reports
    assert all(line[0].name == "watch" for line in reports)


async def test_without_traces_messages_carry_the_time_only(start: Callable[[Tracing], System], own_nats: Nats) -> None:
    system = start(Tracing())
    async with system.running(), open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        system.make("bear", 1)
        await eventually("it has its parts", lambda: _reports(system, "bear", 1), limit_seconds=LIMIT_SECONDS)
        async with bus.replay(["manta.v1.state.>"]) as batches:
            async for batch in batches:
                headers = [set(message.headers) for message in batch.messages]
                assert headers
                assert all(names == {"Manta-Seen"} for names in headers)
                break


async def test_metrics_tell_what_the_watcher_and_a_service_do(start: Callable[[Tracing], System]) -> None:
    system = start(Tracing())
    async with system.running():
        system.make("bear", 2)
        await eventually("it has its parts", lambda: _reports(system, "bear", 2), limit_seconds=LIMIT_SECONDS)
        found = await system.until("all writes came back", _is_quiet)
    _check_watcher(found)
    _check_ownership(found)
    _check_feed(found)
    _check_passes(found)


def _is_quiet(found: dict[Sample, float]) -> bool:
    """The toy, its status and its two parts were read, and nobody waits."""
    waits = number(found, TOYS, "manta_fence_wait_seconds_count")
    return waits >= 3 and number(found, TOYS, "manta_fence_held_keys") == 0


def _check_watcher(found: dict[Sample, float]) -> None:
    assert number(found, WATCHER, "manta_watcher_active") == 1
    assert number(found, WATCHER, "manta_watcher_sessions_total") >= 1
    assert number(found, WATCHER, "manta_watcher_objects") == 3
    assert number(found, WATCHER, "manta_watcher_changes_total") >= 4
    number(found, WATCHER, "manta_watcher_listed_objects_total")  # it is there; how many depends on who was first
    for nothing in ("unreadable_total", "withheld_objects", "waiting_messages"):
        assert number(found, WATCHER, f"manta_watcher_{nothing}") == 0
    published = number(found, WATCHER, "manta_bus_publishes_total", outcome="ok")
    assert published >= 4
    assert number(found, WATCHER, "manta_bus_publish_seconds_count") == published
    assert number(found, WATCHER, "manta_bus_publishes_total", outcome="conflict") == 0
    assert number(found, WATCHER, "manta_bus_connected") == 1
    for verb in ("list", "watch"):
        assert number(found, WATCHER, "manta_api_calls_total", verb=verb, kind="toy", outcome="ok") >= 1
        assert number(found, WATCHER, "manta_api_call_seconds_count", verb=verb) >= 2
    assert number(found, WATCHER, "manta_event_loop_delay_seconds_count") >= 1


def _check_ownership(found: dict[Sample, float]) -> None:
    for component, partitions in ((WATCHER, 1), (TOYS, 32)):
        assert number(found, component, "manta_partitions_owned") == partitions
        assert number(found, component, "manta_partitions_moved_total", move="claimed") >= partitions
        assert number(found, component, "manta_partitions_moved_total", move="taken_over") == 0
        assert number(found, component, "manta_members") == 1
    assert number(found, TOYS, "manta_partitions_drained_late_total") == 0


def _check_feed(found: dict[Sample, float]) -> None:
    assert number(found, TOYS, "manta_feed_messages_total", kind="toy") >= 2
    assert number(found, TOYS, "manta_feed_messages_total", kind="configmap") >= 2
    assert number(found, TOYS, "manta_feed_poison_total", kind="toy") == 0
    assert number(found, TOYS, "manta_feed_replays_total") >= 32
    lags = number(found, TOYS, "manta_feed_lag_seconds_count")
    assert lags >= 4
    assert 0 < number(found, TOYS, "manta_feed_lag_seconds_sum") / lags < patient(5)
    assert number(found, TOYS, "manta_fence_verifications_total", cause="taken_over") >= 1
    assert number(found, TOYS, "manta_fence_verifications_total", cause="overdue") == 0
    assert 0 < number(found, TOYS, "manta_fence_wait_seconds_sum") < patient(30)


def _check_passes(found: dict[Sample, float]) -> None:
    done = number(found, TOYS, "manta_passes_total", outcome="done")
    assert done >= 1
    assert number(found, TOYS, "manta_passes_total", outcome="crashed") == 0
    assert number(found, TOYS, "manta_pass_seconds_count") >= done
    assert number(found, TOYS, "manta_pass_wait_seconds_count") >= done
    assert number(found, TOYS, "manta_queue_depth") <= 1
    assert number(found, TOYS, "manta_api_calls_total", verb="create", kind="configmap", outcome="ok") == 2
    assert number(found, TOYS, "manta_api_calls_total", verb="patch", kind="toy", outcome="ok") >= 1


def _line(span: ReadableSpan, spans: dict[int, ReadableSpan]) -> list[ReadableSpan]:
    """A span and all above it, the topmost first."""
    above = spans.get(span.parent.span_id) if span.parent else None
    return [*(_line(above, spans) if above else ()), span]


async def _reports(system: System, name: str, count: int) -> bool | None:
    return system.reported(name) == count or None
