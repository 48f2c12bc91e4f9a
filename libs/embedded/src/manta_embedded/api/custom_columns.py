"""The columns that CRDs name by JSONPath."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from manta_embedded.api.ages import age
from manta_embedded.api.columns import NAME, Column
from manta_embedded.store.objects import Obj

AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
AGE_TEXT = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed"
    " to be set in happens-before order across separate operations. Clients may not set this value. It is represented"
    " in RFC3339 form and is in UTC."
)
STEP = re.compile(
    r"\.((?:\\.|[^.\[\\])+)"  # a name, in which a dot may be escaped
    r"|\['([^']+)'\]"
    r"|\[(-?\d+|\*)\]"
    r"|\[\?\(@\.([\w.]+)\s*==\s*[\"']([^\"']*)[\"']\)\]"
)


def custom_columns(given: Sequence[Obj]) -> Sequence[Column]:
    """The columns of a custom resource; its name and age when its CRD names none."""
    if not given:
        return [NAME, _column({**AGE, "description": AGE_TEXT})]
    return [NAME, *(_column(one) for one in given)]


def found_at(obj: Any, path: str) -> list[Any]:
    """What stands at a JSONPath; nothing where there is nothing."""
    found, at = [obj], 0
    path = path.strip("{}")
    while at < len(path):
        step = STEP.match(path, at)
        if step is None:
            return []
        found, at = _step(found, step), step.end()
    return found


def _step(found: list[Any], step: re.Match[str]) -> list[Any]:
    name, quoted, index, field, value = step.groups()
    if name or quoted:
        key = (name or quoted).replace("\\.", ".")
        return [one[key] for one in found if isinstance(one, dict) and key in one]
    lists = [one for one in found if isinstance(one, list)]
    if field:
        return [item for one in lists for item in one if value in map(str, found_at(item, f".{field}"))]
    if index == "*":
        return [item for one in lists for item in one]
    return [one[int(index)] for one in lists if -len(one) <= int(index) < len(one)]


def _column(given: Obj) -> Column:
    path, kind = given["jsonPath"], given["type"]
    description = given.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        given["name"], _cell(path, kind), kind, given.get("format", ""), given.get("priority", 0), description
    )


def _cell(path: str, kind: str) -> Callable[[Obj, datetime], Any]:
    def find(obj: Obj, now: datetime) -> Any:
        found = found_at(obj, path)
        return _shown(found[0], kind, now) if found else None

    return find


def _shown(value: Any, kind: str, now: datetime) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return _text(value)
        case "integer":
            return int(value) if is_number else None
        case "number":
            return float(value) if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return age(value, now) if isinstance(value, str) else None
    return None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
