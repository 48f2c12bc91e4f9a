"""Merges what is applied into what is there, and takes out what nobody holds any more."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from manta_embedded.store.fieldsets import ABSENT, Fields, Path, element_of, is_leaf, items_by_element
from manta_embedded.store.shapes import Shape


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """The live value with the applied one over it, by the rules of its shape."""
    if live is ABSENT or live is None or type(live) is not type(applied) or is_leaf(applied, shape):
        return applied
    if isinstance(applied, dict):
        return {
            **live,
            **{name: merged(live.get(name, ABSENT), value, shape.field(name)) for name, value in applied.items()},
        }
    return _merged_list(live, applied, shape)


def without(value: Any, fields: Fields, shape: Shape, path: Path = ()) -> Any:
    """A value without these fields; null when nothing is left of a map or list that had something, as Go has it."""
    if not value or is_leaf(value, shape):
        return value
    if isinstance(value, dict):
        kept = {
            name: without(child, fields, shape.field(name), inner)
            for name, child in value.items()
            if (inner := (*path, f"f:{name}")) not in fields
        }
        return kept or None
    left = [
        without(item, fields, shape.items, inner)
        for item in value
        if (inner := (*path, element_of(item, shape))) not in fields
    ]
    return left or None


def with_named_members(fields: Fields, shape: Shape) -> Fields:
    """The set with every named part on the way to its fields, so that an emptied part goes too."""
    found = set(fields)
    for path in fields:
        at = shape
        for length, element in enumerate(path[:-1], start=1):
            if element.startswith("f:"):
                name = element[2:]
                if at.declares(name):
                    found.add(path[:length])
                at = at.field(name)
            else:
                at = at.items
    return frozenset(found)


def _merged_list(live: Sequence[Any], applied: Sequence[Any], shape: Shape) -> list[Any]:
    """In the order that the applied list has; what it lacks stays before the item that it stood before."""
    left, right = items_by_element(live, shape), items_by_element(applied, shape)
    waiting = deque(left)
    shared = deque(element for element in right if element in left)
    found: list[Any] = []
    for element, item in right.items():
        while waiting and (not shared or waiting[0] != shared[0]):
            kept = waiting.popleft()
            if kept not in right:
                found.append(left[kept])
        if shared and shared[0] == element:
            shared.popleft()
            if waiting and waiting[0] == element:
                waiting.popleft()
        found.append(merged(left.get(element, ABSENT), item, shape.items))
    return [*found, *(left[element] for element in waiting if element not in right)]
