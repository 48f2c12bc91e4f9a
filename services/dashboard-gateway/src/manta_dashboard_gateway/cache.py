"""What is known for a while, and one asking for many who want to know the same."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from manta_common.errors import MantaError

MOST_ENTRIES = 10_000
LONGEST_SECONDS = 600.0

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Keeps what was used last: so many entries, none of them longer than so many seconds."""

    def __init__(
        self, monotonic: Callable[[], float], *, most: int = MOST_ENTRIES, longest_seconds: float = LONGEST_SECONDS
    ) -> None:
        self._monotonic, self._most, self._longest_seconds = monotonic, most, longest_seconds
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self.hits = self.misses = 0

    def find(self, key: K, *, max_age_seconds: float | None = None) -> tuple[V, float] | None:
        """What is known, and how many seconds it is old; None when it is older than allowed."""
        limit = self._longest_seconds if max_age_seconds is None else min(max_age_seconds, self._longest_seconds)
        since, value = self._entries.get(key, (float("-inf"), None))
        age_seconds = self._monotonic() - since
        if value is None or age_seconds >= limit:
            self.misses += 1
            return None
        self._entries.move_to_end(key)
        self.hits += 1
        return value, age_seconds

    def put(self, key: K, value: V) -> None:
        """This is known now; what was not used for longest makes room, and what is too old goes."""
        now = self._monotonic()
        self._entries[key] = (now, value)
        self._entries.move_to_end(key)
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) <= self._most and now - self._entries[oldest][0] < self._longest_seconds:
                return
            del self._entries[oldest]

    def drop(self, key: K) -> None:
        """This is no longer known."""
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)


class SingleFlight:
    """Runs one of several equal askings; the others get what it gets."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Future[Any]] = {}
        self.shared = 0

    async def run(self, key: Hashable, ask: Callable[[], Awaitable[V]]) -> V:
        """Ask, or wait for who asks already; when that one is cancelled, the next one asks."""
        while flying := self._flying.get(key):
            await asyncio.wait([flying])
            if not flying.cancelled():
                self.shared += 1
                found: V = flying.result()
                return found
        flying = self._flying[key] = asyncio.get_running_loop().create_future()
        try:
            value = await ask()
            flying.set_result(value)
        except MantaError as error:
            flying.set_exception(error)
            flying.exception()  # it is told to us in any case
            raise
        finally:
            del self._flying[key]
            flying.cancel()
        return value
