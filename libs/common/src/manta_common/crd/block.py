"""Plain JSON values as YAML in block style: sorted, without anchors, the same bytes every time."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

PLAIN: Final = re.compile(r"([A-Za-z$]|[.][A-Za-z])[A-Za-z0-9_./$-]*( [A-Za-z][A-Za-z0-9_./$-]*)*")
# Words that YAML 1.1 reads as something else than text, and the one-letter forms of yes and no.
WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", ".nan", ".inf"})


def document(value: dict[str, Any]) -> str:
    """One YAML document, with a line feed at the end."""
    return "\n".join(_mapping(value, "")) + "\n"


def _mapping(value: dict[str, Any], indent: str) -> Iterator[str]:
    for name in sorted(value):
        yield from _entry(f"{indent}{_scalar(name)}:", value[name], indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    match value:
        case dict() if value:
            yield head
            yield from _mapping(value, indent + "  ")
        case list() if value:
            yield head
            for item in value:
                yield from _item(item, indent)
        case _:
            yield f"{head} {_scalar(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{indent}- {_scalar(value)}"
        return
    first, *rest = _mapping(value, indent + "  ")
    yield f"{indent}- {first.lstrip()}"
    yield from rest


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return msgspec.json.encode(value).decode()
