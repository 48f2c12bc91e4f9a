"""Objects as rows of a table: the columns that `kubectl get` shows too, and ages. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from manta_common.crd.columns import COLUMNS, Column
from manta_common.kinds import Kind

Obj = Mapping[str, Any]
NOTHING: Final = ""


def _column(name: str, path: str, kind: str = "string") -> Column:
    return {"name": name, "type": kind, "jsonPath": path}


_AGE: Final = _column("age", ".metadata.creationTimestamp", "date")
OTHERS: Final[Mapping[str, list[Column]]] = {
    "Pod": [_column("status", ".status.phase"), _column("node", ".spec.nodeName"), _AGE],
    "Service": [_column("type", ".spec.type"), _column("cluster-ip", ".spec.clusterIP"), _AGE],
    "Job": [_column("succeeded", ".status.succeeded"), _column("failed", ".status.failed"), _AGE],
    "Event": [
        _column("type", ".type"),
        _column("reason", ".reason"),
        _column("object", ".regarding.name"),
        _column("note", ".note"),
    ],
}


def header(kind: Kind, *, wide: bool = False, namespaces: bool = False) -> list[str]:
    """The names of the columns."""
    first = ["NAMESPACE"] if namespaces else []
    return [*first, "NAME", *(column["name"].upper() for column in columns(kind, wide=wide))]


def row(kind: Kind, obj: Obj, now: datetime, *, wide: bool = False, namespaces: bool = False) -> list[str]:
    """The cells of an object."""
    meta = obj["metadata"]
    first = [meta.get("namespace", "")] if namespaces else []
    return [*first, meta["name"], *(cell(column, obj, now) for column in columns(kind, wide=wide))]


def columns(kind: Kind, *, wide: bool = False) -> list[Column]:
    """The columns of a kind; the less important ones only if asked for."""
    found = COLUMNS.get((kind.kind, "v1")) or OTHERS.get(kind.kind, [_AGE])
    return [column for column in found if wide or not column.get("priority")]


def cell(column: Column, obj: Obj, now: datetime) -> str:
    """One cell."""
    value = at(obj, column["jsonPath"])
    if value is None:
        return NOTHING
    return (
        age(str(value), now)
        if column["type"] == "date"
        else str(value).lower()
        if value in (True, False)
        else str(value)
    )


def at(obj: Any, path: str) -> Any:
    """What stands at a path such as `.status.state`."""
    for name in path.strip(".").split("."):
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    return obj


def age(stamp: str, now: datetime) -> str:
    """How long ago a time was, in two units at most, as kubectl writes it."""
    return duration(int((now - parsed(stamp)).total_seconds()))


def parsed(stamp: str) -> datetime:
    """A time of Kubernetes'."""
    return datetime.fromisoformat(stamp).astimezone(UTC)


def duration(seconds: int) -> str:
    """A number of seconds for people."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s"
    if hours < 3:
        return f"{minutes}m"
    return f"{hours}h" if hours < 48 else f"{days}d"


def conditions(obj: Obj) -> Sequence[Obj]:
    """The conditions of an object."""
    return at(obj, ".status.conditions") or ()
