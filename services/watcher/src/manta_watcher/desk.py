"""Decides what is published: which object stands in which partition, what is old news, and what is gone."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import Channel, Spot, State
from manta_common.partitions import partition_of
from manta_common.telemetry.tracing import Headers
from manta_watcher.outbox import NONE, Parcel, Sink
from manta_watcher.roots import Place, Roots, family_of, parent

TOMBSTONE_SECONDS = 2 * 3600.0
PATIENCE_SECONDS = 30.0


class Record(msgspec.Struct):
    """What was last published of an object, and which scopes show it (a bit each)."""

    spot: Spot
    uid: str
    version: int
    scopes: int


class Waiting(msgspec.Struct):
    """An object that waits for what it belongs to: since when, and which scopes show it."""

    since: float
    scopes: int


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """An object as one scope of a list or watch shows it."""

    place: Place
    object: Any
    scope: int  # its bit
    headers: Headers = NONE

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""
        metadata: ObjectMeta = self.object.metadata
        return metadata


class Desk:
    """The book of everything that was published, and the rules by which it changes."""

    def __init__(
        self,
        sink: Sink,
        channels: Mapping[str, Channel[Any]],
        *,
        partitions: int,
        parent: Callable[[str, ObjectMeta], Place | None] = parent,
        tombstone_seconds: float = TOMBSTONE_SECONDS,
    ) -> None:
        self._sink, self._channels, self._partitions, self._parent = sink, channels, partitions, parent
        self.tombstone_seconds = tombstone_seconds
        self._book: dict[Place, Record] = {}
        self._roots = Roots()
        self._withheld: dict[Place, Waiting] = {}

    @property
    def known(self) -> int:
        """How many objects are published."""
        return len(self._book)

    @property
    def withheld(self) -> int:
        """How many objects wait for what they belong to."""
        return len(self._withheld)

    def recall(self, place: Place, record: Record) -> None:
        """This stands in the stream from before. One object that stands in two spots is buried in one."""
        other = self._book.get(place)
        if other and other.spot != record.spot:
            self._bury(place, other, NONE)
        self._book[place] = record

    def see(self, sighting: Sighting, now: float) -> list[Place]:
        """Take note of an object, and publish it if it is news; what must now be looked at again."""
        place, metadata = sighting.place, sighting.metadata
        record, version = self._book.get(place), int(metadata.resource_version)
        if record and record.uid == metadata.uid and record.version > version:
            record.scopes |= sighting.scope
            return []
        news = self._roots.put(place, self._parent(place.kind, metadata))
        self._publish(sighting, version, now)
        return self._below(place) if news else []

    def vanish(self, place: Place, *, uid: str, version: int, scope: int, headers: Headers = NONE) -> None:
        """A scope shows this object no longer; when none does, it is gone."""
        record = self._book.get(place)
        if record is None:
            self.forget(place)
        elif record.uid == uid:
            record.scopes &= ~scope
            if not record.scopes:
                record.version = max(record.version, version)
                self._bury(place, record, headers)
                del self._book[place]
                self._roots.remove(place)

    def forget(self, place: Place) -> None:
        """There is no such object; if it was published, whoever shows it will say so."""
        if place not in self._book:
            self._withheld.pop(place, None)
            self._roots.remove(place)

    def listed(self, kind: str, places: set[Place], *, version: int, scope: int, headers: Headers = NONE) -> None:
        """A scope was listed whole: what it does not show has vanished from it."""
        for place, record in list(self._book.items()):
            if place.kind == kind and record.scopes & scope and place not in places:
                self.vanish(place, uid=record.uid, version=version, scope=scope, headers=headers)

    def overdue(self, now: float) -> list[Place]:
        """What has waited long enough for what it belongs to; it is to be looked at again and will be published."""
        found = {place: one for place, one in self._withheld.items() if now - one.since >= PATIENCE_SECONDS}
        for waiting in found.values():
            waiting.since = float("-inf")
        return list(found)

    def _publish(self, sighting: Sighting, version: int, now: float) -> None:
        place, record = sighting.place, self._book.get(sighting.place)
        waiting = self._withheld.pop(place, None) or Waiting(now, 0)
        waiting.scopes |= sighting.scope
        is_complete = self._roots.is_complete(place)
        if record is None and not is_complete and waiting.since != float("-inf"):
            self._withheld[place] = waiting
            return
        # Owners go before what they own: what is left of them stays where it stands, and is not moved to its end.
        stays = record is not None and record.uid == sighting.metadata.uid and not is_complete
        spot = record.spot if record and stays else self._spot(place)
        moved = record is not None and record.spot != spot
        if record and not moved and (record.uid, record.version) == (sighting.metadata.uid, version):
            record.scopes |= sighting.scope
            return
        # Whoever reads a partition whole must not take for gone what only has another family there: it is buried last.
        nearby = moved and record is not None and record.spot.partition == spot.partition
        after = self._bury(place, record, sighting.headers) if record and moved and not nearby else ""
        scopes = waiting.scopes | (record.scopes if record and record.uid == sighting.metadata.uid else 0)
        self._book[place] = Record(spot, sighting.metadata.uid, version, scopes)
        subject = self._subject(place, spot)
        self._sink.put(subject, self._parcel(sighting, after))
        if record and nearby:
            self._bury(place, record, sighting.headers, after=subject)

    def _bury(self, place: Place, record: Record, headers: Headers, *, after: str = "") -> str:
        """Publish a tombstone; its subject."""
        subject = self._subject(place, record.spot)
        state: State[Any] = State(key=place.key, uid=record.uid, version=str(record.version))
        body = self._channels[place.kind].encode(state)
        self._sink.put(subject, Parcel(body=body, ttl_seconds=self.tombstone_seconds, after=after, headers=headers))
        return subject

    def _parcel(self, sighting: Sighting, after: str) -> Parcel:
        metadata = sighting.metadata
        state = State(
            key=sighting.place.key, uid=metadata.uid, version=metadata.resource_version, object=sighting.object
        )
        body = self._channels[sighting.place.kind].encode(state)
        return Parcel(body=body, after=after, headers=sighting.headers)

    def _below(self, place: Place) -> list[Place]:
        """What belongs to an object and waited for it, or stands in a spot that is no longer its own."""
        found = []
        for child in self._roots.below(place):
            record = self._book.get(child)
            if child in self._withheld or (record and record.spot != self._spot(child)):
                found.append(child)
        return found

    def _spot(self, place: Place) -> Spot:
        line = self._roots.line(place)
        return Spot(partition_of(line[-1].key, self._partitions), family_of(line))

    def _subject(self, place: Place, spot: Spot) -> str:
        return self._channels[place.kind].subject(spot.partition, place.key, spot.family)
