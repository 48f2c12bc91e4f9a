"""Whole documents around our types: changed without losing what the types do not know, and read as the server reads."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from manta_common.api.wire import Wire, to_builtins

# What tells the items of a list apart, best first.
IDENTITIES: Final = ("uid", "groupName", "type", "name")


def merged(document: bytes, before: Wire, after: Wire) -> bytes:
    """The document that `before` was read from, changed as from `before` to `after` and nowhere else."""
    if before == after:
        return document
    return msgspec.json.encode(_merged(msgspec.json.decode(document), to_builtins(before), to_builtins(after)))


def without_nulls(value: Any) -> Any:
    """A manifest as the API server takes it: a null in an object counts as absent, one in a list is a mistake."""
    match value:
        case dict():
            return {name: without_nulls(child) for name, child in value.items() if child is not None}
        case list():
            return [without_nulls(item) for item in value]
        case _:
            return value


def merge_patch(before: Any, after: Any) -> dict[str, Any]:
    """What turns one plain object into the other by a merge patch: nulls where something is gone, lists as wholes."""
    changed: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if old != value:
            changed[name] = merge_patch(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return changed


def replaced(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch that writes all of an object anew: of the old one no field is left."""
    return {**dict.fromkeys(before), **after}


def _merged(document: Any, before: Any, after: Any) -> Any:
    if before == after:
        return document
    match document, before, after:
        case dict(), dict(), dict():
            return _object(document, before, after)
        case list(), list(), list() if len(document) == len(before):
            return _list(document, before, after)
        case _:
            return after


def _object(document: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    gone = before.keys() - after.keys()
    kept = {name: value for name, value in document.items() if name not in gone}
    return kept | {
        name: _merged(document.get(name), before.get(name), value)
        for name, value in after.items()
        if name not in before or before[name] != value
    }


def _list(document: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    partners = [_partner(before, position, item) for position, item in enumerate(after)]
    return [
        item if partner is None else _merged(document[partner], before[partner], item)
        for item, partner in zip(after, partners, strict=True)
    ]


def _partner(before: list[Any], position: int, item: Any) -> int | None:
    """Which of the old items this one was: the one in its place if that is the same one, else the first that is."""
    places = [position, *range(len(before))] if position < len(before) else range(len(before))
    found = next((place for place in places if _is_same(before[place], item)), None)
    return position if found is None and position < len(before) and _is_nameless(item) else found


def _is_same(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return bool(one == other)
    identity = next((name for name in IDENTITIES if name in one and name in other), None)
    return bool(one == other if identity is None else one[identity] == other[identity])


def _is_nameless(item: Any) -> bool:
    return isinstance(item, dict) and not any(name in item for name in IDENTITIES)
