"""Objects of built-in kinds as Go would read them: typed, without fields that the kind does not have, without nulls."""

from typing import Any

from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import EMPTY, Obj
from manta_embedded.store.shapes import ANYTHING, METADATA, Shape

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list, tuple),
}
GO_TYPES = {"integer": "int", "boolean": "bool", "object": "map", "array": "slice"}
LEFT_ALONE = frozenset(("apiVersion", "kind", "managedFields"))
TEXTS = frozenset(("", "string"))
NAMES = ("name", "generateName", "namespace")
TEXT = Shape({"type": "string"}, {})
OBJECT_META = Shape(METADATA, {})


def fitted(served: Served, obj: Obj, old: Obj = EMPTY) -> Obj:
    """An object of the kind; parts that are the very same as before need no look. 400 when a value has another type.

    Of a custom resource only the metadata is looked at, for its schema has other words.
    """
    if served.custom or served.shape is ANYTHING:
        _check_names(served, obj.get("metadata") or EMPTY)
    if served.custom:
        _fit(served, obj.get("metadata") or EMPTY, OBJECT_META, "metadata")
        return obj
    shape = served.shape
    return {
        name: part if part is old.get(name) or name in LEFT_ALONE else _fit(served, part, shape.field(name), name)
        for name, part in obj.items()
        if shape.allows(name) and not _is_left_out(part, shape.field(name))
    }


def _check_names(served: Served, metadata: Obj) -> None:
    """Names are texts; where no schema says so, this does."""
    for field in NAMES:
        if not isinstance(metadata.get(field) or "", str):
            _check(served, metadata[field], TEXT, f"metadata.{field}")


def _fit(served: Served, value: Any, shape: Shape, path: str) -> Any:
    _check(served, value, shape, path)
    if isinstance(value, dict):
        found = {}
        for name, child in value.items():
            inner = shape.field(name)
            if not shape.allows(name) or _is_left_out(child, inner):
                continue
            is_plain = name in LEFT_ALONE or (type(child) is str and inner.type in TEXTS)  # as most are
            found[name] = child if is_plain else _fit(served, child, inner, f"{path}.{name}")
        return found
    if isinstance(value, list):
        items = shape.items
        return [_fit(served, item, items, path) for item in value]
    return value


def _is_left_out(value: Any, shape: Shape) -> bool:
    """Go writes neither null nor an empty list, nor an empty map that may have any names."""
    return value is None or value == [] or (value == {} and shape.is_free_map)


def _check(served: Served, value: Any, shape: Shape, path: str) -> None:
    wanted = shape.type
    if not wanted:
        return
    if isinstance(value, TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool)):
        return
    kind, given = served.kind, "number" if isinstance(value, int | float) else _json_type(value)
    raise errors.bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: json: cannot unmarshal {given}'
        f" into Go struct field {kind.kind}.{path} of type {GO_TYPES.get(wanted, wanted)}"
    )


def _json_type(value: Any) -> str:
    return {bool: "bool", str: "string", dict: "object", list: "array"}.get(type(value), "value")
