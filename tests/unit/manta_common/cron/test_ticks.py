"""When schedules are due; the expectations for the next tick were taken from robfig/cron."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manta_common.cron.grammar import parse
from manta_common.cron.ticks import last_tick, next_tick

NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        pytest.param("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00", id="strictly after a tick"),
        pytest.param("* * * * *", "2026-01-01T00:00:59", "2026-01-01T00:01:00", id="at whole minutes"),
        pytest.param("30 4 * * *", "2026-01-01T04:30:00", "2026-01-02T04:30:00", id="the next day"),
        pytest.param("0 0 29 2 *", "2025-03-01T00:00:00", "2028-02-29T00:00:00", id="the next leap year"),
        pytest.param("0 0 31 * *", "2026-01-31T00:00:00", "2026-03-31T00:00:00", id="months without that day"),
        pytest.param("0 0 13 * 5", "2026-02-01T00:00:00", "2026-02-06T00:00:00", id="either day field"),
        pytest.param("0 0 * * 0", "2026-11-16T00:00:00", "2026-11-22T00:00:00", id="Sunday is 0"),
        pytest.param("0 0 */2 * 1", "2026-11-16T00:00:00", "2026-11-17T00:00:00", id="a stepped star is restricted"),
        pytest.param("0 0 1 1 *", "2026-01-01T00:00:00", "2027-01-01T00:00:00", id="the next year"),
        pytest.param("@every 90s", "2026-01-01T00:00:10", "2026-01-01T00:01:40", id="a distance"),
    ],
)
def test_next_tick(schedule: str, after: str, due: str) -> None:
    assert next_tick(parse(schedule), at(after), UTC) == at(due)


def test_what_never_comes_is_not_due() -> None:
    assert next_tick(parse("0 0 30 2 *"), at("2026-01-01T00:00:00"), UTC) is None


def test_a_distance_is_counted_in_whole_seconds() -> None:
    after = at("2026-01-01T00:00:10") + timedelta(microseconds=700)
    assert next_tick(parse("@every 1m"), after, UTC) == at("2026-01-01T00:01:10")


def test_other_time_zones_are_read() -> None:
    after = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert next_tick(parse("0 0 * * *"), after, UTC) == at("2026-01-01T00:00:00")


@pytest.mark.parametrize(
    ("schedule", "after", "due", "zone"),
    [
        pytest.param("30 2 * * *", "2026-03-08T00:00:00", "2026-03-09T06:30:00", NEW_YORK, id="a skipped hour"),
        pytest.param("30 1 * * *", "2026-11-01T04:00:00", "2026-11-01T05:30:00", NEW_YORK, id="a repeated hour"),
        pytest.param("30 1 * * *", "2026-11-01T05:30:00", "2026-11-01T06:30:00", NEW_YORK, id="and once more"),
        pytest.param("30 1 * * *", "2026-11-01T06:30:00", "2026-11-02T06:30:00", NEW_YORK, id="and not thrice"),
        pytest.param("0 3 * * *", "2026-03-08T06:59:59", "2026-03-08T07:00:00", NEW_YORK, id="after a skipped hour"),
        pytest.param("0 0 * * *", "2018-11-03T12:00:00", "2018-11-05T02:00:00", SAO_PAULO, id="a skipped midnight"),
        pytest.param(
            "0 9 * * *", "2026-01-01T00:00:00", "2026-01-01T03:15:00", KATHMANDU, id="a quarter of an hour off"
        ),
    ],
)
def test_next_tick_when_clocks_change(schedule: str, after: str, due: str, zone: ZoneInfo) -> None:
    assert next_tick(parse(schedule), at(after), zone) == at(due)


@pytest.mark.parametrize(
    ("schedule", "after", "until", "due"),
    [
        pytest.param(
            "* * * * *", "2020-01-01T00:00:00", "2026-01-01T00:00:30", "2026-01-01T00:00:00", id="of millions"
        ),
        pytest.param("@every 7s", "2020-01-01T00:00:00", "2020-01-01T00:00:20", "2020-01-01T00:00:14", id="a distance"),
        pytest.param("0 0 1 * *", "2026-01-01T00:00:00", "2026-03-31T00:00:00", "2026-03-01T00:00:00", id="days back"),
        pytest.param("0 0 1 * *", "2026-01-01T00:00:00", "2026-02-01T00:00:00", "2026-02-01T00:00:00", id="just now"),
        pytest.param("0 0 1 * *", "2026-01-01T00:00:00", "2026-01-31T00:00:00", None, id="none yet"),
        pytest.param("0 0 30 2 *", "2026-01-01T00:00:00", "2036-01-01T00:00:00", None, id="none ever"),
    ],
)
def test_last_tick(schedule: str, after: str, until: str, due: str | None) -> None:
    found = last_tick(parse(schedule), at(after), until=at(until), zone=UTC)
    assert found == (at(due) if due else None)


@settings(deadline=None)  # hundreds of ticks, on a machine that may be busy
@given(
    st.sampled_from(["*/17 * * * *", "5 1-3 * * *", "0 */5 1,15 * 1", "@every 13m"]),
    st.integers(0, 366 * 86400),
    st.integers(0, 3 * 86400),
)
def test_the_last_tick_is_what_counting_ticks_ends_at(schedule: str, offset: int, span: int) -> None:
    after = at("2026-01-01T00:00:00") + timedelta(seconds=offset)
    until, counted, tick = after + timedelta(seconds=span), None, after
    while (upcoming := next_tick(parse(schedule), tick, NEW_YORK)) and upcoming <= until:
        counted = tick = upcoming
    assert last_tick(parse(schedule), after, until=until, zone=NEW_YORK) == counted
