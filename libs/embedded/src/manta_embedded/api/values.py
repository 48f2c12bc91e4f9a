"""Values as JSON has them, of what YAML and numbers of any length can be."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

MOST_VALUES = 1_000_000  # a few lines of YAML can name the same list again and again
DEEPEST = 500


def plain(value: Any) -> Any:
    """The value with texts as keys, and with numbers as Go reads them; ValueError when it is none that JSON has."""
    return _plain(value, itertools.count(), 0)


def _plain(value: Any, seen: Iterator[int], depth: int) -> Any:
    if next(seen) > MOST_VALUES or depth > DEEPEST:
        raise ValueError("document contains excessive aliasing")
    match value:
        case dict():
            return {_name(name): _plain(one, seen, depth + 1) for name, one in value.items()}
        case list():
            return [_plain(one, seen, depth + 1) for one in value]
        case bool() | str() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else _rounded(value)
        case float() if math.isfinite(value):
            return value
    raise ValueError(f"{type(value).__name__} is no value of JSON")


def _rounded(value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("a number that is too large") from error


def _name(name: Any) -> str:
    match name:
        case str():
            return name
        case bool():
            return "true" if name else "false"
        case int() | float():
            return str(name)
    raise ValueError(f"a key that is a {type(name).__name__}")
