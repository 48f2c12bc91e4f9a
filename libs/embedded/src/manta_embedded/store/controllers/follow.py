"""How controllers learn of what there is and of what happens, and name what they write."""

from collections.abc import Callable
from typing import Final

from manta_common.keys import Key
from manta_embedded.store.changes import Event
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, metadata
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer

Storage = tuple[str, str]
Note = Callable[[Event], None]
WRITER: Final = Writer(manager="kube-controller-manager")
EVENTS: Final = "events"


def follow(store: Store, note: Note) -> None:
    """Tell a controller of everything there is, then of every commit."""
    for served in resources(store):
        for _, obj in store.bucket(served.storage).all():
            note(Event("ADDED", served.storage, key_of(obj), 0, None, obj))
    store.subscribe(note)


def resources(store: Store) -> list[Served]:
    """Every resource once, in the version in which it is stored."""
    found: dict[Storage, Served] = {}
    for served in store.registry.all():
        if served.conversions is None:
            found.setdefault(served.storage, served)
    return list(found.values())


def resource(store: Store, storage: Storage) -> Served | None:
    """A resource in the version in which it is stored; None when it is served no more."""
    return next((served for served in resources(store) if served.storage == storage), None)


def key_of(obj: Obj) -> Key:
    """The key of an object."""
    meta = metadata(obj)
    return Key(meta.get("namespace", ""), meta["name"])


def uid_of(obj: Obj) -> str:
    """The uid of an object."""
    uid: str = metadata(obj)["uid"]
    return uid


def controller_of(obj: Obj) -> Obj | None:
    """The owner that controls an object, as the object names it."""
    owners: list[Obj] = metadata(obj).get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)
