"""The table of known differences, as far as a machine reads it: which fields, and which whole cases, may differ."""

import difflib
import fnmatch
import re
from typing import Any

import msgspec
import yaml

# `RayJob status.conditions`, `RayCluster status.conditions[type=PodsFailing]` or a field of it behind a dot,
# `RayJob status.message~. Cause: ` (what such a text goes on with does not count), `Event Normal Created* RayJob *`
_PLACE = re.compile(r"^([A-Z][A-Za-z]+) (.+)$")
_CHOSEN = re.compile(r"^(.*)\[([^=\]]+)=([^\]]+)\]$")


class Known(msgspec.Struct, frozen=True):
    """What is explained: the places of the third column, the cases of the last one."""

    places: tuple[str, ...]
    cases: frozenset[str]


def known(document: str) -> Known:
    """Read the table of a document."""
    rows = [line.strip().strip("|").split("|") for line in document.splitlines() if line.startswith("|")]
    cells = [row for row in rows[2:] if len(row) == 4]
    places = tuple(place for row in cells for place in re.findall(r"`([^`]+)`", row[2]))
    return Known(places, frozenset(case for row in cells for case in re.findall(r"`([^`]+)`", row[3])))


def unexplained(want: str, got: str, places: tuple[str, ...]) -> list[str]:
    """What still differs between two recordings when the known places are left out, as lines of a diff."""
    before, after = (_text(without(yaml.safe_load(text), places)) for text in (want, got))
    return list(difflib.unified_diff(before, after, "golden", "here", n=2, lineterm=""))


def without(recording: dict[str, Any], places: tuple[str, ...]) -> dict[str, Any]:
    """A recording without the known places."""
    for place in places:
        match = _PLACE.match(place)
        if match is None:
            raise ValueError(f"{place!r} is no place; write a kind and a path, such as `RayJob status.conditions`")
        for captured in recording.values():
            _remove(captured, match[1], match[2])
    return recording


def _text(recording: dict[str, Any]) -> list[str]:
    return yaml.safe_dump(recording, sort_keys=True, width=110, allow_unicode=True).splitlines()


def _remove(captured: dict[str, Any], kind: str, path: str) -> None:
    if kind == "Event":
        told = captured.get("Event") or []
        captured["Event"] = [line for line in told if not fnmatch.fnmatchcase(line, path)]
        return
    names, _, tail = path.partition("~")
    for found in (captured.get(kind) or {}).values():
        if tail:
            _shorten(found, names.split("."), tail)
        else:
            _remove_path(found, names.split("."))


def _shorten(value: Any, path: list[str], tail: str) -> None:
    """Cut a text where the tail begins."""
    *outer, name = path
    for part in outer:
        value = value.get(part) or {}
    if name in value:
        value[name] = str(value[name]).partition(tail)[0]


def _remove_path(value: Any, path: list[str]) -> None:
    name, *rest = path
    chosen = _CHOSEN.match(name)
    if not isinstance(value, dict):
        return
    if chosen and rest:
        for item in value.get(chosen[1]) or ():
            if str(item.get(chosen[2])) == chosen[3]:
                _remove_path(item, rest)
    elif chosen and isinstance(value.get(chosen[1]), list):
        kept = [item for item in value[chosen[1]] if str(item.get(chosen[2])) != chosen[3]]
        value[chosen[1]] = kept
    elif rest:
        _remove_path(value.get(name), rest)
    else:
        value.pop(name, None)
