"""A client-side limit of requests, as KubeRay's flags --qps and --burst; off unless it is set."""

import asyncio
import time
from collections.abc import Callable

from manta_common.errors import Misconfigured, Throttled


class TokenBucket:
    """At most `qps` requests a second on average and `burst` at once, first come, first served; no limit with 0."""

    def __init__(self, qps: float, burst: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        if qps < 0 or burst < 0 or (qps > 0 and burst < 1):
            raise Misconfigured(f"a limit of {qps:g} requests a second needs a burst of at least 1, not {burst}")
        self._qps, self._burst, self._monotonic = qps, burst, monotonic
        self._tokens, self._filled_at = float(burst), monotonic()

    def reserve(self) -> float:
        """Take a turn; how many seconds to wait for it."""
        if not self._qps:
            return 0.0
        moment = self._monotonic()
        self._tokens = min(self._burst, self._tokens + (moment - self._filled_at) * self._qps)
        self._filled_at = moment
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def give_back(self) -> None:
        """Undo a reservation that is not used."""
        self._tokens += 1

    async def turn(self, *, within_seconds: float) -> None:
        """Wait for a turn; Throttled at once when it would come too late."""
        wait_seconds = self.reserve()
        if wait_seconds > within_seconds:
            self.give_back()
            raise Throttled("the client-side limit of requests is reached", retry_after_seconds=wait_seconds)
        if wait_seconds:
            await asyncio.sleep(wait_seconds)
