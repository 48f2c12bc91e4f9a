"""Spans go from service to service in headers, and cost nothing when nobody asked for them."""

import asyncio

import pytest
from opentelemetry.trace import StatusCode

from manta_common.errors import Conflict, NotCaughtUp, Refused
from manta_common.telemetry import names
from manta_common.telemetry.tracing import Tracing, current_ids, current_tracing, extract, inject
from tests.unit.manta_common.telemetry.spans import Kept, context


def test_without_a_tracer_there_is_nothing() -> None:
    tracing = Tracing()
    with tracing.span("a"):
        assert tracing.headers() == {}
        assert current_ids() is None
        assert not current_tracing().on
    assert not tracing.on
    assert tracing.close(1)


def test_headers_carry_a_span_to_another_process() -> None:
    kept = Kept()
    with kept.tracing.span("here"):
        headers = kept.tracing.headers()
        ids = current_ids()
    assert current_ids() is None
    found = extract(headers)
    assert found
    assert ids == (f"{found.trace_id:032x}", f"{found.span_id:016x}")
    assert headers[names.TRACE_HEADER] == f"00-{ids[0]}-{ids[1]}-{found.trace_flags:02x}"


def test_outside_of_a_span_no_header_is_made() -> None:
    assert inject() == {}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no header"),
        pytest.param({"traceparent": ""}, id="an empty header"),
        pytest.param({"traceparent": "what?"}, id="a header that cannot be read"),
        pytest.param({"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}, id="a header of zeros"),
    ],
)
def test_headers_without_a_trace_are_no_cause(headers: dict[str, str]) -> None:
    assert extract(headers) is None
    kept = Kept()
    with kept.tracing.span("alone", caused_by=[headers]):
        pass
    assert kept.spans["alone"].parent is None


def test_one_trace_shows_watch_publish_pass_and_write() -> None:
    kept = Kept()
    tracing = kept.tracing
    with tracing.span(names.WATCH_SPAN), tracing.span(names.PUBLISH_SPAN):
        message = tracing.headers()
    with tracing.span(names.PASS_SPAN, caused_by=[message]), current_tracing().span("action CreatePod"):
        pass
    assert len(kept.traces()) == 1
    parents = {name: kept.parent(name) for name in kept.spans}
    assert parents == {
        "watch": "",
        "publish": "watch",
        "pass": "publish",
        "action CreatePod": "pass",
    }


def test_further_causes_are_links() -> None:
    kept = Kept()
    messages = []
    for name in ("first", "second", "third"):
        with kept.tracing.span(name):
            messages.append(kept.tracing.headers())
    with kept.tracing.span("pass", caused_by=messages):
        pass
    assert kept.parent("pass") == "first"
    linked = [link.context.span_id for link in kept.spans["pass"].links]
    assert linked == [context(kept.spans[name]).span_id for name in ("second", "third")]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(Refused(403, "Forbidden", "no"), StatusCode.ERROR, id="refused"),
        pytest.param(ValueError("no"), StatusCode.ERROR, id="a bug"),
        pytest.param(Conflict("later"), StatusCode.UNSET, id="a conflict is part of the plan"),
        pytest.param(NotCaughtUp("later"), StatusCode.UNSET, id="so is a view that is behind"),
        pytest.param(asyncio.CancelledError(), StatusCode.UNSET, id="so is a stop"),
    ],
)
def test_an_error_is_on_its_span(error: BaseException, status: StatusCode) -> None:
    kept = Kept()
    with pytest.raises(type(error)), kept.tracing.span("a"):
        raise error
    span = kept.spans["a"]
    assert span.status.status_code is status
    assert (span.attributes or {})["error.type"] == type(error).__name__
    assert current_ids() is None


def test_an_error_takes_no_secret_to_its_span() -> None:
    kept = Kept()
    with pytest.raises(ValueError, match="hunter2"), kept.tracing.span("a"):
        raise ValueError("nats://me:hunter2@nats said no to Bearer hunter2")
    assert "hunter2" not in kept.spans["a"].to_json()


async def test_tasks_started_in_a_span_are_below_it() -> None:
    kept = Kept()

    async def work(name: str) -> None:
        with kept.tracing.span(name):
            await asyncio.sleep(0)

    with kept.tracing.span("above"):
        await asyncio.gather(work("one"), work("two"))
    assert kept.parent("one") == kept.parent("two") == "above"
