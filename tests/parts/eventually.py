"""Waiting in asynchronous tests: for a condition, with a limit that names what was waited for."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.parts.patience import patient

POLL_SECONDS = 0.05
T = TypeVar("T")


async def eventually(what: str, find: Callable[[], Awaitable[T | None]], *, limit_seconds: float) -> T:
    """What `find` finds as soon as it finds something; TimeoutError names what was waited for."""
    deadline = time.monotonic() + patient(limit_seconds)
    while True:
        found = await find()
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patient(limit_seconds):g} s: {what}")
        await asyncio.sleep(POLL_SECONDS)
