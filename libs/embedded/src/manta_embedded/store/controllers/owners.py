"""Who owns whom: the graph of owner references, by uid."""

from typing import NamedTuple

from manta_common.keys import Key
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.follow import Storage, uid_of
from manta_embedded.store.objects import Obj, metadata


class Item(NamedTuple):
    """One object, and no other of its name."""

    storage: Storage
    key: Key
    uid: str


class Owners:
    """Every object that is there, and the dependents of every uid, in the order in which they came."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, dict[Item, None]] = {}

    def note(self, event: Event) -> None:
        """Take notice of a commit."""
        item = Item(event.storage, event.key, uid_of(event.new))
        before = owner_uids(event.old) if event.old else []
        after = owner_uids(event.new)
        if event.type == "DELETED":
            self._items.pop(item.uid, None)
            before, after = [*before, *after], []
        else:
            self._items[item.uid] = item
        for uid in before:
            if uid not in after:
                self._forget(uid, item)
        for uid in after:
            self._dependents.setdefault(uid, {})[item] = None

    def item(self, uid: str) -> Item | None:
        """The object with a uid."""
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        """The objects that name a uid as an owner."""
        return list(self._dependents.get(uid, ()))

    def _forget(self, uid: str, item: Item) -> None:
        found = self._dependents.get(uid)
        if found is not None:
            found.pop(item, None)
            if not found:
                del self._dependents[uid]


def references(obj: Obj) -> list[Obj]:
    """The owner references of an object."""
    found: list[Obj] = metadata(obj).get("ownerReferences") or []
    return found


def owner_uids(obj: Obj) -> list[str]:
    """The uids that an object names as its owners."""
    return [reference["uid"] for reference in references(obj)]


def without_owners(obj: Obj, uids: set[str]) -> Obj:
    """An object that names these owners no more."""
    kept = [reference for reference in references(obj) if reference["uid"] not in uids]
    return _with_references(obj, kept)


def unblocking(obj: Obj) -> Obj:
    """An object that holds up the deletion of none of its owners."""
    return _with_references(obj, [{**reference, "blockOwnerDeletion": False} for reference in references(obj)])


def _with_references(obj: Obj, owners: list[Obj]) -> Obj:
    meta = {name: value for name, value in metadata(obj).items() if name != "ownerReferences"}
    return {**obj, "metadata": {**meta, "ownerReferences": owners} if owners else meta}
