"""What a structural schema makes of an object: defaults are set, unknown fields dropped; nothing changes in place."""

from collections.abc import Iterator
from typing import Any, Final

from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.node import Node

TYPE_AND_METADATA: Final = frozenset(("apiVersion", "kind", "metadata"))
METADATA_FIELDS: Final = frozenset(
    (
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
_NOTHING: Final = Node({})


def shaped(obj: Obj, root: Node) -> Obj:
    """An object as its schema has it; the same object when there is nothing to change."""
    return _object(obj, root, resource=True)


def unknown_fields(obj: Obj, root: Node) -> list[str]:
    """The paths of what `shaped` drops, in order."""
    return sorted(_unknown(obj, shaped(obj, root), ""))


def with_known_metadata(obj: Obj) -> Obj:
    """An object without metadata that no object has; the same object when there is none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or metadata.keys() <= METADATA_FIELDS:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name in METADATA_FIELDS}}


def _value(value: Any, node: Node, *, keeping: bool = False) -> Any:
    if isinstance(value, dict):
        return _object(value, node, resource=node.is_resource, keeping=keeping)
    if isinstance(value, list):
        return _list(value, node, keeping=keeping)
    return value


def _object(value: Obj, node: Node, *, resource: bool, keeping: bool = False) -> Obj:
    """Go over the fields that are there (a null where none is allowed is not), then over the defaults of the others."""
    found, changed = {}, False
    for name, part in value.items():
        child = node.child(name)
        if resource and name in TYPE_AND_METADATA:
            found[name] = part
        elif child is not None and (part is not None or child.nullable or "default" in child.schema):
            found[name] = _field(part, child)
            changed = changed or found[name] is not part
        elif child is None and (keeping or node.preserves):
            found[name] = part
        else:
            changed = True
    for name, default, child in node.defaults:
        if name not in value:
            found[name], changed = _value(default, child), True
    whole = found if changed else value
    return with_known_metadata(whole) if resource else whole


def _field(part: Any, child: Node) -> Any:
    if part is None and not child.nullable:
        part = child.schema.get("default")
    return _value(part, child)


def _list(value: list[Any], node: Node, *, keeping: bool) -> list[Any]:
    keeping = keeping or node.preserves
    items = node.items or (None if keeping else _NOTHING)
    if items is None:
        return value
    found = [
        items.schema.get("default") if part is None and not items.nullable else _value(part, items, keeping=keeping)
        for part in value
    ]
    return found if any(new is not old for new, old in zip(found, value, strict=True)) else value


def _unknown(before: Any, after: Any, path: str) -> Iterator[str]:
    if before is after:
        return
    if isinstance(before, dict):
        for name, part in before.items():
            place = f"{path}.{name}" if path else name
            if name not in after:
                yield from () if part is None else (place,)
            else:
                yield from _unknown(part, after[name], place)
    elif isinstance(before, list):
        for index, part in enumerate(before):
            yield from _unknown(part, after[index], f"{path}[{index}]")
