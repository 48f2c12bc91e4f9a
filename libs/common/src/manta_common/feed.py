"""The feed: what the bus says of some subjects, kept in stores that are either whole or not there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from manta_common.bus.channel import MIXED, Channel, Spot, word_of
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.fence import Seen
from manta_common.keys import Key
from manta_common.store import Held, Index, Store, StoreWriter
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.plane import FeedMetrics
from manta_common.telemetry.stamps import age_seconds
from manta_common.telemetry.tracing import Headers

NEVER = -1  # older than every version
VERSION = re.compile(r"[0-9]{1,19}")
T = TypeVar("T")
UNKNOWN = "unknown"  # the kind of a message that is none of ours


class Source(Generic[T]):
    """One kind of the feed: its channel, and the indices to find its objects by.

    With a family, the feed of a partition brings only what is of that family, or of several. Where readers look at the
    version of what is held, a new one is a change even if the object is the same.
    """

    def __init__(
        self,
        word: str,
        type_: type[T],
        indices: Mapping[str, Index[T]] | None = None,
        *,
        family: str = "",
        by_version: bool = False,
    ) -> None:
        self.channel: Channel[T] = Channel(word, type_)
        self.family = family
        self.word = self.channel.word  # the kind's, on the bus
        self.indices = indices or {}
        self.by_version = by_version

    def filters(self, partition: int | Literal["*"]) -> list[str]:
        """What is to be read of a partition; of all of them, every family is."""
        families = (self.family, MIXED) if self.family and partition != "*" else ("*",)
        return [self.channel.filter(partition, family) for family in families]


class View:
    """The stores of one feed."""

    def __init__(self, sources: Sequence[Source[Any]]) -> None:
        self._stores: dict[str, StoreWriter[Any]] = {source.word: StoreWriter(source.indices) for source in sources}

    def of(self, source: Source[T]) -> Store[T]:
        """What is known of one kind."""
        return self._stores[source.word]

    def writer(self, word: str) -> StoreWriter[Any]:
        """The same for the feed, which alone may write."""
        return self._stores[word]

    def __iter__(self) -> Iterator[tuple[str, Held[Any]]]:
        return ((word, held) for word, store in self._stores.items() for held in store)


class Listener(Protocol):
    """Who is told what the feed showed."""

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        """An object is new, different as far as readers can see, or gone; the view shows it already."""

    def saw(self, seen: Seen) -> None:
        """The view shows an object at this version, or that it is gone."""

    def renewed(self) -> None:
        """The view is another one, of a stream that may have been lost: what was seen before may not be there yet."""

    def poisoned(self, subject: str, error: str) -> None:
        """A message could not be read and was left out: a person is needed."""


class Feed:
    """Follows some subjects and keeps a view of them."""

    def __init__(
        self,
        bus: Bus,
        filters: Sequence[str],
        sources: Sequence[Source[Any]],
        listener: Listener,
        metrics: FeedMetrics | None = None,
    ) -> None:
        self._bus, self._filters, self._listener = bus, filters, listener
        self._metrics = metrics or FeedMetrics(Registry(), "feed")
        self._sources = {source.word: source for source in sources}
        self._view: View | None = None
        self._coming: View | None = None
        self._gone: list[Seen] = []
        self.cause: Headers = {}  # of the message that the listener is being told of; a new reading has none

    @property
    def view(self) -> View | None:
        """Everything that was said so far, or None until it is whole."""
        return self._view

    def shown(self, word: str, key: Key) -> Seen | None:
        """What the view shows of an object; None while there is no view, or of a kind that is not followed."""
        if self._view is None or word not in self._sources:
            return None
        held = self._view.writer(word).held(key)
        return _seen(word, held) if held else Seen(kind=word, key=key, uid="", version=NEVER, gone=True)

    async def run(self) -> None:
        """Follow until cancelled."""
        async with self._bus.replay(self._filters) as batches:
            async for batch in batches:
                self.take(batch)

    def take(self, batch: Batch) -> None:
        """Take in what a replay passed on; a reading that began anew is shown only when it is whole."""
        if batch.fresh:
            self._coming, self._gone = View(list(self._sources.values())), []
            self._metrics.replayed()
        for message in batch.messages:
            self._read(message)
        if self._coming and batch.caught_up:
            self._swap(self._coming)

    def _read(self, message: Message) -> None:
        """Read one message; one that cannot be read is told of and left out."""
        word = UNKNOWN
        try:
            word = word_of(message.subject)
            told = _told(self._sources[word], message) if word in self._sources else None
        except (Poison, ValueError) as error:
            self._metrics.left_out(word)
            self._listener.poisoned(message.subject, str(error))
            return
        if told:
            self._metrics.took(word)
            self._keep(told, message.headers)

    def _keep(self, told: "_Told", headers: Headers) -> None:
        """Into the view that is being built, without a word, or into the one that is shown."""
        view = self._coming or self._view
        if view is None or told.is_left_behind(view):
            return
        before = told.put(view)
        if view is self._view:
            self._tell(told, before, headers)
        elif told.held is None:
            self._gone.append(told.seen)

    def _tell(self, told: "_Told", before: Held[Any] | None, headers: Headers) -> None:
        lag_seconds = age_seconds(headers)
        if lag_seconds is not None:
            self._metrics.lagged(lag_seconds)
        self.cause = headers
        if self._sources[told.word].by_version or not _is_same(before, told.held):
            self._listener.changed(told.word, before, told.held)
        self._listener.saw(told.seen)
        self.cause = {}

    def _swap(self, view: View) -> None:
        """Show the new view, and tell of everything that is or was there."""
        before, self._view, self._coming = self._view, view, None
        if before:
            self._listener.renewed()
        for word, held in view:
            old = before.writer(word).held(held.key) if before else None
            self._listener.changed(word, old, held)
            self._listener.saw(_seen(word, held))
        for word, held in before or ():
            if view.writer(word).held(held.key) is None:
                self._listener.changed(word, held, None)
        for seen in self._gone:
            self._listener.saw(seen)
        self._gone = []


def _is_same(before: Held[Any] | None, after: Held[Any] | None) -> bool:
    """Whether there is nothing new to see: services keep no more of an object than they read."""
    if before is None or after is None:
        return before is after
    identity = before.uid == after.uid and before.partition == after.partition
    return identity and bool(before.object == after.object)


def number(version: str) -> int:
    """A resourceVersion as a number; they are compared only within one kind. Nothing counts as the oldest.

    ValueError when it is none: an object with a version that no server gives would hide all that come later.
    """
    if version and not VERSION.fullmatch(version):
        raise ValueError(f"{version[:40]!r} is no resourceVersion")
    return int(version or 0)


class _Told(msgspec.Struct, frozen=True):
    """What one message says: an object as it is now, or without one, that it is gone from its spot."""

    word: str
    spot: Spot
    held: Held[Any] | None
    seen: Seen

    def is_left_behind(self, view: View) -> bool:
        """Whether this is the tombstone of an object that stands in another spot by now."""
        held = view.writer(self.word).held(self.seen.key) if self.held is None else None
        return held is not None and (held.partition, held.family) != self.spot

    def put(self, view: View) -> Held[Any] | None:
        """Into a view; what was there before."""
        store = view.writer(self.word)
        return store.put(self.held) if self.held else store.remove(self.seen.key)


def _told(source: Source[Any], message: Message) -> _Told:
    """Read a message; Poison or ValueError when it cannot be."""
    spot, state = source.channel.read(message)
    version = number(state.version)
    if state.object is None:
        gone = Seen(kind=source.word, key=state.key, uid=state.uid, version=version, gone=True)
        return _Told(source.word, spot, None, gone)
    held = Held(state.key, state.uid, version, state.object, spot.partition, spot.family)
    return _Told(source.word, spot, held, _seen(source.word, held))


def _seen(word: str, held: Held[Any]) -> Seen:
    metadata = getattr(held.object, "metadata", None)  # of any shape: services keep no more of it than they need
    terminating = getattr(metadata, "deletion_timestamp", None) is not None
    return Seen(kind=word, key=held.key, uid=held.uid, version=held.version, terminating=terminating)
