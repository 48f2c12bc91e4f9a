"""The feed: what the bus says of some subjects, kept in stores that are either whole or not there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import Channel, State, word_of
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.fence import Seen
from manta_common.store import Held, Index, Store, StoreWriter

T = TypeVar("T")


class Source(Generic[T]):
    """One kind of the feed: its channel, and the indices to find its objects by."""

    def __init__(self, word: str, type_: type[T], indices: Mapping[str, Index[T]] | None = None) -> None:
        self.channel: Channel[T] = Channel(word, type_)
        self.indices = indices or {}

    @property
    def word(self) -> str:
        """The kind's word on the bus."""
        return self.channel.word


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
        """An object is new, different or gone; the view shows it already."""

    def saw(self, seen: Seen) -> None:
        """The view shows an object at this version, or that it is gone."""

    def poisoned(self, subject: str, error: str) -> None:
        """A message could not be read and was left out: a person is needed."""


class Feed:
    """Follows some subjects and keeps a view of them."""

    def __init__(self, bus: Bus, filters: Sequence[str], sources: Sequence[Source[Any]], listener: Listener) -> None:
        self._bus, self._filters, self._listener = bus, filters, listener
        self._sources = {source.word: source for source in sources}
        self._view: View | None = None
        self._coming: View | None = None
        self._gone: list[Seen] = []

    @property
    def view(self) -> View | None:
        """Everything that was said so far, or None until it is whole."""
        return self._view

    async def run(self) -> None:
        """Follow until cancelled."""
        async with self._bus.replay(self._filters) as batches:
            async for batch in batches:
                self.take(batch)

    def take(self, batch: Batch) -> None:
        """Take in what a replay passed on; a reading that began anew is shown only when it is whole."""
        if batch.fresh:
            self._coming, self._gone = View(list(self._sources.values())), []
        for message in batch.messages:
            self._read(message)
        if self._coming and batch.caught_up:
            self._swap(self._coming)

    def _read(self, message: Message) -> None:
        """Read one message; one that cannot be read is told of and left out."""
        try:
            source = self._sources.get(word_of(message.subject))
            state = source.channel.read(message)[1] if source else None
            held = _held(state) if state else None
        except (Poison, ValueError) as error:
            self._listener.poisoned(message.subject, str(error))
            return
        if source and state:
            self._keep(source.word, state, held)

    def _keep(self, word: str, state: State[Any], held: Held[Any] | None) -> None:
        """Into the view that is being built, without a word, or into the one that is shown."""
        seen = _seen(word, state)
        if self._coming:
            self._put(self._coming, word, state, held)
            if held is None:
                self._gone.append(seen)
        elif self._view:
            before = self._put(self._view, word, state, held)
            self._listener.changed(word, before, held)
            self._listener.saw(seen)

    def _put(self, view: View, word: str, state: State[Any], held: Held[Any] | None) -> Held[Any] | None:
        store = view.writer(word)
        return store.put(held) if held else store.remove(state.key)

    def _swap(self, view: View) -> None:
        """Show the new view, and tell of everything that is or was there."""
        before, self._view, self._coming = self._view, view, None
        for word, held in view:
            old = before.writer(word).held(held.key) if before else None
            self._listener.changed(word, old, held)
            self._listener.saw(_seen_held(word, held))
        for word, held in before or ():
            if view.writer(word).held(held.key) is None:
                self._listener.changed(word, held, None)
        for seen in self._gone:
            self._listener.saw(seen)
        self._gone = []


def number(version: str) -> int:
    """A resourceVersion as a number; they are compared only within one kind. Nothing counts as the oldest."""
    return int(version) if version else 0


def _held(state: State[Any]) -> Held[Any] | None:
    return None if state.object is None else Held(state.key, state.uid, number(state.version), state.object)


def _seen(word: str, state: State[Any]) -> Seen:
    held = _held(state)
    if held:
        return _seen_held(word, held)
    return Seen(kind=word, key=state.key, uid=state.uid, version=number(state.version), gone=True)


def _seen_held(word: str, held: Held[Any]) -> Seen:
    metadata = getattr(held.object, "metadata", None)
    terminating = isinstance(metadata, ObjectMeta) and metadata.deletion_timestamp is not None
    return Seen(kind=word, key=held.key, uid=held.uid, version=held.version, terminating=terminating)
