"""Spans by OpenTelemetry, carried from service to service in message headers; without a tracer all of it is nothing."""

import contextlib
import functools
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from manta_common.errors import Conflict, NotCaughtUp
from manta_common.telemetry.names import ERROR_ATTRIBUTE, TRACE_HEADER
from manta_common.telemetry.redact import redacted_text

Headers = Mapping[str, str]
Attributes = Mapping[str, AttributeValue]
_NONE: Headers = {}
_NOTHING = contextlib.nullcontext()
_CURRENT = contexts.create_key("manta-tracing")


class Tracing:
    """Makes the spans of one component."""

    def __init__(self, tracer: trace.Tracer | None = None, close: Callable[[float], bool] | None = None) -> None:
        self._tracer, self._close = tracer, close

    @property
    def on(self) -> bool:
        """Whether spans are made at all."""
        return self._tracer is not None

    def span(
        self, name: str, attributes: Attributes | None = None, *, caused_by: Sequence[Headers] = (), last: bool = False
    ) -> AbstractContextManager[None]:
        """A span around a block, in the trace of its first cause and linked to the others; see `_Span` for `last`."""
        if self._tracer is None:
            return _NOTHING
        causes = [cause for headers in caused_by if (cause := extract(headers))]
        parent = trace.set_span_in_context(trace.NonRecordingSpan(causes[0]), contexts.Context()) if causes else None
        links = [trace.Link(cause) for cause in causes[1:]]
        start = functools.partial(self._tracer.start_span, name, parent, attributes=attributes, links=links)
        return _Span(self, start, last=last)

    def headers(self) -> Headers:
        """What a message must carry so that its receiver can go on with the current trace."""
        return inject() if self._tracer is not None else _NONE

    def close(self, limit_seconds: float) -> bool:
        """Send what is left, for so long at most; whether all of it was sent."""
        return self._close(limit_seconds) if self._close else True


def current_tracing() -> Tracing:
    """The tracing of the span we are in, for whoever makes spans below it; outside of one, none."""
    found = contexts.get_value(_CURRENT)
    return found if isinstance(found, Tracing) else Tracing()


def inject() -> Headers:
    """The current span as W3C headers; none when there is no span."""
    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers


def extract(headers: Headers) -> trace.SpanContext | None:
    """The span that W3C headers speak of, if they do."""
    if TRACE_HEADER not in headers:
        return None
    found = TraceContextTextMapPropagator().extract(headers, contexts.Context())
    span = trace.get_current_span(found).get_span_context()
    return span if span.is_valid else None


def current_ids() -> tuple[str, str] | None:
    """Trace id and span id of the current span."""
    span = trace.get_current_span().get_span_context()
    return (f"{span.trace_id:032x}", f"{span.span_id:016x}") if span.is_valid else None


class _Span:
    """A span around a block. The `last` one of a task stays current after its end, for the task's last log lines."""

    def __init__(self, tracing: Tracing, start: Callable[[], trace.Span], *, last: bool) -> None:
        self._tracing, self._start, self._last = tracing, start, last

    def __enter__(self) -> None:
        self._span = self._start()
        around = contexts.set_value(_CURRENT, self._tracing)
        self._token = contexts.attach(trace.set_span_in_context(self._span, around))

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not self._last:
            contexts.detach(self._token)
        if error:
            self._failed(error)
        self._span.end()

    def _failed(self, error: BaseException) -> None:
        """Name the error; those that are part of the plan leave the span unmarked."""
        self._span.set_attribute(ERROR_ATTRIBUTE, type(error).__name__)
        if not isinstance(error, Conflict | NotCaughtUp | CancelledError):
            self._span.set_status(trace.StatusCode.ERROR, redacted_text(str(error)))
