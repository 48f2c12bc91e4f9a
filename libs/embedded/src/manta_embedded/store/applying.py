"""Server-side apply: what is wanted is merged in, what no longer is goes, what others hold is a conflict."""

from collections.abc import Sequence

import msgspec

from manta_embedded.store import errors, fieldsets, merging
from manta_embedded.store.fieldsets import NOTHING, Fields, Path
from manta_embedded.store.managers import Held, Manager, Managers, held_only
from manta_embedded.store.objects import Obj
from manta_embedded.store.shapes import Shape

BEFORE_FIRST_APPLY = "before-first-apply"
Conflicts = dict[Manager, Fields]


class Application(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One apply: what, by whom, when."""

    config: Obj
    shape: Shape
    manager: Manager
    api_version: str
    time: str
    force: bool
    ignored: tuple[Path, ...] = ()


def applied(live: Obj, managers: Managers, application: Application) -> tuple[Obj, Managers]:
    """The object after an apply, and who holds what then; 409 when others hold what is to be changed."""
    shape, own = application.shape, application.manager
    known = dict(managers) or _unknown_holders(live, application)
    last = known[own].fields if own in known else NOTHING
    given = fieldsets.fields_of(application.config, shape)
    merged = merging.merged(live, application.config, shape)
    others = [held.fields for one, held in known.items() if one != own]
    new = _pruned(merged, [given, *others], last, shape)
    time = application.time if new != live else managers[own].time if own in managers else ""
    known[own] = Held(held_only(given, application.ignored), application.api_version, time)
    change = fieldsets.difference(live, new, shape)
    touched = held_only(change.added | change.modified, application.ignored)
    conflicts = {one: held.fields & touched for one, held in known.items() if one != own and held.fields & touched}
    if conflicts and not application.force:
        raise _conflict(conflicts)
    lost = touched | change.removed
    left = {
        one: held if one == own else msgspec.structs.replace(held, fields=held.fields - lost)
        for one, held in known.items()
    }
    return new, {one: held for one, held in left.items() if held.fields}


def _unknown_holders(live: Obj, application: Application) -> dict[Manager, Held]:
    """An object of which nobody is known to hold anything; its fields are those of a manager made up for it."""
    fields = held_only(fieldsets.difference({}, live, application.shape).added, application.ignored)
    if not fields:
        return {}
    version = application.api_version
    manager = Manager("Update", BEFORE_FIRST_APPLY, "", version)
    return {manager: Held(fields, version, application.time)}


def _pruned(merged: Obj, held_by: Sequence[Fields], last: Fields, shape: Shape) -> Obj:
    """Without what the applier had applied before and nobody holds now, itself included."""
    if not last:
        return merged
    whole = merging.with_named_members(fieldsets.fields_of(merged, shape), shape)
    before = merging.with_named_members(last, shape)
    bare = _left(merging.without(merged, before, shape))
    kept = merging.with_named_members(fieldsets.fields_of(bare, shape), shape)
    held = NOTHING.union(*(merging.with_named_members(fields, shape) for fields in held_by))
    restored = _left(merging.without(merged, whole - (kept | held), shape))
    restored_fields = merging.with_named_members(fieldsets.fields_of(restored, shape), shape)
    return _left(merging.without(merged, (whole - restored_fields) & before, shape))


def _left(value: Obj | None) -> Obj:
    return value or {}


def _conflict(conflicts: Conflicts) -> errors.StatusError:
    paths = [
        (manager, path) for manager in sorted(conflicts, key=_name) for path in sorted(conflicts[manager], key=_place)
    ]
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_shown(manager)}",
            "field": fieldsets.shown(path),
        }
        for manager, path in paths
    ]
    return errors.StatusError(409, "Conflict", _message(paths), {"causes": causes})


def _message(paths: Sequence[tuple[Manager, Path]]) -> str:
    if len(paths) == 1:
        manager, path = paths[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(manager)}: {fieldsets.shown(path)}"
    lines: list[str] = []
    for number, (manager, path) in enumerate(paths):
        if number == 0 or paths[number - 1][0] != manager:
            lines.append(f"conflicts with {_shown(manager)}:")
        lines.append(f"- {fieldsets.shown(path)}")
    return f"Apply failed with {len(paths)} conflicts: " + "\n".join(lines)


def _shown(manager: Manager) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    return f"{text} using {manager.api_version}" if manager.operation == "Update" else text


def _place(path: Path) -> list[tuple[bool, str]]:
    """Fields come before what is below their neighbours."""
    return [(number < len(path), element) for number, element in enumerate(path, start=1)]


def _name(manager: Manager) -> tuple[str, ...]:
    return manager.name, manager.operation, manager.api_version, manager.subresource
