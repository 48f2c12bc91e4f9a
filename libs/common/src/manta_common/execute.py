"""Carries out the actions of a phase: several at once, but no flood before the first ones have gone well."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from manta_common.phases import Phase

__all__ = ["AT_MOST", "Phase", "concurrently", "execute"]

A = TypeVar("A")
AT_MOST = 50


async def concurrently(
    phase: Iterable[A], carry_out: Callable[[A], Coroutine[Any, Any, None]], *, at_most: int = AT_MOST, begin: int = 1
) -> int:
    """Run the actions, 1 in flight, then 2, 4, ... up to `at_most`; after a failure no more are started.

    Returns with how many the next phase may begin, for which these have gone well.
    """
    waiting, running = deque(phase), set[asyncio.Task[None]]()
    allowed, failures = min(begin, at_most), list[BaseException]()
    try:
        while running or (waiting and not failures):
            while waiting and not failures and len(running) < allowed:
                running.add(asyncio.create_task(carry_out(waiting.popleft())))
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            failures += [error for task in done if (error := task.exception())]
            allowed = min(at_most, allowed + len(done))  # each success lets one more in: this doubles each round
    finally:
        for task in running:
            task.cancel()
    if failures:
        raise failures[0]
    return allowed


async def execute(
    phases: Iterable[Phase[A]], carry_out: Callable[[A], Coroutine[Any, Any, None]], *, at_most: int = AT_MOST
) -> None:
    """Run phase after phase; one with a failure is the last."""
    allowed = 1
    for phase in phases:
        allowed = await concurrently(phase, carry_out, at_most=at_most, begin=allowed)
