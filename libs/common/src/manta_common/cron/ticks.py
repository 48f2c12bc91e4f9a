"""When a schedule is due, by the wall clock of a time zone: skipped hours never come, repeated ones come twice."""

import bisect
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from manta_common.cron.grammar import Calendar, Every, Field, Schedule

# robfig/cron gives up after so many years, too: 30 February never comes.
YEARS: Final = 5
_DAY: Final = timedelta(days=1)


def next_tick(schedule: Schedule, after: datetime, zone: tzinfo) -> datetime | None:
    """Return the first tick strictly after a time, or nothing when there is none for years."""
    if isinstance(schedule, Every):
        return after.replace(microsecond=0) + timedelta(seconds=schedule.seconds)
    for day in _days_after(after.astimezone(zone).date()):
        ticks = _ticks(schedule, day, zone) if _is_on(schedule, day) else []
        place = bisect.bisect_right(ticks, after)
        if place < len(ticks):
            return ticks[place]
    return None


def last_tick(schedule: Schedule, after: datetime, *, until: datetime, zone: tzinfo) -> datetime | None:
    """Return the latest tick after one time and not after another, however many lie between them."""
    first = next_tick(schedule, after, zone)
    if first is None or first > until:
        return None
    if isinstance(schedule, Every):
        return first + (until - first) // timedelta(seconds=schedule.seconds) * timedelta(seconds=schedule.seconds)
    day = until.astimezone(zone).date()
    while not (ticks := _ticks_until(schedule, day, until=until, zone=zone)):
        day -= _DAY
    return ticks[-1]


def _days_after(first: date) -> Iterator[date]:
    day = first
    while day.year <= first.year + YEARS:
        yield day
        day += _DAY


def _is_on(schedule: Calendar, day: date) -> bool:
    """Whether a day counts: when both day fields are restricted, either may match."""
    in_month = day.day in schedule.days.values
    in_week = day.isoweekday() % 7 in schedule.weekdays.values
    either = not (schedule.days.is_open or schedule.weekdays.is_open)
    return day.month in schedule.months.values and ((in_month or in_week) if either else (in_month and in_week))


def _ticks_until(schedule: Calendar, day: date, *, until: datetime, zone: tzinfo) -> list[datetime]:
    ticks = _ticks(schedule, day, zone) if _is_on(schedule, day) else []
    return ticks[: bisect.bisect_right(ticks, until)]


def _ticks(schedule: Calendar, day: date, zone: tzinfo) -> list[datetime]:
    """Return all ticks of a day in order."""
    midnight = datetime.combine(day, time(), zone)
    if midnight.utcoffset() == (midnight + _DAY).utcoffset():
        start = midnight.astimezone(UTC)
        return [start + timedelta(minutes=minute) for minute in _minutes(schedule.hours, schedule.minutes)]
    minutes = _minutes(schedule.hours, schedule.minutes)
    readings = [
        midnight.replace(hour=minute // 60, minute=minute % 60, fold=fold) for minute in minutes for fold in (0, 1)
    ]
    # Readings that differ only by their fold are equal to Python; as instants they are not.
    return sorted({reading.astimezone(UTC) for reading in readings if _exists(reading, zone)})


def _minutes(hours: Field, minutes: Field) -> list[int]:
    return [60 * hour + minute for hour in sorted(hours.values) for minute in sorted(minutes.values)]


def _exists(reading: datetime, zone: tzinfo) -> bool:
    """Whether a clock of the zone ever shows this."""
    shown = reading.astimezone(UTC).astimezone(zone)
    return shown.replace(tzinfo=None) == reading.replace(tzinfo=None, fold=shown.fold)
