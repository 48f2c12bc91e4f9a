"""A message says when its news was seen, and belongs to a trace if there is one."""

import time

import pytest

from manta_common.telemetry.names import SEEN_HEADER, TRACE_HEADER
from manta_common.telemetry.stamps import age_seconds, stamp
from manta_common.telemetry.tracing import Tracing
from tests.unit.manta_common.telemetry.spans import Kept


def test_a_stamp_says_when() -> None:
    age = age_seconds(stamp(Tracing()))
    assert age is not None
    assert 0 <= age < 10


def test_without_traces_there_is_no_trace_header() -> None:
    assert list(stamp(Tracing())) == [SEEN_HEADER]
    assert list(stamp(Kept().tracing)) == [SEEN_HEADER], "nor outside of a span"


def test_in_a_span_the_message_belongs_to_its_trace() -> None:
    kept = Kept()
    with kept.tracing.span("watch"):
        assert TRACE_HEADER in stamp(kept.tracing)


@pytest.mark.parametrize(
    "headers", [pytest.param({}, id="no stamp"), pytest.param({SEEN_HEADER: "yesterday"}, id="one that is no number")]
)
def test_a_message_without_a_stamp_has_no_age(headers: dict[str, str]) -> None:
    assert age_seconds(headers) is None


def test_a_stamp_of_a_clock_that_is_ahead_counts_as_now() -> None:
    assert age_seconds({SEEN_HEADER: str(time.time() + 3600)}) == 0


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "-1e308", "0", "12"])
def test_a_time_that_cannot_be_is_not_counted(text: str) -> None:
    assert age_seconds({SEEN_HEADER: text}) in (None, 0.0)
