"""Traces are sent when the standard variables ask for it."""

import pytest

from manta_common.errors import Misconfigured
from manta_common.telemetry.export import is_asked_for, tracing_of

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        pytest.param({}, False, id="nothing is set"),
        pytest.param({ENDPOINT: "http://collector:4318"}, True, id="a collector"),
        pytest.param({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, True, id="a collector of traces"),
        pytest.param({"OTEL_TRACES_EXPORTER": "otlp"}, True, id="an exporter"),
        pytest.param({"OTEL_TRACES_EXPORTER": "none", ENDPOINT: "http://c"}, False, id="no exporter"),
        pytest.param({"OTEL_SDK_DISABLED": "TRUE", ENDPOINT: "http://c"}, False, id="all of it disabled"),
        pytest.param({ENDPOINT: ""}, False, id="an empty collector"),
        pytest.param({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True, id="our protocol"),
        pytest.param({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False, id="another protocol, but no collector"),
    ],
)
def test_the_standard_variables_decide(environment: dict[str, str], asked: bool) -> None:
    assert is_asked_for(environment) is asked


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        pytest.param({"OTEL_TRACES_EXPORTER": "zipkin"}, "expected one of otlp, none", id="another exporter"),
        pytest.param({ENDPOINT: "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf", id="another protocol"),
    ],
)
def test_what_cannot_be_done_is_told(environment: dict[str, str], complaint: str) -> None:
    with pytest.raises(Misconfigured, match=complaint):
        is_asked_for(environment)


def test_without_being_asked_there_is_no_tracer() -> None:
    assert not tracing_of({}, "watcher", "0.1.0").on
