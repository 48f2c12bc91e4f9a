"""All objects of one resource, their recent history, and those who watch them."""

import bisect
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from manta_common.keys import Key
from manta_embedded.store import errors
from manta_embedded.store.changes import ChangeType, Event, Test, seen_as, seen_object
from manta_embedded.store.objects import Obj

Line = tuple[ChangeType, Obj]


class Lens(msgspec.Struct, frozen=True, eq=False):
    """Which objects are seen, and in which form."""

    namespace: str = ""
    shows: Test | None = None
    form: Callable[[Obj], Obj] | None = None


class Watch:
    """Changes that wait to be read. `wake` is called when there are new ones; nothing may be written from it."""

    def __init__(self, lens: Lens, leave: Callable[["Watch"], None]) -> None:
        self._lens, self._leave = lens, leave
        self._lines: list[Line] = []
        self.wake: Callable[[], None] = lambda: None

    def pending(self) -> list[Line]:
        """What has come since the last time."""
        found, self._lines = self._lines, []
        return found

    def close(self) -> None:
        """Hear of no more changes."""
        self._leave(self)

    def show(self, event: Event) -> None:
        """Take notice of a change, if it is one for this watch."""
        lens = self._lens
        if lens.namespace and event.key.namespace != lens.namespace:
            return
        seen = seen_as(event, lens.shows)
        if seen is not None:
            obj = seen_object(event, seen)
            self._lines.append((seen, lens.form(obj) if lens.form else obj))
            self.wake()


class Bucket:
    """Objects by place, which is `namespace/name`, in the order of their places, as etcd has them."""

    def __init__(self, capacity: int, floor: int) -> None:
        self._objects: dict[str, Obj] = {}
        self._places: list[str] = []
        self._history: deque[Event] = deque()
        self._capacity = capacity
        self._watches: dict[Watch, None] = {}  # in the order they came, so that two runs are the same
        self.floor = floor  # the version after which everything is remembered

    def __len__(self) -> int:
        return len(self._objects)

    def find(self, key: Key) -> Obj | None:
        """The object of a key."""
        return self._objects.get(f"{key.namespace}/{key.name}")

    def all(self, namespace: str = "") -> Iterator[tuple[str, Obj]]:
        """Every object with its place, in order, of one namespace or of all."""
        return ((place, self._objects[place]) for place in self._range(namespace, ""))

    def at(self, version: int, namespace: str = "", after: str = "") -> Iterator[tuple[str, Obj]]:
        """The same as they were at a version, beyond a place; 410 when it is forgotten."""
        undone = self._undone(version)
        if not undone:
            return ((place, self._objects[place]) for place in self._range(namespace, after))
        return iter(sorted(self._past(undone, namespace, after)))

    def commit(self, event: Event) -> None:
        """Make a change, remember it and tell the watches."""
        place = f"{event.key.namespace}/{event.key.name}"
        if event.type == "DELETED":
            del self._objects[place]
            del self._places[bisect.bisect_left(self._places, place)]
        else:
            if event.type == "ADDED":
                bisect.insort(self._places, place)
            self._objects[place] = event.new
        self._history.append(event)
        if len(self._history) > self._capacity:
            self.floor = self._history.popleft().version
        for watch in tuple(self._watches):
            watch.show(event)

    def compact(self, version: int) -> None:
        """Forget what happened up to a version."""
        while self._history and self._history[0].version <= version:
            self._history.popleft()
        self.floor = max(self.floor, version)

    def watch(self, since: int, lens: Lens) -> Watch:
        """A watch that has what happened after a version; 410 when that is forgotten."""
        self._check(since)
        watch = self._open(lens)
        for event in self._after(since):
            watch.show(event)
        return watch

    def watch_from_now(self, lens: Lens) -> Watch:
        """A watch that begins with every object there is."""
        watch = self._open(lens)
        for place, obj in self.all(lens.namespace):
            key = Key(*place.split("/", 1))
            watch.show(Event("ADDED", ("", ""), key, 0, None, obj))
        return watch

    def _open(self, lens: Lens) -> Watch:
        watch = Watch(lens, self._leave)
        self._watches[watch] = None
        return watch

    def _leave(self, watch: Watch) -> None:
        self._watches.pop(watch, None)

    def _after(self, version: int) -> list[Event]:
        """What happened after a version, the oldest first."""
        found: list[Event] = []
        for event in reversed(self._history):
            if event.version <= version:
                break
            found.append(event)
        return found[::-1]

    def _undone(self, version: int) -> dict[str, Obj | None]:
        """What was otherwise at a version: the object that stood there, or none."""
        self._check(version)
        return {f"{event.key.namespace}/{event.key.name}": event.old for event in reversed(self._after(version))}

    def _past(self, undone: dict[str, Obj | None], namespace: str, after: str) -> Iterator[tuple[str, Obj]]:
        for place in self._range(namespace, after):
            if place not in undone:
                yield place, self._objects[place]
        for place, obj in undone.items():
            if obj is not None and place > after and (not namespace or place.startswith(f"{namespace}/")):
                yield place, obj

    def _range(self, namespace: str, after: str) -> list[str]:
        low = bisect.bisect_right(self._places, after) if after else 0
        high = len(self._places)
        if namespace:
            low = max(low, bisect.bisect_left(self._places, f"{namespace}/"))
            high = bisect.bisect_left(self._places, f"{namespace}0")  # 0 is the character after /
        return self._places[low:high]

    def _check(self, version: int) -> None:
        if version < self.floor:
            raise errors.expired(f"too old resource version: {version} ({self.floor})")
