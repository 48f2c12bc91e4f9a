"""Sets of fields: which ones an object has, which ones a change touched, and the form they have in managedFields.

A path is a tuple of elements as managedFields has them: `f:name`, `k:{"name":"a"}` or `v:"x"`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from manta_embedded.store.shapes import Shape

Path = tuple[str, ...]
Fields = frozenset[Path]
NOTHING: Fields = frozenset()
ABSENT = object()


class Difference(msgspec.Struct, frozen=True):
    """What a change did to the fields of an object."""

    added: Fields
    modified: Fields
    removed: Fields


def fields_of(value: Any, shape: Shape) -> Fields:
    """The fields that an object has, as the set that its applier holds."""
    return frozenset(_held(value, shape, ()))


def difference(old: Any, new: Any, shape: Shape) -> Difference:
    """The fields that were added, modified and removed; a map or list that came or went counts itself too."""
    found: dict[str, set[Path]] = {"added": set(), "modified": set(), "removed": set()}
    _compare(old, new, shape, (), found)
    return Difference(*(frozenset(found[name]) for name in ("added", "modified", "removed")))


def encoded(fields: Fields) -> dict[str, Any]:
    """The set as a tree, as FieldsV1 has it; `.` stands for a field that has others below it."""
    root: dict[str, Any] = {}
    for path in sorted(fields):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _trimmed(root)


def decoded(tree: Mapping[str, Any]) -> Fields:
    """The set that a tree stands for."""
    return frozenset(_paths(tree, ()))


def shown(path: Path) -> str:
    """A path as messages have it."""
    return "".join(_shown_element(element) for element in path)


def items_by_element(items: Iterable[Any], shape: Shape) -> dict[str, Any]:
    """The items of a list that is a set or has keys, by what tells them apart, in order; the last of equals stays."""
    return {element_of(item, shape): item for item in items}


def element_of(item: Any, shape: Shape) -> str:
    """What tells an item of such a list apart."""
    if shape.list_type == "set" or not isinstance(item, Mapping):
        return "v:" + _text(item)
    return "k:" + _text(dict(sorted(shape.key_of(item))))


def is_leaf(value: Any, shape: Shape) -> bool:
    """Whether a value is held as one."""
    if isinstance(value, dict):
        return shape.is_atomic
    return not isinstance(value, list) or shape.list_type == "atomic"


def _held(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    if is_leaf(value, shape):
        yield path
    elif isinstance(value, dict):
        for name, child in value.items():
            inner = (*path, f"f:{name}")
            yield from _held(child, shape.field(name), inner)
            if child == {} or not shape.declares(name):
                yield inner
    else:
        for element, child in items_by_element(value, shape).items():
            inner = (*path, element)
            yield from _held(child, shape.items, inner)
            yield inner


def _compare(old: Any, new: Any, shape: Shape, path: Path, found: dict[str, set[Path]]) -> None:
    if new is None and isinstance(old, dict | list):
        new = type(old)()  # null is a map or a list that was emptied
    if old is new or (old is not ABSENT and new is not ABSENT and old == new):
        return
    leaf = _is_compared_whole(old, new, shape)
    if not leaf:
        for element, before, after, inner in _pairs(old, new, shape):
            _compare(before, after, inner, (*path, element), found)
    if old is ABSENT:
        found["added"].add(path)
    elif new is ABSENT:
        found["removed"].add(path)
    elif leaf:
        found["modified"].add(path)


def _is_compared_whole(old: Any, new: Any, shape: Shape) -> bool:
    """Whether one of two values is a leaf, or both are empty."""
    present = [value for value in (old, new) if value is not ABSENT]
    return any(is_leaf(value, shape) for value in present) or not any(present) or len({*map(type, present)}) > 1


def _pairs(old: Any, new: Any, shape: Shape) -> Iterator[tuple[str, Any, Any, Shape]]:
    present = new if old is ABSENT else old
    if isinstance(present, dict):
        before, after = ({} if one is ABSENT else one for one in (old, new))
        for name in {**before, **after}:
            yield f"f:{name}", before.get(name, ABSENT), after.get(name, ABSENT), shape.field(name)
        return
    lists = ([] if one is ABSENT else one for one in (old, new))
    left, right = (items_by_element(one, shape) for one in lists)
    for element in {**left, **right}:
        yield element, left.get(element, ABSENT), right.get(element, ABSENT), shape.items


def _trimmed(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    return {name: _trimmed(child) if name != "." else {} for name, child in node.items()}


def _paths(tree: Mapping[str, Any], path: Path) -> Iterator[Path]:
    if not tree and path:
        yield path
    for name, child in tree.items():
        if name == ".":
            yield path
        else:
            yield from _paths(child, (*path, name))


def _shown_element(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        keys = msgspec.json.decode(text, type=dict[str, Any])
        return "[" + ",".join(f"{name}={_text(value)}" for name, value in keys.items()) + "]"
    return f"[={text}]"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
