"""The API server's time: its Date headers, carried on by the monotonic clock."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DRIFT = 100e-6  # how much two good clocks may part: seconds in a second


class ServerClock:
    """Tells the server's time, ever closer.

    A Date is cut to whole seconds, and was written between sending and receiving. So every answer bounds the distance
    of the server's clock from our monotonic one from both sides; answers around the turn of a second bound it tightly,
    and the bounds are kept. An answer that contradicts them starts anew: the server's clock was set, or it is another
    server's. The estimate moves no further than the bounds make it. Until the first answer the local clock counts.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()
        self._low, self._high = float("-inf"), float("inf")
        self._bounded_at = monotonic()
        self._known = False
        self._date: str | None = None
        self._second = 0.0

    @property
    def uncertainty_seconds(self) -> float:
        """How far off `now` is at most; infinite before the first answer."""
        slack = DRIFT * (self._monotonic() - self._bounded_at)
        return max(self._high - self._offset, self._offset - self._low) + slack

    def now(self) -> datetime:
        """The server's time."""
        return EPOCH + timedelta(seconds=self._monotonic() + self._offset)

    def earliest_now(self) -> datetime:
        """What the server's clock shows at least; the beginning of time before the first answer."""
        slack = DRIFT * (self._monotonic() - self._bounded_at)
        return EPOCH + timedelta(seconds=max(0.0, self._monotonic() + self._low - slack))

    def observe(self, date: str, *, sent_at: float, received_at: float) -> None:
        """Learn from the Date header of an answer; the times are those of the monotonic clock."""
        second = self._parse(date)
        if second is None:
            return
        low, high = second - received_at, second + 1 - sent_at
        self._widen(received_at)
        kept_low, kept_high = max(low, self._low), min(high, self._high)
        contradicted = kept_low > kept_high
        self._low, self._high = (low, high) if contradicted else (kept_low, kept_high)
        self._offset = min(max(self._offset, self._low), self._high) if self._known else (low + high) / 2
        self._known = True

    def _widen(self, moment: float) -> None:
        slack = DRIFT * max(0.0, moment - self._bounded_at)
        self._low, self._high, self._bounded_at = self._low - slack, self._high + slack, moment

    def _parse(self, date: str) -> float | None:
        """Seconds since 1970; most answers carry the same text as the one before."""
        if date != self._date:
            try:
                self._second = parsedate_to_datetime(date).timestamp()
            except ValueError:
                return None
            self._date = date
        return self._second
