"""What telemetry costs: a counter, a histogram, a span that nobody asked for, a log line, a scrape."""

import io
import logging
import sys
import time
import timeit
from collections.abc import Callable

import prometheus_client
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NoOpTracer

from manta_common.telemetry import names
from manta_common.telemetry.definitions import Label, gauge
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.logs import JsonLines
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.passes import Passes
from manta_common.telemetry.stamps import stamp
from manta_common.telemetry.tracing import Tracing, current_tracing

ROUNDS, CALLS = 7, 20_000
MICROSECOND = 1e-6


def cost(name: str, call: Callable[[], object], *, calls: int = CALLS) -> float:
    """Seconds for one call, in the best of several rounds (the others shared the machine); printed."""
    best = min(timeit.repeat(call, number=calls, repeat=ROUNDS)) / calls
    sys.stdout.write(f"  {name:55} {best / MICROSECOND:10.3f} µs\n")
    return best


@pytest.fixture(autouse=True)
def _title(request: pytest.FixtureRequest) -> None:
    sys.stdout.write(f"\n{request.node.name.removeprefix('test_').replace('_', ' ')}\n")


def test_a_counter_beside_others() -> None:
    family = Registry("bench").numbers(names.PASSES)
    kept = cost("Manta: add to a series that was kept", family.at("w", "done").add)
    found = cost("Manta: find the series by its labels, and add", lambda: family.at("w", "done").add())
    counter = prometheus_client.Counter("bench", "Bench.", ["w", "outcome"], registry=None)
    cost("prometheus_client: add to a series that was kept", counter.labels("w", "done").inc)
    cost("prometheus_client: find the series, and add", lambda: counter.labels("w", "done").inc())
    meter = MeterProvider(metric_readers=[InMemoryMetricReader()], shutdown_on_exit=False).get_meter("bench")
    theirs, labels = meter.create_counter("bench"), {"w": "w", "outcome": "done"}
    cost("opentelemetry-sdk: add with labels", lambda: theirs.add(1, labels))
    assert kept < MICROSECOND
    assert found < MICROSECOND


def test_a_histogram_beside_others() -> None:
    spread = Registry("bench").distributions(names.PASS_SECONDS).at("w")
    ours = cost("Manta: observe", lambda: spread.observe(0.3))
    theirs = prometheus_client.Histogram("bench", "Bench.", registry=None)
    cost("prometheus_client: observe", lambda: theirs.observe(0.3))
    assert ours < 2 * MICROSECOND


def test_a_span_beside_others() -> None:
    off = Tracing()
    ours = cost("Manta: a span that nobody asked for", lambda: _span(off))
    headers = cost("Manta: headers of no span", off.headers)
    noop = NoOpTracer()
    cost("opentelemetry-api: a no-op span", lambda: _noop(noop))
    on = Tracing(TracerProvider(shutdown_on_exit=False).get_tracer("bench"))
    cost("Manta: a recorded span, not exported", lambda: _span(on), calls=2000)
    assert ours < MICROSECOND
    assert headers < MICROSECOND


def test_a_message_with_traces_off_and_on() -> None:
    off, on = Tracing(), Tracing(TracerProvider(shutdown_on_exit=False).get_tracer("bench"))
    passes: Passes[str] = Passes(Registry("bench"), off, worker="w")
    plain = cost("Manta: note when something was seen", lambda: f"{time.time():.3f}")
    stamped = cost("Manta: the headers of a message, traces off", lambda: stamp(off))
    read = stamp(off)
    caused = cost("Manta: the cause of a pass, traces off", lambda: passes.caused("key", read))
    asked = cost("Manta: ask whether actions are traced, traces off", current_tracing)
    with on.span("watch"):
        cost("Manta: the headers of a message, traces on", lambda: stamp(on), calls=2000)
    assert list(read) == [names.SEEN_HEADER]
    assert stamped - plain < MICROSECOND
    assert caused < MICROSECOND
    assert asked < 2 * MICROSECOND


def test_a_log_line() -> None:
    record = logging.getLogger("a").makeRecord(
        "a", logging.INFO, "f", 1, "pod created", (), None, extra={"key": "default/a", "partition": 3}
    )
    lines, out = JsonLines("bench"), io.StringIO()
    cost("Manta: a JSON line", lambda: out.write(lines.format(record)), calls=2000)


def test_a_scrape_of_ten_thousand_series() -> None:
    registry = Registry("bench")
    info = gauge("bench_info", "Bench.", Label("name"), Label("namespace"), Label("uid"))
    series = [((f"cluster-{n}", "default", f"uid-{n}"), 1) for n in range(10_000)]
    registry.numbers(info).read_all(lambda: series)
    took = cost("Manta: ten thousand series read and written as text", lambda: exposition([registry]), calls=1)
    assert took < 0.5


def _noop(tracer: NoOpTracer) -> None:
    with tracer.start_as_current_span("a"):
        pass


def _span(tracing: Tracing) -> None:
    with tracing.span("a"):
        pass
