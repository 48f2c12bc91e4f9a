"""The time that passes, handed to whoever waits or measures, so that it can be virtual."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Clock(Protocol):
    """Time that only goes forward. It is not the time of day."""

    def monotonic(self) -> float:
        """Seconds since some moment in the past."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """A block that may take so many seconds; TimeoutError after that."""


class SystemClock:
    """The machine's clock; it goes on while the process is stopped and, on Linux, while the machine is suspended."""

    def monotonic(self) -> float:
        """Seconds since the machine was started."""
        return time.clock_gettime(CLOCK)

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """A block that may take so many seconds; TimeoutError after that."""
        return asyncio.timeout(seconds)


# CLOCK_MONOTONIC stands still while a machine is suspended; a lease must not.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
