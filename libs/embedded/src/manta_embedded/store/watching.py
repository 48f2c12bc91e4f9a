"""The lines of a watch over time: changes as they come, bookmarks in between, and an end."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Literal

from manta_common.clock import Clock
from manta_embedded.store.buckets import Watch
from manta_embedded.store.objects import Obj

LineType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
BOOKMARK_SECONDS = 60.0
FAREWELL_SECONDS = 2.0  # the last bookmark comes so long before the end


async def lines(
    watch: Watch, clock: Clock, newest: Callable[[], int], *, seconds: float
) -> AsyncGenerator[tuple[LineType, Obj], None]:
    """What a watch brings for so many seconds. A bookmark comes only when nothing older is left to be told."""
    woken = asyncio.Event()
    watch.wake = woken.set
    ends_at = clock.monotonic() + seconds
    bookmark_at = _next_bookmark(clock, ends_at)
    while clock.monotonic() < ends_at:
        woken.clear()
        for line in watch.pending():
            yield line
        if woken.is_set():
            continue
        if clock.monotonic() >= bookmark_at:
            yield "BOOKMARK", {"metadata": {"resourceVersion": str(newest())}}
            bookmark_at = _next_bookmark(clock, ends_at)
        await _until(woken, clock, min(bookmark_at, ends_at))


def _next_bookmark(clock: Clock, ends_at: float) -> float:
    """In a minute, or shortly before the end; none after that one."""
    now, farewell_at = clock.monotonic(), ends_at - FAREWELL_SECONDS
    return min(now + BOOKMARK_SECONDS, farewell_at) if now < farewell_at else float("inf")


async def _until(woken: asyncio.Event, clock: Clock, moment: float) -> None:
    seconds = moment - clock.monotonic()
    if seconds > 0:
        with contextlib.suppress(TimeoutError):
            async with clock.timeout(seconds):
                await woken.wait()
