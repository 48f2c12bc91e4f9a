"""Who holds which fields of an object: `metadata.managedFields`, worked out only when someone wants to see it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import msgspec

from manta_embedded.store import fieldsets
from manta_embedded.store.fieldsets import NOTHING, Fields, Path
from manta_embedded.store.objects import Obj
from manta_embedded.store.shapes import Shape

UPDATERS = 10  # more are told as one
ANCIENT = "ancient-changes"
DEEPEST = 48
NAMING = ("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields", "selfLink")
UNHELD: Fields = frozenset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in NAMING)]
)


class Manager(msgspec.Struct, frozen=True, order=True):
    """Who holds fields, and how it came to them. An applier is the same in every version of the API."""

    operation: Literal["Apply", "Update"]
    name: str
    subresource: str = ""
    api_version: str = ""


class Held(msgspec.Struct, frozen=True):
    """The fields of one manager."""

    fields: Fields
    api_version: str
    time: str


Managers = Mapping[Manager, Held]


class Update(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A change of an object that was no apply."""

    old: Obj
    new: Obj
    shape: Shape
    manager: Manager
    time: str
    ignored: tuple[Path, ...] = ()
    creating: bool = False


class ManagedFields(Sequence[Obj]):
    """The entries of `managedFields`: a list to whoever reads it, a chain of changes until then."""

    def __init__(self, managers: Managers | None = None) -> None:
        self._managers = managers
        self._before: ManagedFields | None = None
        self._update: Update | None = None
        self._depth = 0
        self._entries: list[Obj] | None = None

    @classmethod
    def written(cls, entries: Sequence[Obj]) -> "ManagedFields":
        """What was written down before; it is worked out when it is needed."""
        found = cls()
        found._entries = list(entries)
        return found

    def updated(self, update: Update) -> "ManagedFields":
        """The same after a change."""
        found = ManagedFields()
        found._before, found._update, found._depth = self, update, self._depth + 1
        if found._depth > DEEPEST:
            found.managers()
        return found

    def managers(self) -> Managers:
        """Who holds what."""
        if self._managers is None and self._before is None:
            self._managers = read(self._entries or ())
        if self._managers is None:
            assert self._before is not None
            assert self._update is not None
            self._managers = after_update(self._before.managers(), self._update)
            self._before = self._update = None
            self._depth = 0
        return self._managers

    def is_empty(self) -> bool:
        """Whether it is known that nobody holds anything, which is when nothing is told any more."""
        return self._managers is not None and not self._managers

    def entries(self) -> list[Obj]:
        """As they stand in the object."""
        if self._entries is None:
            self._entries = [_entry(*one) for one in sorted(self.managers().items(), key=_order)]
        return self._entries

    @overload
    def __getitem__(self, index: int) -> Obj: ...
    @overload
    def __getitem__(self, index: slice) -> list[Obj]: ...
    def __getitem__(self, index: int | slice) -> Obj | list[Obj]:
        return self.entries()[index]

    def __len__(self) -> int:
        return len(self.entries())


def read(entries: Sequence[Obj]) -> Managers:
    """The managers that written entries stand for."""
    found: dict[Manager, Held] = {}
    for entry in entries:
        operation = entry.get("operation", "Update")
        version = entry.get("apiVersion", "")
        identity = Manager(
            operation, entry.get("manager", ""), entry.get("subresource", ""), version if operation == "Update" else ""
        )
        found[identity] = Held(fieldsets.decoded(entry.get("fieldsV1") or {}), version, entry.get("time", ""))
    return found


def after_update(managers: Managers, update: Update) -> Managers:
    """Who holds what after a change that was no apply: the writer has what it touched, the others lose that.

    Of an object of which nobody holds anything any more, nothing is told until the next apply.
    """
    if not managers and not update.creating:
        return managers
    change = fieldsets.difference(update.old, update.new, update.shape)
    touched = held_only(change.added | change.modified, update.ignored)
    gone = touched | change.removed
    own = managers.get(update.manager)
    kept = {
        one: msgspec.structs.replace(held, fields=held.fields - (change.removed if one == update.manager else gone))
        for one, held in managers.items()
    }
    if touched:
        fields = touched | (kept[update.manager].fields if own else NOTHING)
        kept[update.manager] = Held(fields, update.manager.api_version, update.time)
    return _capped({one: held for one, held in kept.items() if held.fields})


def held_only(fields: Fields, ignored: Sequence[Path]) -> Fields:
    """Without the fields that nobody holds, and those below the ignored ones."""
    kept = fields - UNHELD
    if not ignored:
        return kept
    return frozenset(path for path in kept if not any(path[: len(one)] == one for one in ignored))


def _capped(managers: Managers) -> Managers:
    """At most so many updaters: the oldest are told as one."""
    updaters = sorted((one for one in managers if one.operation == "Update"), key=lambda one: (managers[one].time, one))
    surplus = updaters[: len(updaters) - UPDATERS + 1] if len(updaters) > UPDATERS else []
    if not surplus:
        return managers
    newest = managers[surplus[-1]]
    fields = NOTHING.union(*(managers[one].fields for one in surplus))
    ancient = Manager("Update", ANCIENT, "", newest.api_version)
    kept = {one: held for one, held in managers.items() if one not in surplus}
    return {**kept, ancient: msgspec.structs.replace(newest, fields=fields)}


def _order(one: tuple[Manager, Held]) -> tuple[Any, ...]:
    manager, held = one
    return manager.operation, held.time, manager.name, held.api_version, manager.subresource


def _entry(manager: Manager, held: Held) -> Obj:
    found: Obj = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": held.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.encoded(held.fields),
    }
    optional = {"time": held.time, "subresource": manager.subresource}
    return found | {name: value for name, value in optional.items() if value}
