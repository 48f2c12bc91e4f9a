"""A service as a real process: settings, readiness, signals, drain, exit codes, metrics and traces."""

import http.server
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.parts.patience import patient
from tests.parts.ports import free_ports
from tests.parts.process import POLL_SECONDS, Process, wait_until

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.integration.toy_service"]
LIMIT_SECONDS = 30
PROMPT_SECONDS = 20
EXPORT_SECONDS = 600  # as long as OpenTelemetry tries to reach a collector


class Toy(Process):
    """The toy service with what it logs and serves."""

    def __init__(self, folder: pathlib.Path, **settings: str) -> None:
        mine = {
            "MANTA_HTTP_ADDRESS": "127.0.0.1:0",
            "MANTA_WATCHER_FOLDER": str(folder),
            "PYTHONPATH": str(ROOT),
            **settings,
        }
        super().__init__("toy", COMMAND, folder / "log", environment=mine)
        self.folder = folder

    def up(self) -> "Toy":
        """Start it and wait until its main function runs."""
        self.start()
        self.wait_until("it is up", lambda: "service is up" in self.messages(), limit_seconds=LIMIT_SECONDS)
        return self

    def signalled(self, number: signal.Signals) -> "Toy":
        """Send it a signal."""
        os.kill(self.pid, number)
        return self

    def lines(self) -> list[dict[str, Any]]:
        """What it logged as JSON; the line that is being written does not count."""
        whole = (line for line in self.log.read_text().splitlines(keepends=True) if line.endswith("}\n"))
        return [msgspec.json.decode(line) for line in whole if line.startswith("{")]

    def messages(self) -> list[str]:
        """The messages of its log."""
        return [line["message"] for line in self.lines()]

    def get(self, path: str) -> tuple[int, str]:
        """What it serves."""
        port = next(line["port"] for line in self.lines() if "port" in line)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=patient(PROMPT_SECONDS)) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ends(self, *, within_seconds: float = LIMIT_SECONDS) -> int | None:
        """Its exit code."""
        return self.exit_code(within_seconds=within_seconds)


class Make(Protocol):
    """Makes toys that are killed in the end."""

    def __call__(self, behaviour: str = "good", **settings: str) -> Toy:
        """One that behaves like this."""


@pytest.fixture
def toy(tmp_path: pathlib.Path) -> Iterator[Make]:
    made: list[Toy] = []

    def make(behaviour: str = "good", **settings: str) -> Toy:
        made.append(Toy(tmp_path, MANTA_WATCHER_BEHAVIOUR=behaviour, **settings))
        return made[-1]

    yield make
    for each in made:
        each.kill()


def command(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=patient(LIMIT_SECONDS),
        check=False,
    )


def test_help_tells_the_settings_the_signals_and_the_exit_codes() -> None:
    done = command("--help")
    assert done.returncode == 0
    for word in ("--config FILE", "MANTA_PARTITIONS [partitions] = 32", "MANTA_WATCHER_BEHAVIOUR", "SIGTERM", "78"):
        assert word in done.stdout


def test_the_version_is_told() -> None:
    assert command("--version").stdout.startswith("manta-watcher 0.")


def test_a_wrong_command_line_is_told_with_code_2() -> None:
    done = command("--confg", "x")
    assert done.returncode == 2
    assert "--confg" in done.stderr


def test_wrong_settings_are_told_all_at_once_with_code_78(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "manta.yaml"
    file.write_text("partitions: 0\n")
    done = command("--config", str(file), MANTA_LOG_LEVEL="loud", MANTA_NATS_URL="hunter2")
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        "manta-watcher: MANTA_NATS_URL is no setting of Manta; did you mean MANTA_NATS_URLS?",
        f"manta-watcher: {file}: partitions is '0'; expected a whole number from 1 to 1024",
        "manta-watcher: MANTA_LOG_LEVEL is 'loud'; expected one of debug, error, info, warning",
    ]


def test_what_main_finds_wrong_is_told_without_a_stack(toy: Make) -> None:
    service = toy("misconfigured")
    service.start()
    assert service.ends() == 78
    assert service.tail().splitlines()[-2:] == ["manta-watcher: one thing", "manta-watcher: another thing"]
    assert "Traceback" not in service.log.read_text()


