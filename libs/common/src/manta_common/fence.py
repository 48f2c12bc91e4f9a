"""Holds a key until its view shows what was last written for it, so that no decision is made on an older view."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

import msgspec

from manta_common.errors import NotCaughtUp
from manta_common.keys import Key
from manta_common.kinds import Kind

K = TypeVar("K", bound=Hashable)
PATIENCE_SECONDS = 10.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the feed showed of one object; `gone` when it was deleted, `terminating` when that has begun."""

    kind: str
    key: Key
    uid: str
    version: int
    gone: bool = False
    terminating: bool = False


class _Awaited(msgspec.Struct, frozen=True):
    """A write is awaited at a version; a deletion until that uid is gone or terminating."""

    uid: str
    version: int | None
    since: float


class Recorder(Protocol):
    """Who is told how the fence does; for telemetry."""

    def waited(self, seconds: float) -> None:
        """A write has come back after so long."""

    def verified(self, cause: str) -> None:
        """A view was compared with the API server's, after it was `taken_over` or because a write was `overdue`."""


Shown = Callable[[K, str, Key], Seen | None]


class Fence(Generic[K]):
    """For each key, the writes that its view does not show yet.

    `shown` tells what the view of a key shows of an object of a kind at this moment, None if that cannot be said: what
    was written may come by the feed before the answer to the write does.
    """

    def __init__(
        self, clock: Callable[[], float], recorder: Recorder | None = None, shown: Shown[K] = lambda *_: None
    ) -> None:
        self._clock, self._recorder, self._shown = clock, recorder, shown
        self._awaited: dict[K, dict[tuple[str, Key], _Awaited]] = {}
        self._holders: dict[tuple[str, Key], set[K]] = {}
        self._verified: set[K] = set()

    def wrote(self, key: K, kind: Kind, child: Key, *, uid: str, version: str) -> None:
        """An object was created, patched or given a status for this key; the server answered with this version."""
        self._await(key, (kind.name, child), _Awaited(uid, int(version), self._clock()))

    def deleted(self, key: K, kind: Kind, child: Key, *, uid: str) -> None:
        """An object was deleted for this key."""
        self._await(key, (kind.name, child), _Awaited(uid, None, self._clock()))

    def ended(self, key: K, kind: Kind, child: Key, *, version: str) -> None:
        """The last finalizer of an object was taken; the server answered with the version from before its end."""
        self._await(key, (kind.name, child), _Awaited("", int(version) + 1, self._clock()))

    def saw(self, seen: Seen) -> set[K]:
        """The feed shows this; the keys that nothing holds back any more."""
        place = (seen.kind, seen.key)
        freed = set()
        for key in [holder for holder in self._holders.get(place, ()) if _shows(seen, self._awaited[holder][place])]:
            if self._came_back(key, place):
                freed.add(key)
        return freed

    def check(self, key: K) -> None:
        """NotCaughtUp while a write of this key has not come back."""
        for (kind, child), awaited in self._awaited.get(key, {}).items():
            raise NotCaughtUp(f"{kind} {child} is not seen yet as it was written {self._age(awaited):.1f} s ago")

    def is_holding(self, key: K) -> bool:
        """Whether a write of this key has not come back."""
        return key in self._awaited

    def is_overdue(self, key: K) -> bool:
        """Whether a write has not come back for so long that the API server itself should be asked."""
        return key in self._awaited and self.held_seconds(key) is None

    def held_seconds(self, key: K) -> float | None:
        """How long a pass could do nothing for this key, unless its writes come back; None when it can now."""
        awaited = self._awaited.get(key)
        if not awaited:
            return None
        left = PATIENCE_SECONDS - max(map(self._age, awaited.values()))
        return left if left > 0 else None

    def is_verified(self, key: K) -> bool:
        """Whether the view of this key was compared with the API server's since it was taken over."""
        return key in self._verified

    def verified(self, key: K) -> None:
        """The view of this key was compared with the API server's and is right: nothing holds it back."""
        if self._recorder:
            self._recorder.verified("overdue" if self.is_overdue(key) else "taken_over")
        self._drop(key)
        self._verified.add(key)

    def trust(self, key: K) -> None:
        """The view of this key need not be compared: nobody else can have acted for it."""
        self._verified.add(key)

    def lose(self, key: K) -> None:
        """Nothing is left of this key; should there be something again, its view is compared like any other."""
        self._verified.discard(key)

    def forget(self, belongs: Callable[[K], bool]) -> None:
        """Somebody else works on these keys from now on."""
        for key in [key for key in self._awaited if belongs(key)]:
            self._drop(key)
        self.doubt(belongs)

    def doubt(self, belongs: Callable[[K], bool]) -> None:
        """What the views of these keys show may be older than it was: they are compared before the next act."""
        self._verified = {key for key in self._verified if not belongs(key)}

    @property
    def held(self) -> int:
        """How many keys wait for their own writes."""
        return len(self._awaited)

    def _await(self, key: K, place: tuple[str, Key], awaited: _Awaited) -> None:
        self._awaited.setdefault(key, {})[place] = awaited
        self._holders.setdefault(place, set()).add(key)
        shown = self._shown(key, *place)
        if shown and _shows(shown, awaited):
            self._came_back(key, place)

    def _came_back(self, key: K, place: tuple[str, Key]) -> bool:
        """The view shows a write; whether it was the last that its key waited for."""
        if self._recorder:
            self._recorder.waited(self._age(self._awaited[key][place]))
        return self._release(key, place)

    def _release(self, key: K, place: tuple[str, Key]) -> bool:
        """Stop waiting for one write; whether it was the last of its key."""
        del self._awaited[key][place]
        self._holders[place].discard(key)
        if not self._holders[place]:
            del self._holders[place]
        if not self._awaited[key]:
            del self._awaited[key]
        return key not in self._awaited

    def _drop(self, key: K) -> None:
        for place in list(self._awaited.get(key, {})):
            self._release(key, place)

    def _age(self, awaited: _Awaited) -> float:
        return self._clock() - awaited.since


def _shows(seen: Seen, awaited: _Awaited) -> bool:
    if awaited.version is not None:
        return seen.version >= awaited.version
    return seen.gone or seen.terminating or seen.uid != awaited.uid
