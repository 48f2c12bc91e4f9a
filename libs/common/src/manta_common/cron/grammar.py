"""The grammar of cron schedules, as robfig/cron's standard parser reads them."""

from collections.abc import Iterator
from typing import Final

import msgspec

from manta_common.gotext import GoError, parse_duration, parse_int

_EVERY: Final = "@every "
_SECOND: Final = 10**9
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Field(msgspec.Struct, frozen=True):
    """The values one field of a schedule matches; open means a star, which days of month and of week treat apart."""

    values: frozenset[int]
    is_open: bool = False


class Calendar(msgspec.Struct, frozen=True, tag=True):
    """A schedule of five fields."""

    minutes: Field
    hours: Field
    days: Field
    months: Field
    weekdays: Field


class Every(msgspec.Struct, frozen=True, tag=True):
    """A schedule of one distance."""

    seconds: int


Schedule = Calendar | Every


class CronError(ValueError):
    """A schedule that cannot be read; the message is robfig/cron's."""


class _Bounds(msgspec.Struct, frozen=True):
    lowest: int
    highest: int
    names: dict[str, int] = {}


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


_MINUTES: Final = _Bounds(0, 59)
_HOURS: Final = _Bounds(0, 23)
_DAYS: Final = _Bounds(1, 31)
_MONTHS: Final = _Bounds(1, 12, _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1))
_WEEKDAYS: Final = _Bounds(0, 6, _numbered("sun mon tue wed thu fri sat", 0))


def parse(text: str) -> Schedule:
    """Return the schedule that a text describes; a time zone is not part of it."""
    if not text:
        raise CronError("empty spec string")
    if text.startswith("@"):
        return _descriptor(text)
    fields = text.split()
    if len(fields) != 5:
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    bounds = (_MINUTES, _HOURS, _DAYS, _MONTHS, _WEEKDAYS)
    return Calendar(*(_field(field, bound) for field, bound in zip(fields, bounds, strict=True)))


def _descriptor(text: str) -> Schedule:
    if text in _DESCRIPTORS:
        return parse(_DESCRIPTORS[text])
    if not text.startswith(_EVERY):
        raise CronError(f"unrecognized descriptor: {text}")
    try:
        nanoseconds = parse_duration(text.removeprefix(_EVERY))
    except GoError as error:
        raise CronError(f"failed to parse duration {text}: {error}") from error
    return Every(max(1, nanoseconds // _SECOND))


def _field(text: str, bounds: _Bounds) -> Field:
    # Empty list items count for nothing; a field of commas alone never matches, and is no error either.
    ranges = [_range(expression, bounds) for expression in text.split(",") if expression]
    values = frozenset[int]().union(*(part.values for part in ranges))
    return Field(values, is_open=any(part.is_open for part in ranges))


def _range(expression: str, bounds: _Bounds) -> Field:
    span, *steps = expression.split("/")
    low, *high = span.split("-")
    is_open = low in {"*", "?"}
    first, last = (bounds.lowest, bounds.highest) if is_open else _span(low, high, expression=expression, bounds=bounds)
    if len(steps) > 1:
        raise CronError(f"too many slashes: {expression}")
    step = _number(steps[0]) if steps else 1
    if steps and not high:
        last = bounds.highest
    for fault in _faults(first, last, step=step, bounds=bounds):
        raise CronError(f"{fault}: {expression}")
    return Field(frozenset(range(first, last + 1, step)), is_open=is_open and step == 1)


def _span(low: str, high: list[str], *, expression: str, bounds: _Bounds) -> tuple[int, int]:
    first = _value(low, bounds)
    if len(high) > 1:
        raise CronError(f"too many hyphens: {expression}")
    return first, _value(high[0], bounds) if high else first


def _faults(first: int, last: int, *, step: int, bounds: _Bounds) -> Iterator[str]:
    if first < bounds.lowest:
        yield f"beginning of range ({first}) below minimum ({bounds.lowest})"
    if last > bounds.highest:
        yield f"end of range ({last}) above maximum ({bounds.highest})"
    if first > last:
        yield f"beginning of range ({first}) beyond end of range ({last})"
    if step == 0:
        yield "step of range should be a positive number"


def _value(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    try:
        number = parse_int(text)
    except GoError as error:
        raise CronError(f"failed to parse int from {text}: {error}") from error
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number
