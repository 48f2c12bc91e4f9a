"""What happened to an object, and how it looks to someone who sees a part of the objects only."""

from collections.abc import Callable
from typing import Literal

import msgspec

from manta_common.keys import Key
from manta_embedded.store.objects import Obj

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
Test = Callable[[Obj], bool]


class Event(msgspec.Struct, frozen=True, eq=False):
    """One commit. Objects are as stored; `new` of a deletion is the last state under the deletion's version."""

    type: ChangeType
    storage: tuple[str, str]
    key: Key
    version: int
    old: Obj | None
    new: Obj


def seen_as(event: Event, shows: Test | None) -> ChangeType | None:
    """What an event is for those who see the objects of a selector only; None when it is nothing."""
    if shows is None or event.old is None:
        return event.type if shows is None or shows(event.new) else None
    before, after = shows(event.old), event.type != "DELETED" and shows(event.new)
    if before:
        return "MODIFIED" if after else "DELETED"
    return "ADDED" if after else None


def seen_object(event: Event, seen: ChangeType) -> Obj:
    """The object that goes with it: for one that went out of sight the last that was seen, under the new version."""
    if seen != "DELETED" or event.old is None:
        return event.new
    return {**event.old, "metadata": {**event.old["metadata"], "resourceVersion": str(event.version)}}
