"""The clock of the running event loop, which may be virtual."""

import asyncio
from contextlib import AbstractAsyncContextManager


class LoopClock:
    """Time as the event loop has it."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)
