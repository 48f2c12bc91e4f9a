"""Tracing that keeps its spans in memory."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext

from manta_common.telemetry.tracing import Tracing


class Kept:
    """Tracing, and what came of it."""

    def __init__(self) -> None:
        self._exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider.get_tracer("tests"))

    @property
    def all(self) -> Sequence[ReadableSpan]:
        """The ended spans."""
        return self._exporter.get_finished_spans()

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """The ended spans by name."""
        return {span.name: span for span in self.all}

    def parent(self, name: str) -> str:
        """The name of a span's parent, or nothing."""
        above = self.spans[name].parent
        return next((span.name for span in self.spans.values() if above and context(span).span_id == above.span_id), "")

    def traces(self) -> set[int]:
        """The ids of all traces."""
        return {context(span).trace_id for span in self.spans.values()}


def context(span: ReadableSpan) -> SpanContext:
    """The ids of a span."""
    found = span.get_span_context()
    assert found
    return found
