"""Listening to the feeds of a plane: what a change is about is marked, what waited for it goes on."""

import logging
from collections.abc import Callable, Hashable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Generic, Literal, Protocol, TypeVar

from manta_common.company import Company
from manta_common.feed import Feed
from manta_common.fence import Fence, Seen
from manta_common.store import Held
from manta_common.telemetry.tracing import Headers

K = TypeVar("K", bound=Hashable)
Items = Callable[[str, Held[Any]], Iterable[K]]
log = logging.getLogger(__name__)


class Hearer(Protocol[K]):
    """Whose ears they are."""

    fence: Fence[K]
    company: Company

    def mark(self, item: K, cause: Headers) -> None:
        """There is something to do for an item because of a message with these headers."""

    def doubt(self, partition: int | Literal["*"]) -> None:
        """The view of a partition, or that of all of them, was read anew."""


class Ear(Generic[K]):
    """Listens to one feed. `items` are those that an object is about, `awaited` the kinds that the fence waits for."""

    def __init__(self, hearer: Hearer[K], items: Items[K], awaited: AbstractSet[str]) -> None:
        self._hearer, self._items, self._awaited = hearer, items, awaited
        self.feed: Feed
        self.partition: int | Literal["*"]

    def renewed(self) -> None:
        """Act on nothing that was not compared."""
        self._hearer.doubt(self.partition)

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        """Mark what it is about."""
        self._hearer.company.heard()
        for held in (before, after):
            for item in self._items(word, held) if held else ():
                self._hearer.mark(item, self.feed.cause)

    def saw(self, seen: Seen) -> None:
        """Let go on what waited for it."""
        if seen.kind in self._awaited:
            for item in sorted(self._hearer.fence.saw(seen)):  # type: ignore[type-var]
                self._hearer.mark(item, self.feed.cause)

    def poisoned(self, subject: str, error: str) -> None:
        """Say so; the feed went on without it."""
        log.error("message cannot be read", extra={"subject": subject, "error": error})