def test_a_taken_port_is_told_with_code_78(toy: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service = toy(MANTA_HTTP_ADDRESS=f"127.0.0.1:{port}")
        service.start()
        assert service.ends() == 78
    assert f"MANTA_HTTP_ADDRESS is '127.0.0.1:{port}'; another process listens there" in service.tail()
    assert "Traceback" not in service.log.read_text()


def test_a_service_is_ready_only_when_it_has_what_it_needs(toy: Make) -> None:
    service = toy().up()
    assert service.get("/healthz") == (200, "ok\n")
    assert service.get("/readyz") == (503, "watcher: file: not there yet\n")
    (service.folder / "ready").touch()
    assert service.get("/readyz") == (200, "ok\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_lets_it_drain_and_end_with_code_0(toy: Make, number: signal.Signals) -> None:
    service = toy().up()
    (service.folder / "ready").touch()
    service.signalled(number)
    service.wait_until("it stops", lambda: "service stops" in service.messages(), limit_seconds=LIMIT_SECONDS)
    assert service.get("/readyz") == (503, "watcher: stopping\n")
    assert service.get("/metrics")[0] == 200
    (service.folder / "drained").touch()
    assert service.ends() == 0
    assert service.messages() == ["service starts", "service is up", "service stops", "service ends"]


def test_a_second_signal_ends_it_at_once(toy: Make) -> None:
    service = toy().up().signalled(signal.SIGTERM)
    service.wait_until("it stops", lambda: "service stops" in service.messages(), limit_seconds=LIMIT_SECONDS)
    assert service.signalled(signal.SIGTERM).ends(within_seconds=PROMPT_SECONDS) == 128 + signal.SIGTERM


def test_a_further_signal_ends_even_one_whose_loop_is_blocked(toy: Make) -> None:
    service = toy("blocked").up()

    # Of two signals in quick succession the second may go to a thread that cannot wake the blocked one.
    def ended() -> bool:
        return service.signalled(signal.SIGTERM).exit_code(within_seconds=POLL_SECONDS) is not None

    wait_until("it ends", ended, limit_seconds=PROMPT_SECONDS)
    assert service.ends() == 128 + signal.SIGTERM


def test_what_does_not_drain_in_time_is_cancelled_with_code_1(toy: Make) -> None:
    service = toy("deaf", MANTA_DRAIN_LIMIT="200ms").up().signalled(signal.SIGTERM)
    assert service.ends(within_seconds=PROMPT_SECONDS) == 1
    assert "service did not stop in time" in service.messages()


@pytest.mark.parametrize("behaviour", ["stubborn", "blocked"])
def test_what_cannot_be_cancelled_ends_soon_after_and_shows_where_it_was(toy: Make, behaviour: str) -> None:
    service = toy(behaviour, MANTA_DRAIN_LIMIT="0s").up().signalled(signal.SIGTERM)
    assert service.ends(within_seconds=2 * PROMPT_SECONDS) == 1
    assert "most recent call first" in service.log.read_text()


def test_a_crash_is_logged_with_its_stack_and_code_1(toy: Make) -> None:
    service = toy("broken")
    service.start()
    assert service.ends() == 1
    last = service.lines()[-1]
    assert (last["level"], last["message"]) == ("critical", "service crashed")
    assert "ZeroDivisionError: a bug with Bearer ***" in last["stack"]


def test_metrics_are_read_by_prometheus_and_zeroed(toy: Make) -> None:
    service = toy().up()
    status, text = service.get("/metrics")
    assert status == 200
    found = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert found["process_resident_memory_bytes"][0].value > 1e6
    assert found["manta_build_info"][0].labels["component"] == "watcher"
    assert "manta_event_loop_delay_seconds" in found


def test_state_and_settings_are_shown_and_uvloop_runs(toy: Make) -> None:
    service = toy(MANTA_NATS_URLS="nats://me:hunter2@nats", MANTA_PARTITIONS="8").up()
    assert msgspec.json.decode(service.get("/debug/state")[1]) == {"watcher": {"loop": "uvloop"}}
    shown = msgspec.json.decode(service.get("/debug/settings")[1])
    assert shown["partitions"] == "8"
    assert "hunter2" not in str(shown) + service.log.read_text()
    assert service.lines()[0]["settings"]["nats_urls"] == "nats://***@nats"


class Collector(http.server.ThreadingHTTPServer):
    """Takes OTLP over HTTP."""

    def __init__(self) -> None:
        self.taken: list[ExportTraceServiceRequest] = []
        super().__init__(("127.0.0.1", 0), _Taker)


class _Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  the library's name
        """Nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        yield made
        made.shutdown()
        serving.join()


def test_traces_are_sent_to_the_collector_that_the_standard_variable_names(toy: Make, collector: Collector) -> None:
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    service = toy(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint).up()
    (service.folder / "drained").touch()
    assert service.signalled(signal.SIGTERM).ends() == 0
    resources = [resource for request in collector.taken for resource in request.resource_spans]
    names = {item.key: item.value.string_value for resource in resources for item in resource.resource.attributes}
    assert names["service.name"] == "manta-watcher"
    spans = {span.name: span for resource in resources for scope in resource.scope_spans for span in scope.spans}
    assert spans["publish"].parent_span_id == spans["watch"].span_id
    assert spans["pass"].parent_span_id == spans["publish"].span_id
    assert len({span.trace_id for span in spans.values()}) == 1
    up = next(line for line in service.lines() if line["message"] == "service is up")
    assert up["trace_id"] == spans["pass"].trace_id.hex()


def test_a_collector_that_is_not_there_does_not_hold_up_the_end(toy: Make) -> None:
    endpoint = f"http://127.0.0.1:{free_ports(1)[0]}"
    service = toy(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_TIMEOUT=str(EXPORT_SECONDS)).up()
    (service.folder / "drained").touch()
    assert service.signalled(signal.SIGTERM).ends(within_seconds=PROMPT_SECONDS) == 0
