"""What a service knows of the objects of one kind: one writer, many readers, by key and by index."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from manta_common.keys import Key

T = TypeVar("T")
Index = Callable[[T], Iterable[Hashable]]


class Held(msgspec.Struct, Generic[T], frozen=True):
    """One object with its identity, and the partition and the family where it was last seen."""

    key: Key
    uid: str
    version: int
    object: T
    partition: int = 0
    family: str = ""


class Store(Generic[T]):
    """The readers' side. What it returns never changes; a change is another object."""

    def __init__(self, indices: Mapping[str, Index[T]] | None = None) -> None:
        self._indices = dict(indices or {})
        self._held: dict[Key, Held[T]] = {}
        self._found: dict[tuple[str, Hashable], dict[Key, None]] = {}

    def get(self, key: Key) -> T | None:
        """The object of this key."""
        held = self._held.get(key)
        return held.object if held else None

    def held(self, key: Key) -> Held[T] | None:
        """The object of this key with its identity."""
        return self._held.get(key)

    def find(self, index: str, value: Hashable) -> list[T]:
        """The objects that an index files under a value, in order of their keys."""
        return [self._held[key].object for key in sorted(self._found.get((index, value), ()))]

    def __iter__(self) -> Iterator[Held[T]]:
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)


class StoreWriter(Store[T]):
    """The feed's side."""

    def put(self, held: Held[T]) -> Held[T] | None:
        """Keep an object unless a newer state of it is kept already; what was kept before."""
        before = self._held.get(held.key)
        if before and not _is_news(before, held):
            return before
        if before:
            self._unfile(before)
        self._held[held.key] = held
        for place in self._places(held):
            self._found.setdefault(place, {})[held.key] = None
        return before

    def remove(self, key: Key) -> Held[T] | None:
        """Forget an object; what was kept."""
        before = self._held.pop(key, None)
        if before:
            self._unfile(before)
        return before

    def _unfile(self, held: Held[T]) -> None:
        for place in self._places(held):
            self._found[place].pop(held.key, None)
            if not self._found[place]:
                del self._found[place]

    def _places(self, held: Held[T]) -> Iterator[tuple[str, Hashable]]:
        for name, index in self._indices.items():
            for value in set(index(held.object)):
                yield name, value


def _is_news(before: Held[T], held: Held[T]) -> bool:
    """Whether it is another object, a newer state, or the same state in another spot."""
    if before.uid != held.uid:
        return True
    moved = (held.partition, held.family) != (before.partition, before.family)
    return held.version > before.version or (held.version == before.version and moved)
