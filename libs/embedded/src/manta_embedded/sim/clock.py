"""The clock of the running event loop, which may be virtual."""

import asyncio
from contextlib import AbstractAsyncContextManager


class LoopClock:
    """Time as the event loop has it; implements `manta_common.clock.Clock`. Given a loop, it is that one's."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        if loop is not None:
            self.monotonic = loop.time  # type: ignore[method-assign] # it is asked for all the time

    def monotonic(self) -> float:
        """Seconds since the loop began."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """A block that may take so many seconds; TimeoutError after that."""
        return asyncio.timeout(seconds)
