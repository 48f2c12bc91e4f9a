"""An event loop whose time moves on only when nothing else is left to do, so that waiting costs nothing."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__(_Jumping(self))
        self._virtual = 0.0

    def time(self) -> float:
        return self._virtual

    def advance(self, seconds: float) -> None:
        """Move the time on."""
        self._virtual += seconds


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and nothing will ever wake it")
        if timeout > 0:
            self._loop.advance(timeout)
        return super().select(0)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
