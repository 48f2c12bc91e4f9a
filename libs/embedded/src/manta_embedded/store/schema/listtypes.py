"""Lists that are sets or maps hold nothing twice."""

from collections.abc import Iterator
from typing import Any

from manta_embedded.store.errors import Cause
from manta_embedded.store.schema import faults
from manta_embedded.store.schema.faults import go_json
from manta_embedded.store.schema.node import Node


def list_faults(node: Node | None, value: Any, path: str = "") -> Iterator[Cause]:
    """Every item that a set or map list has twice, at its second place."""
    if node is None:
        return
    if isinstance(value, dict):
        for name, part in value.items():
            child = node.property(name)
            if child is not None:
                yield from list_faults(child, part, f"{path}.{name}" if path else name)
            else:
                yield from list_faults(node.additional, part, f"{path}[{name}]")
    elif isinstance(value, list):
        yield from _repeated(node, value, path)
        for index, part in enumerate(value):
            yield from list_faults(node.items, part, f"{path}[{index}]")


def _repeated(node: Node, value: list[Any], path: str) -> Iterator[Cause]:
    if node.list_type == "set":
        yield from _second_places(value, path)
    elif node.list_type == "map":
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                yield faults.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
                return
        yield from _second_places([_key(node, item or {}) for item in value], path)


def _second_places(keys: list[Any], path: str) -> Iterator[Cause]:
    seen: dict[str, int] = {}
    for index, key in enumerate(keys):
        text = go_json(key)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield faults.duplicate(f"{path}[{index}]", key)


def _key(node: Node, item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in node.list_keys if key in item}
