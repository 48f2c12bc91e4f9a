"""Log lines: the same values as JSON and as text."""

import io
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from manta_common.config import Config
from manta_common.telemetry.logs import JsonLines, TextLines, configure_logging, log_values
from tests.unit.manta_common.telemetry.spans import Kept, context


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def record(message: str, *arguments: object, error: BaseException | None = None, **extra: object) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    return logging.getLogger("a.b").makeRecord(
        "a.b", logging.WARNING, "file.py", 1, message, arguments, info, extra=extra
    )


def line(made: logging.LogRecord) -> dict[str, Any]:
    text = JsonLines("watcher").format(made)
    assert "\n" not in text
    return msgspec.json.decode(text, type=dict[str, Any])


def test_a_line_has_time_level_message_logger_service_and_values() -> None:
    found = line(record("pod created", key="a/b", partition=3))
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "warning",
        "message": "pod created",
        "logger": "a.b",
        "service": "watcher",
        "key": "a/b",
        "partition": 3,
    }


def test_values_of_the_block_are_on_its_lines_only() -> None:
    with log_values(key="a/b"), log_values(partition=3):
        assert line(record("x"))["key"] == "a/b"
        assert line(record("x", key="c"))["key"] == "c"
        assert line(record("x"))["partition"] == 3
    assert "key" not in line(record("x"))


def test_services_of_one_process_are_told_apart() -> None:
    with log_values(service="janitor"):
        assert line(record("x"))["service"] == "janitor"
        assert " janitor: x" in TextLines("all").format(record("x"))
    assert line(record("x"))["service"] == "watcher"


def test_a_line_in_a_span_names_it() -> None:
    kept = Kept()
    with kept.tracing.span("a"):
        found = line(record("x"))
    there = context(kept.spans["a"])
    assert (found["trace_id"], found["span_id"]) == (f"{there.trace_id:032x}", f"{there.span_id:016x}")


def test_an_error_brings_its_stack() -> None:
    found = line(record("x", error=ValueError("no to Bearer hunter2")))
    assert "ValueError: no to Bearer ***" in found["stack"]


def test_secrets_are_not_logged() -> None:
    made = record("to %s", "nats://me:hunter2@nats", token="hunter2", headers={"Authorization": "hunter2"})
    for text in (JsonLines("x").format(made), TextLines("x").format(made)):
        assert "hunter2" not in text


def test_values_that_are_called_like_ours_are_kept_apart() -> None:
    found = line(record("x", level="high", service="ray"))
    assert (found["level"], found["level_"], found["service_"]) == ("warning", "high", "ray")


def test_anything_can_be_logged() -> None:
    found = line(record("half \ud800", value={1, 2}, what=object, number=float("inf"), blob=b"\xff"))
    assert found["value"] == [1, 2]
    assert found["number"] is None


def test_a_person_gets_a_line_and_the_stack_below_it() -> None:
    text = TextLines("watcher").format(record("pod created", key="a/b", error=ValueError("no")))
    first, *rest = text.splitlines()
    assert first[12:] == " warning watcher: pod created key=a/b"
    assert rest[-1] == "ValueError: no"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before = logger.level, list(logger.handlers)
    yield logger
    logging.captureWarnings(False)
    for library in ("kubernetes_asyncio", "urllib3"):
        logging.getLogger(library).setLevel(logging.NOTSET)
    logger.setLevel(before[0])
    logger.handlers[:] = before[1]


@pytest.mark.parametrize(
    ("config", "stream", "as_json"),
    [
        pytest.param(Config(), io.StringIO(), True, id="json where nobody looks"),
        pytest.param(Config(), Terminal(), False, id="text on a terminal"),
        pytest.param(Config(log_format="json"), Terminal(), True, id="json where it is asked for"),
        pytest.param(Config(log_format="text"), io.StringIO(), False, id="text where it is asked for"),
    ],
)
def test_logging_is_configured_once_for_all(
    root: logging.Logger, config: Config, stream: io.StringIO, as_json: bool
) -> None:
    configure_logging(config, "watcher", stream)
    logging.getLogger("other").info("hello")
    logging.getLogger("other").debug("not this")
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().startswith("{") == as_json


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(Config(log_level="debug"), logging.INFO, id="not below info"),
        pytest.param(Config(log_level="error"), logging.ERROR, id="above it like all"),
    ],
)
def test_libraries_that_show_what_they_send_do_not_get_to_debug(
    root: logging.Logger, config: Config, expected: int
) -> None:
    configure_logging(config, "watcher", io.StringIO())
    assert logging.getLogger("kubernetes_asyncio.client.rest").getEffectiveLevel() == expected


def test_warnings_are_logged(root: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logging(Config(log_level="error"), "watcher", stream)
    assert root.level == logging.ERROR
    configure_logging(Config(log_level="debug"), "watcher", stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert "DeprecationWarning: old" in msgspec.json.decode(stream.getvalue())["message"]


def test_standard_error_is_where_logs_go(root: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Config(), "watcher", sys.stderr)
    logging.getLogger("x").info("hello")
    assert '"message":"hello"' in capsys.readouterr().err
