"""A Kubernetes API in memory: objects, versions, watches. No threads, no clock and no chance but those given."""

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from manta_common.clock import Clock
from manta_common.keys import Key
from manta_common.kinds import POD, Kind
from manta_common.kube.protocol import Patch
from manta_embedded.store import errors, listing, queries, subresources
from manta_embedded.store.addresses import Addresses
from manta_embedded.store.admission import Admission
from manta_embedded.store.bootstrap import first_objects
from manta_embedded.store.buckets import Bucket, Watch
from manta_embedded.store.builtin import builtin_kinds
from manta_embedded.store.changes import ChangeType, Event
from manta_embedded.store.definitions import Definitions
from manta_embedded.store.deletion import AT_ONCE, Deletion
from manta_embedded.store.kinds import Registry, Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import EVERYTHING, Page, Query
from manta_embedded.store.strategic import StrategicPatch
from manta_embedded.store.writers import UNKNOWN, Writer
from manta_embedded.store.writing import Writing

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
FIRST_VERSION = 100  # so that there are versions from before the store's memory, as there are on any real server
HISTORY = 10_000
Listener = Callable[[Event], None]
Saved = tuple[int, Iterable[tuple[tuple[str, str], Key, Obj]]]  # the version, and every object


class Store:
    """All of one API. Objects that it hands out or is given are shared and never changed, by nobody."""

    def __init__(  # noqa: PLR0913  everything about a store is said once, here
        self,
        clock: Clock,
        rng: random.Random,
        *,
        admissions: Sequence[Admission] = (),
        epoch: datetime = EPOCH,
        history: int = HISTORY,
        saved: Saved | None = None,
    ) -> None:
        self.clock, self.rng = clock, rng
        self.registry = Registry(builtin_kinds())
        self.admissions = list(admissions)
        self.version = FIRST_VERSION
        self._began_at, self._epoch = clock.monotonic(), epoch
        self._capacity, self._floor = history, FIRST_VERSION
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._listeners: dict[int, Listener] = {}
        addresses = Addresses(rng)
        self._writing = Writing(self, addresses)
        self.subscribe(addresses.note)
        self.subscribe(Definitions(self.registry).note)
        self._rehearsing = False
        if saved is None:
            for kind, obj in first_objects():
                self.create(kind, obj["metadata"].get("namespace", ""), obj)
        else:
            self._restore(*saved)
        self.compact()

    def now(self) -> datetime:
        """The time of this API."""
        return self._epoch + timedelta(seconds=self.clock.monotonic() - self._began_at)

    def get(self, kind: Kind, key: Key, *, subresource: str = "") -> Obj:
        """One object, or a part of it; 404 when there is none."""
        served = self.registry.find(kind)
        subresources.check(served, subresource)
        found = self.bucket(served.storage).find(key)
        if found is None:
            raise errors.not_found(served, key.name)
        shown = served.shown(found)
        return subresources.scale_of(served, shown) if subresource == "scale" else shown

    def find(self, kind: Kind, key: Key) -> Obj | None:
        """One object, or None."""
        served = self.registry.find(kind)
        found = self.bucket(served.storage).find(key)
        return None if found is None else served.shown(found)

    def objects(self, kind: Kind, namespace: str = "") -> Iterator[Obj]:
        """Every object of a kind in order, of one namespace or of all; nothing may be written while it is read."""
        served = self.registry.find(kind)
        return (served.shown(obj) for _, obj in self.bucket(served.storage).all(namespace))

    def list(self, kind: Kind, query: Query = EVERYTHING) -> Page:
        """A page of objects as they were at one version, in order."""
        served = self.registry.find(kind)
        return listing.page(self.bucket(served.storage), served, query, self.version)

    def watch(self, kind: Kind, query: Query = EVERYTHING, *, since: str) -> Watch:
        """What changes after a version; after none, or 0, it begins with what there is. 410: list again."""
        served = self.registry.find(kind)
        lens = listing.lens(served, query)
        bucket = self.bucket(served.storage)
        version = queries.parsed_version(since) if since else 0
        return bucket.watch(version, lens) if version else bucket.watch_from_now(lens)

    def create(self, kind: Kind, namespace: str, body: Obj, writer: Writer = UNKNOWN) -> Obj:
        """Create an object; what became of it."""
        served = self.registry.find(kind)
        return served.shown(self._writing.create(served, namespace, body, writer))

    def update(self, kind: Kind, key: Key, body: Obj, writer: Writer = UNKNOWN, *, subresource: str = "") -> Obj:
        """Replace an object, or the part that a subresource is; what became of it."""
        served = self.registry.find(kind)
        made = self._writing.update(served, key, body, writer, subresource=subresource)
        return made if subresource == "scale" else served.shown(made)

    def patch(
        self, kind: Kind, key: Key, patch: Patch | StrategicPatch, writer: Writer = UNKNOWN, *, subresource: str = ""
    ) -> Obj:
        """Change an object, or the part that a subresource is; what became of it."""
        served = self.registry.find(kind)
        made = self._writing.patch(served, key, patch, writer, subresource=subresource)
        return made if subresource == "scale" else served.shown(made)

    def delete(self, kind: Kind, key: Key, options: Deletion = AT_ONCE) -> Obj:
        """Begin a deletion, and end it where nothing holds the object; the object as it is or was."""
        served = self.registry.find(kind)
        return served.shown(self._writing.delete(served, key, options))

    def bind(self, key: Key, node: str) -> Obj:
        """Put a pod on a node, as a scheduler does; 409 when it is on one."""
        return self._writing.bind(self.registry.find(POD), key, node)

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Within it writes are checked and answered, and nothing comes of them (`dryRun`)."""
        self._rehearsing = True
        try:
            yield
        finally:
            self._rehearsing = False

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have every commit told at once, in order; call the result to end it. A listener writes nothing."""
        number = max(self._listeners, default=0) + 1
        self._listeners[number] = listener
        return lambda: self._listeners.pop(number, None) and None

    def compact(self, version: int | None = None) -> None:
        """Forget what happened up to a version, all of it by default."""
        self._floor = max(self._floor, self.version if version is None else version)
        for bucket in self._buckets.values():
            bucket.compact(self._floor)

    def bucket(self, storage: tuple[str, str]) -> Bucket:
        """Where the objects of a resource are."""
        found = self._buckets.get(storage)
        if found is None:
            found = self._buckets[storage] = Bucket(self._capacity, self._floor)
        return found

    def everything(self) -> Iterator[tuple[tuple[str, str], Key, Obj]]:
        """Every object as it is stored, with its storage; nothing may be written while it is read."""
        for storage, bucket in self._buckets.items():
            for place, obj in bucket.all():
                yield storage, Key(*place.split("/", 1)), obj

    def commit(self, served: Served, key: Key, old: Obj | None, new: Obj | None) -> Obj:
        """Store an object, or remove it when `new` is None, under the next version, and tell everyone."""
        if self._rehearsing:
            return new or old or {}
        self.version += 1
        happened: ChangeType = "DELETED" if new is None else "MODIFIED" if old else "ADDED"
        state = new or old
        assert state is not None
        state = {**state, "metadata": {**state["metadata"], "resourceVersion": str(self.version)}}
        event = Event(happened, served.storage, key, self.version, old, state)
        self.bucket(served.storage).commit(event)
        for listener in tuple(self._listeners.values()):
            listener(event)
        return state

    def _restore(self, version: int, objects: Iterable[tuple[tuple[str, str], Key, Obj]]) -> None:
        for storage, key, obj in objects:
            event = Event("ADDED", storage, key, int(obj["metadata"]["resourceVersion"]), None, obj)
            self.bucket(storage).commit(event)
            for listener in tuple(self._listeners.values()):
                listener(event)
        self.version = max(version, FIRST_VERSION)
