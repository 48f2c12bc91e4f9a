"""The garbage collector: what has lost its last owner is deleted, in the background or foreground, or set free."""

from datetime import datetime
from typing import NamedTuple

from manta_common.keys import Key
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers import follow
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.controllers.owners import (
    Item,
    Owners,
    owner_uids,
    references,
    unblocking,
    without_owners,
)
from manta_embedded.store.deletion import FOREGROUND, ORPHAN, Deletion, Propagation
from manta_embedded.store.objects import Obj, is_terminating, metadata, with_metadata
from manta_embedded.store.store import Store


class Sorted(NamedTuple):
    """The owners of an object: those that are there, those that are not, those that wait for their dependents to go."""

    solid: list[Obj]
    dangling: list[Obj]
    waiting: list[Obj]


class GarbageCollector:
    """Looks at one object in a step."""

    def __init__(self, store: Store) -> None:
        self._store, self._owners = store, Owners()
        self._agenda: Agenda[Item] = Agenda()
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next object; False when there is none to look at."""
        item = self._agenda.take(self._store.now())
        if item is not None:
            self._look_at(item)
        return item is not None

    def due(self) -> datetime | None:
        """When there is something to look at."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage[1] == follow.EVENTS:
            return
        self._owners.note(event)
        item = Item(event.storage, event.key, follow.uid_of(event.new))
        if event.type == "DELETED":
            self._add_all(self._owners.dependents(item.uid))
            self._add_owners(event.old or event.new)
        else:
            self._note_change(item, event)

    def _note_change(self, item: Item, event: Event) -> None:
        old, new = event.old, event.new
        owned_before = references(old) if old else []
        if references(new) != owned_before:
            self._agenda.add(item)
            self._add_owners(old or new)
        if _deletes_dependents(new) and not (old and _deletes_dependents(old)):
            self._add_all([*self._owners.dependents(item.uid), item])
        if _orphans(new) and not (old and _orphans(old)):
            self._agenda.add(item)

    def _add_all(self, items: list[Item]) -> None:
        for item in items:
            self._agenda.add(item)

    def _add_owners(self, obj: Obj) -> None:
        """Owners may have waited for this object."""
        self._add_all([item for uid in owner_uids(obj) if (item := self._owners.item(uid))])

    def _look_at(self, item: Item) -> None:
        obj = self._object(item)
        if obj is None:
            return
        if _orphans(obj):
            self._orphan(item, obj)
        elif _deletes_dependents(obj):
            self._wait_for_dependents(item, obj)
        elif not is_terminating(obj) and references(obj):
            self._collect(item, obj)

    def _collect(self, item: Item, obj: Obj) -> None:
        owners = self._sorted(item, obj)
        if owners is None or (owners.solid and not owners.dangling and not owners.waiting):
            return
        if owners.solid:
            gone = {reference["uid"] for reference in (*owners.dangling, *owners.waiting)}
            self._update(item, without_owners(obj, gone))
        elif owners.waiting and self._owners.dependents(item.uid):
            self._delete_with_dependents(item, obj)
        else:
            self._delete(item, obj, _propagation(obj))

    def _delete_with_dependents(self, item: Item, obj: Obj) -> None:
        dependents = [self._object(dependent) for dependent in self._owners.dependents(item.uid)]
        if any(dependent is not None and _deletes_dependents(dependent) for dependent in dependents):
            obj = self._update(item, unblocking(obj))  # it may own its own owner: none may wait for the other
        self._delete(item, obj, "Foreground")

    def _wait_for_dependents(self, item: Item, obj: Obj) -> None:
        blocking = [dependent for dependent in self._owners.dependents(item.uid) if self._blocks(dependent, item.uid)]
        if not blocking:
            self._update(item, _without_finalizer(obj, FOREGROUND))
        for dependent in blocking:
            found = self._object(dependent)
            if found is not None and not is_terminating(found):
                self._agenda.add(dependent)

    def _orphan(self, item: Item, obj: Obj) -> None:
        for dependent in self._owners.dependents(item.uid):
            found = self._object(dependent)
            if found is not None:
                self._update(dependent, without_owners(found, {item.uid}))
        self._update(item, _without_finalizer(obj, ORPHAN))

    def _blocks(self, dependent: Item, uid: str) -> bool:
        found = self._object(dependent)
        owners = references(found) if found is not None else []
        return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)

    def _sorted(self, item: Item, obj: Obj) -> Sorted | None:
        """None when an owner cannot be looked for: its kind is not served, or is namespaced and the object is not."""
        found = Sorted([], [], [])
        for reference in references(obj):
            served = self._store.registry.by_name(reference["apiVersion"], reference["kind"])
            if served is None or (served.kind.namespaced and not item.key.namespace):
                return None
            key = Key(item.key.namespace if served.kind.namespaced else "", reference["name"])
            owner = self._store.bucket(served.storage).find(key)
            if owner is None or follow.uid_of(owner) != reference["uid"]:
                found.dangling.append(reference)
            elif _deletes_dependents(owner):
                found.waiting.append(reference)
            else:
                found.solid.append(reference)
        return found

    def _object(self, item: Item) -> Obj | None:
        found = self._store.bucket(item.storage).find(item.key)
        return found if found is not None and follow.uid_of(found) == item.uid else None

    def _update(self, item: Item, obj: Obj) -> Obj:
        served = follow.resource(self._store, item.storage)
        return self._store.update(served.kind, item.key, obj, follow.WRITER) if served else obj

    def _delete(self, item: Item, obj: Obj, propagation: Propagation) -> None:
        served = follow.resource(self._store, item.storage)
        if served is not None:
            version = metadata(obj)["resourceVersion"]
            self._store.delete(served.kind, item.key, Deletion(uid=item.uid, version=version, propagation=propagation))


def _deletes_dependents(obj: Obj) -> bool:
    return is_terminating(obj) and FOREGROUND in metadata(obj).get("finalizers", ())


def _orphans(obj: Obj) -> bool:
    return is_terminating(obj) and ORPHAN in metadata(obj).get("finalizers", ())


def _propagation(obj: Obj) -> Propagation:
    finalizers = metadata(obj).get("finalizers", ())
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _without_finalizer(obj: Obj, name: str) -> Obj:
    kept = [finalizer for finalizer in metadata(obj).get("finalizers", ()) if finalizer != name]
    return with_metadata(obj, finalizers=kept or None)
