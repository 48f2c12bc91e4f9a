"""How a write changes who holds which fields."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from manta_common.kube.protocol import Apply
from manta_embedded.store import events, managers
from manta_embedded.store.applying import Application, applied
from manta_embedded.store.fieldsets import Path
from manta_embedded.store.kinds import Served
from manta_embedded.store.managers import ManagedFields, Manager, Managers, Update
from manta_embedded.store.objects import EMPTY, Obj, metadata
from manta_embedded.store.validation import WRITABLE
from manta_embedded.store.writers import Writer

Change = tuple[Obj | None, Obj]  # what is there, and what is given for it
Track = Callable[[Obj | None, Obj], ManagedFields]
# Built-in kinds have these parts even when they are empty, so that who fills them does not hold the parts themselves.
BLANK: Obj = {"metadata": {}, "spec": {}, "status": {}}
BLANKS: dict[str, Obj] = {
    "pods": {**BLANK, "spec": {"containers": []}},
    "jobs": {**BLANK, "spec": {"template": {"metadata": {}, "spec": {"containers": []}}}},
    "persistentvolumeclaims": {**BLANK, "spec": {"resources": {}}},
    "networkpolicies": {**BLANK, "spec": {"podSelector": {}}},
    "customresourcedefinitions": {**BLANK, "spec": {"names": {}}},
    "events": {**BLANK, **events.CORE_ALWAYS, **events.OWN_ALWAYS},
}
NEVER_APPLIED = ("creationTimestamp", "generation", "resourceVersion", "selfLink", "uid", "managedFields")


class Write(msgspec.Struct, frozen=True, eq=False):
    """A write as far as fields are held: which part it is of, what it does to their managers, and whether it does."""

    subresource: str
    track: Track
    touches: bool = False


def by_updater(served: Served, writer: Writer, time: str, change: Change, subresource: str = "") -> Write:
    """A create, an update or a patch: the writer holds what it changes."""
    old, given = change
    manager = Manager("Update", writer.manager, subresource, served.kind.api_version)
    stated = None if subresource else metadata(given).get("managedFields")
    touches = isinstance(stated, list) and old is not None and _is_otherwise(old, stated)

    def track(before: Obj | None, new: Obj) -> ManagedFields:
        held = _held(before, stated)
        if before is not None and held.is_empty():
            return held
        if served.conversions:
            before = before and served.shown(before)
            new = served.shown(new)
        blank = EMPTY if served.custom else BLANKS.get(served.kind.plural, BLANK)
        was, becomes = _changed_parts(blank if before is None else before, new)
        return held.updated(
            Update(
                old=was,
                new=becomes,
                shape=served.shape,
                manager=manager,
                time=time,
                ignored=_ignored(served, subresource),
                creating=before is None,
            )
        )

    return Write(subresource, track, touches)


def by_applier(served: Served, patch: Apply, time: str, change: Change, subresource: str = "") -> tuple[Obj, Write]:
    """An apply: the object as the applier wants it, and who holds what then."""
    old, config = change
    application = Application(
        config=_bare(config),
        shape=served.shape,
        manager=Manager("Apply", patch.manager, subresource),
        api_version=served.kind.api_version,
        time=time,
        force=patch.force,
        ignored=_ignored(served, subresource),
    )
    before: Managers = old["metadata"]["managedFields"].managers() if old else {}
    live = _bare(served.shown(old)) if old else {}
    new, after = applied(live, before, application)
    version = metadata(config).get("resourceVersion")
    obj = {**new, "metadata": {**metadata(new), "resourceVersion": version}} if version and old else new
    touches = {one: held.fields for one, held in before.items()} != {one: held.fields for one, held in after.items()}
    return obj, Write(subresource, lambda _old, _new: ManagedFields(after), touches)


def _held(old: Obj | None, stated: Any) -> ManagedFields:
    """What was held before a write: as the writer states it, else as it is."""
    if isinstance(stated, list):
        return ManagedFields({} if stated in ([], [{}]) else managers.read(stated))
    if old is None:
        return ManagedFields({})
    found: ManagedFields = old["metadata"]["managedFields"]
    return found


def _changed_parts(old: Obj, new: Obj) -> tuple[Obj, Obj]:
    """What of an object is not the same any more; only that is kept until someone asks who holds it."""
    parts = [part for part in {**old, **new} if part != "metadata" and old.get(part) is not new.get(part)]
    before, after = metadata(old), metadata(new)
    named = [part for part in (*WRITABLE, "generateName") if before.get(part) is not after.get(part)]
    return _only(old, parts, named), _only(new, parts, named)


def _only(obj: Obj, parts: Sequence[str], named: Sequence[str]) -> Obj:
    meta = metadata(obj)
    found = {part: obj[part] for part in parts if part in obj}
    found["metadata"] = {part: meta[part] for part in named if part in meta}
    return found


def _is_otherwise(old: Obj, stated: list[Obj]) -> bool:
    """Whether a writer states other holders than there are; times do not count."""
    held: Managers = old["metadata"]["managedFields"].managers()
    after = {} if stated in ([], [{}]) else managers.read(stated)
    return {one: kept.fields for one, kept in held.items()} != {one: kept.fields for one, kept in after.items()}


def _ignored(served: Served, subresource: str) -> tuple[Path, ...]:
    """The parts that a write through this path cannot change."""
    if subresource == "status":
        return (("f:spec",),)
    return (("f:status",),) if served.status else ()


def _bare(obj: Obj) -> Obj:
    """An object without what cannot be applied."""
    meta = {name: value for name, value in metadata(obj).items() if name not in NEVER_APPLIED}
    return {**obj, "metadata": meta}
