"""Times after which waiting is over: for a RayService that never becomes ready, and for an upgrade that does not."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.api import annotations
from manta_common.gotext import GoError, parse_duration, parse_int
from manta_serve_reconciler import conditions, reasons
from manta_serve_reconciler.observed import Observed, ServeSettings

MILLISECOND: Final = 1_000  # in microseconds
SECOND: Final = 1_000_000
LONGEST_SECONDS: Final = 2**31 - 1  # 68 years; a number of seconds may be beyond what times can tell


def initializing_ends_at(observed: Observed) -> datetime | None:
    """When a RayService that was never ready is given up."""
    limit = initializing_limit(observed)
    ready = conditions.find(observed.status, reasons.READY)
    if limit is None or ready is None or ready.status == "True" or ready.reason != reasons.INITIALIZING:
        return None
    return ready.last_transition_time + limit


def initializing_limit(observed: Observed) -> timedelta | None:
    """How long a RayService may take to become ready for the first time."""
    return _limit(observed.service.metadata.annotations.get(annotations.INITIALIZING_TIMEOUT, ""))


def upgrade_ends_at(observed: Observed, settings: ServeSettings) -> datetime | None:
    """When an upgrade is given up: so long after its cluster was made, if the old one is still there."""
    own = _limit(observed.service.metadata.annotations.get(annotations.UPGRADE_TIMEOUT, ""))
    limit = own or timedelta(seconds=settings.upgrade_deadline_seconds)
    pending = observed.pending.cluster
    if not limit or pending is None or observed.active.cluster is None:
        return None
    since = pending.metadata.creation_timestamp
    return since + limit if since else None


def go_duration(span: timedelta) -> str:
    """A time as Go writes it: 1h0m0s, 1m40s, 10.5s, 500ms."""
    total = span // timedelta(microseconds=1)
    if 0 < total < MILLISECOND:
        return f"{total}µs"
    if 0 < total < SECOND:
        return f"{_decimal(total, MILLISECOND)}ms"
    minutes, rest = divmod(total, 60 * SECOND)
    seconds = _decimal(rest, SECOND)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def is_readable(text: str) -> bool:
    """Whether an annotation names a time longer than nothing."""
    try:
        return (_limit(text) or timedelta()) > timedelta()
    except GoError:
        return False


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


def _limit(text: str) -> timedelta | None:
    """The time that an annotation names; validation has refused what cannot be read."""
    if not text:
        return None
    try:
        return timedelta(microseconds=parse_duration(text) / 1000)
    except GoError:
        return timedelta(seconds=min(parse_int(text), LONGEST_SECONDS))
