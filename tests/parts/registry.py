"""The real parts of one run. A fixture yields from `parts.obtain(name, start)`; `parts` is a fixture too."""

import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import pytest

from tests.parts.process import Unavailable


class Part(Protocol):
    """Something real that tests use."""

    origin: str

    def stop(self) -> None:
        """End it and everything it started."""

    def log_tail(self) -> str:
        """What it said last."""


P = TypeVar("P", bound=Part)


class Parts:
    """The real parts of one run: started when first asked for, stopped at its end, named in its summary."""

    def __init__(self) -> None:
        self.used: dict[str, Part] = {}
        self.start_seconds: dict[str, float] = {}
        self.unavailable: dict[str, str] = {}
        self.level_seconds: dict[str, float] = {}

    def obtain(self, name: str, start: Callable[[], P]) -> Iterator[P]:
        """Start a part for a fixture and stop it afterwards; one that cannot be had skips the test with its reason."""
        if name in self.unavailable:
            pytest.skip(self.unavailable[name])
        before = time.monotonic()
        try:
            part = start()
        except Unavailable as error:
            self.unavailable[name] = f"{name}: {error}"
            pytest.skip(self.unavailable[name])
        self.used[name] = part
        self.start_seconds[name] = time.monotonic() - before
        try:
            yield part
        finally:
            part.stop()


PARTS = pytest.StashKey[Parts]()
