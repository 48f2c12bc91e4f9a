"""Sends spans by OTLP over HTTP when the standard OTEL_* variables ask for it."""

import importlib
import threading
from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from manta_common.errors import Misconfigured
from manta_common.telemetry.tracing import Tracing

_EXPORTERS = ("otlp", "none")
_PROTOCOL = "http/protobuf"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def tracing_of(environment: Mapping[str, str], service: str, version: str) -> Tracing:
    """Tracing as the standard variables ask for; none when they do not. OpenTelemetry itself reads the details."""
    if not is_asked_for(environment):
        return Tracing()
    name = environment.get("OTEL_SERVICE_NAME") or f"manta-{service}"
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": version}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(_otlp()))
    return Tracing(provider.get_tracer("manta", version), lambda seconds: _closed(provider, seconds))


def is_asked_for(environment: Mapping[str, str]) -> bool:
    """Whether the variables ask for traces: by an exporter, or by the address of a collector."""
    exporter, protocol = environment.get("OTEL_TRACES_EXPORTER", ""), _first(environment, _PROTOCOLS)
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or exporter == "none":
        return False
    if exporter not in ("", *_EXPORTERS):
        raise Misconfigured(f"OTEL_TRACES_EXPORTER is {exporter!r}; expected one of {', '.join(_EXPORTERS)}")
    wanted = exporter == "otlp" or bool(_first(environment, _ENDPOINTS))
    if wanted and protocol not in ("", _PROTOCOL):
        raise Misconfigured(f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; expected {_PROTOCOL}")
    return wanted


def _otlp() -> SpanExporter:
    # Imported only when needed: protobuf and requests cost 4 MB and 0.1 s that a service without traces need not pay.
    module = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    exporter: SpanExporter = module.OTLPSpanExporter()
    return exporter


def _closed(provider: TracerProvider, limit_seconds: float) -> bool:
    """OpenTelemetry waits up to 30 s for a collector that is not there; its thread is left behind sooner."""
    closing = threading.Thread(target=provider.shutdown, daemon=True)
    closing.start()
    closing.join(limit_seconds)
    return not closing.is_alive()


def _first(environment: Mapping[str, str], variables: tuple[str, ...]) -> str:
    return next((environment[name] for name in variables if environment.get(name)), "")
