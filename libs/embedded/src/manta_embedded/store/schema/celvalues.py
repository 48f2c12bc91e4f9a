"""Objects as CEL rules see them: only what the schema names, under names that are words of the language."""

import re
from typing import Any, Final

from manta_embedded.store.schema.node import Node

_KEYWORD: Final = re.compile(
    "as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void"
    "|while"
)
_ESCAPES: Final = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))


def cel_value(value: Any, node: Node, *, root: bool = False) -> Any:
    """A value for an expression."""
    if isinstance(value, dict):
        return _map(value, node, root=root)
    if isinstance(value, list):
        return [cel_value(part, node.items or node) for part in value]
    if node.type == "number" and isinstance(value, int):
        return float(value)
    return value


def in_order_of(value: Any, old: Any, node: Node) -> Any:
    """What stood there before, its sets and map lists in the order of the new value: their order has no meaning."""
    if isinstance(value, dict) and isinstance(old, dict):
        return {
            name: in_order_of(value[name], part, child) if name in value and (child := node.child(name)) else part
            for name, part in old.items()
        }
    if isinstance(value, list) and isinstance(old, list) and node.list_type in ("set", "map"):
        keys = [_key(part, node) for part in value]
        return sorted(old, key=lambda part: keys.index(_key(part, node)) if _key(part, node) in keys else len(keys))
    return old


def _map(value: dict[str, Any], node: Node, *, root: bool) -> dict[str, Any]:
    found = {}
    for name, part in value.items():
        child = node.property(name)
        if root and name == "metadata":
            found[name] = {field: part[field] for field in ("generateName", "name") if field in part}
        elif child is not None:
            found[_escaped(name)] = cel_value(part, child)
        elif node.additional is not None:
            found[name] = cel_value(part, node.additional)
    return found


def _escaped(name: str) -> str:
    if _KEYWORD.fullmatch(name):
        return f"__{name}__"
    for sign, word in _ESCAPES:
        name = name.replace(sign, word)
    return name


def _key(part: Any, node: Node) -> Any:
    return [part.get(key) for key in node.list_keys] if node.list_type == "map" and isinstance(part, dict) else part
