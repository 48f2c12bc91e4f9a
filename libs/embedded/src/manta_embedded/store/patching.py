"""Merge patches (RFC 7386) and JSON patches (RFC 6902); what they leave alone is shared with the original."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from manta_embedded.store import errors

FAILED = "the server rejected our request due to an error in our request"
Change = Callable[[Any, str], Any]


def merge(original: Any, patch: Any) -> Any:
    """The original with the fields of a patch set, or removed where the patch has null."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(original) if isinstance(original, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merge(found.get(name), value)
    return found


def apply_operations(original: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """The original after all operations; 422 when one of them cannot be done."""
    found = original
    for operation in operations:
        found = _apply(found, operation)
    return found


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    match operation.get("op"):
        case "add":
            return _edit(document, _path(operation, "path"), lambda parent, last: _add(parent, last, operation))
        case "remove":
            return _edit(document, _path(operation, "path"), _remove)
        case "replace":
            return _edit(document, _path(operation, "path"), lambda parent, last: _replace(parent, last, operation))
        case "test":
            return _tested(document, operation)
        case "move" | "copy":
            return _transferred(document, operation)
    raise errors.unprocessable(FAILED)


def _transferred(document: Any, operation: Mapping[str, Any]) -> Any:
    """A copy of what is not there is null, as the real server has it; a move of it cannot be done."""
    source = _path(operation, "from")
    parent = _look_up(document, source[:-1])
    if isinstance(parent, dict) and operation["op"] == "copy":
        value = parent.get(source[-1])
    else:
        value = _child(parent, source[-1])
    if operation["op"] == "move":
        document = _edit(document, source, _remove)
    given = {"value": value}
    return _edit(document, _path(operation, "path"), lambda parent, last: _add(parent, last, given))


def _tested(document: Any, operation: Mapping[str, Any]) -> Any:
    """A test of a path that is not there passes for null, as the real server has it."""
    try:
        value = _look_up(document, _path(operation, "path"))
    except errors.StatusError:
        value = None
    if value != operation.get("value") or isinstance(value, bool) != isinstance(operation.get("value"), bool):
        raise errors.unprocessable(FAILED)
    return document


def _path(operation: Mapping[str, Any], name: str) -> list[str]:
    text = operation.get(name)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise errors.unprocessable(FAILED)
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _look_up(document: Any, path: Sequence[str]) -> Any:
    for part in path:
        document = _child(document, part)
    return document


def _child(parent: Any, name: str) -> Any:
    if isinstance(parent, dict) and name in parent:
        return parent[name]
    if isinstance(parent, list):
        return parent[_index(parent, name, len(parent) - 1)]
    raise errors.unprocessable(FAILED)


def _edit(document: Any, path: Sequence[str], change: Change) -> Any:
    """The document with its part at a path changed; everything on the way there is new."""
    if not path:
        return change({"": document}, "")[""]
    if len(path) == 1:
        return change(document, path[0])
    child = _edit(_child(document, path[0]), path[1:], change)
    if isinstance(document, dict):
        return {**document, path[0]: child}
    index = _index(document, path[0], len(document) - 1)
    return [*document[:index], child, *document[index + 1 :]]


def _add(parent: Any, name: str, operation: Mapping[str, Any]) -> Any:
    if isinstance(parent, list):
        index = len(parent) if name == "-" else _index(parent, name, len(parent))
        return [*parent[:index], operation.get("value"), *parent[index:]]
    if not isinstance(parent, dict):
        raise errors.unprocessable(FAILED)
    return {**parent, name: operation.get("value")}


def _remove(parent: Any, name: str) -> Any:
    _child(parent, name)
    if isinstance(parent, list):
        index = _index(parent, name, len(parent) - 1)
        return [*parent[:index], *parent[index + 1 :]]
    return {key: value for key, value in parent.items() if key != name}


def _replace(parent: Any, name: str, operation: Mapping[str, Any]) -> Any:
    """A field of a map that is not there is added, as the real server has it; an item of a list must be there."""
    if isinstance(parent, list):
        index = _index(parent, name, len(parent) - 1)
        return [*parent[:index], operation.get("value"), *parent[index + 1 :]]
    return _add(parent, name, operation)


def _index(parent: Sequence[Any], name: str, last: int) -> int:
    """A position in a list; a negative one counts from its end, as the real server has it."""
    try:
        index = int(name)
    except ValueError:
        raise errors.unprocessable(FAILED) from None
    if index < 0:
        index += last + 1
    if not 0 <= index <= last:
        raise errors.unprocessable(FAILED)
    return index
