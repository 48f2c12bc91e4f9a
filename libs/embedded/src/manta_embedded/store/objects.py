"""Objects as the store keeps them: plain JSON-like dicts that nobody changes; a change is a new dict along its path."""

from typing import Any

Obj = dict[str, Any]
EMPTY: Obj = {}


def metadata(obj: Obj) -> Obj:
    """The metadata; empty where there is none."""
    return obj.get("metadata") or EMPTY


def with_metadata(obj: Obj, **changes: Any) -> Obj:
    """The object with these fields of its metadata set; None removes one."""
    found = {**metadata(obj), **changes}
    return {**obj, "metadata": {name: value for name, value in found.items() if value is not None}}


def is_terminating(obj: Obj) -> bool:
    """Whether its deletion has begun."""
    return "deletionTimestamp" in metadata(obj)


def at_path(obj: Obj, path: str) -> Any:
    """What stands at a dotted path; None where nothing does."""
    found: Any = obj
    for part in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(part)
    return found
