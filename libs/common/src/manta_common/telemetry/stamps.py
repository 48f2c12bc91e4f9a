"""What a state message carries for telemetry: when its news was seen, and in which trace."""

import time

from manta_common.telemetry.names import SEEN_HEADER
from manta_common.telemetry.tracing import Headers, Tracing

EARLIEST = 1_600_000_000.0  # in 2020: nothing of ours can have been seen before


def stamp(tracing: Tracing) -> Headers:
    """The headers of a message about something that is seen now."""
    return {SEEN_HEADER: f"{time.time():.3f}", **tracing.headers()}


def age_seconds(headers: Headers) -> float | None:
    """How long ago the news of a message was seen; None when it does not say. The clocks of two machines may differ."""
    try:
        seen_at = float(headers[SEEN_HEADER])
    except (KeyError, ValueError):
        return None
    # A sum of seconds that a wrong time was added to says nothing any more, until the process is started anew.
    return max(0.0, time.time() - seen_at) if seen_at > EARLIEST else None
