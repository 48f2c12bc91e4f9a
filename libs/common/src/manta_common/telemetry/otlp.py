"""A tracer that sends its spans by OTLP over HTTP; OpenTelemetry itself reads the details from its variables."""

import importlib
import threading

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from manta_common.telemetry.tracing import Tracing


def tracing(name: str, version: str) -> Tracing:
    """Tracing under the name of a service."""
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": version}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(_exporter()))
    return Tracing(provider.get_tracer("manta", version), lambda seconds: _closed(provider, seconds))


def _exporter() -> SpanExporter:
    module = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    exporter: SpanExporter = module.OTLPSpanExporter()
    return exporter


def _closed(provider: TracerProvider, limit_seconds: float) -> bool:
    """OpenTelemetry waits up to 30 s for a collector that is not there; its thread is left behind sooner."""
    closing = threading.Thread(target=provider.shutdown, daemon=True)
    closing.start()
    closing.join(limit_seconds)
    return not closing.is_alive()
