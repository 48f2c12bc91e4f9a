"""Logs: one JSON object a line, or text for a person; the same values in both, and no secrets in either."""

import contextlib
import contextvars
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from manta_common.config import Config
from manta_common.telemetry.redact import redacted, redacted_text
from manta_common.telemetry.tracing import current_ids

_NOT_EXTRA = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_TOO_OPEN = ("kubernetes_asyncio", "urllib3")  # they put what they send and receive into debug messages
# The key of a value that each task has for itself; the only way for a value to reach the log lines of code below.
_VALUES: contextvars.ContextVar[Mapping[str, object]] = contextvars.ContextVar("manta_log_values")


def configure_logging(config: Config, service: str, stream: TextIO | None = None) -> None:
    """Let everything that is logged go to standard error, as the settings say."""
    out = stream or sys.stderr
    as_text = config.log_format == "text" or (config.log_format == "auto" and out.isatty())
    to_stream = logging.StreamHandler(out)
    to_stream.setFormatter(TextLines(service) if as_text else JsonLines(service))
    logging.basicConfig(level=config.log_level.upper(), handlers=[to_stream], force=True)
    for library in _TOO_OPEN:
        logging.getLogger(library).setLevel(max(logging.INFO, logging.getLogger().level))
    logging.captureWarnings(True)


@contextlib.contextmanager
def log_values(**values: object) -> Iterator[None]:
    """Add values to all that is logged in the block and the tasks it starts; `service` takes the place of the usual."""
    token = _VALUES.set({**_VALUES.get({}), **values})
    try:
        yield
    finally:
        _VALUES.reset(token)


def set_log_values(**values: object) -> None:
    """Add values to all that the current task logs until its end."""
    _VALUES.set({**_VALUES.get({}), **values})


class JsonLines(logging.Formatter):
    """A JSON object a line: time, level, message, logger, service, and what else is known."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        line = {
            "time": _time(record).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": redacted_text(record.getMessage()),
            "logger": record.name,
            "service": _service(self._service),
        }
        extra = {f"{key}_" if key in line else key: value for key, value in _extra(record).items()}
        return msgspec.json.encode({**line, **extra}).decode()


class TextLines(logging.Formatter):
    """A line for a person: time, level, message, then the values."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; the stack of an error follows on lines of its own."""
        extra = _extra(record)
        stack = extra.pop("stack", "")
        values = "".join(f" {key}={value}" for key, value in extra.items())
        head = f"{_time(record).astimezone():%H:%M:%S.%f}"[:-3]
        message = redacted_text(record.getMessage())
        line = f"{head} {record.levelname.lower():7} {_service(self._service)}: {message}{values}"
        return f"{line}\n{stack.rstrip()}" if stack else line


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """What goes beside the message: the task's values, the call's, the trace's, and the stack of an error."""
    given = {key: value for key, value in vars(record).items() if key not in _NOT_EXTRA}
    around = {key: value for key, value in _VALUES.get({}).items() if key != "service"}
    found: dict[str, Any] = redacted({**around, **given})
    ids = current_ids()
    if ids:
        found["trace_id"], found["span_id"] = ids
    if record.exc_info:
        found["stack"] = redacted_text("".join(traceback.format_exception(*record.exc_info)))
    return found


def _service(usual: str) -> str:
    """Which of the services of this process logs."""
    return str(_VALUES.get({}).get("service", usual))


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
