"""Whether spans are sent: by OTLP over HTTP, when the standard OTEL_* variables ask for it."""

from collections.abc import Mapping

from manta_common.errors import Misconfigured
from manta_common.telemetry.tracing import Tracing

_EXPORTERS = ("otlp", "none")
_PROTOCOL = "http/protobuf"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def tracing_of(environment: Mapping[str, str], service: str, version: str) -> Tracing:
    """Tracing as the standard variables ask for; none when they do not."""
    if not is_asked_for(environment):
        return Tracing()
    # the SDK, protobuf and requests cost 9 MiB and half a second that a service without traces need not pay
    from manta_common.telemetry.otlp import tracing  # noqa: PLC0415

    return tracing(environment.get("OTEL_SERVICE_NAME") or f"manta-{service}", version)


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


def _first(environment: Mapping[str, str], variables: tuple[str, ...]) -> str:
    return next((environment[name] for name in variables if environment.get(name)), "")
