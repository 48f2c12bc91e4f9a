"""JSON as Go's encoding/json writes it: compact, keys in order of their bytes, HTML characters escaped."""

import json
from typing import Any, Final

_ESCAPES: Final = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def encode(value: Any) -> str:
    """The JSON text of plain values."""
    match value:
        case dict():
            pairs = sorted(value.items(), key=lambda pair: pair[0].encode())
            return "{" + ",".join(f"{_string(name)}:{encode(item)}" for name, item in pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(encode(item) for item in value) + "]"
        case str():
            return _string(value)
        case float():
            return _number(value)
    return json.dumps(value)


def _string(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in json.dumps(text, ensure_ascii=False))


def _number(number: float) -> str:
    """The shortest digits that read back as the same number; an exponent only where Go uses one."""
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        return _plain(number)
    mantissa, _, exponent = f"{number!r}".partition("e")
    sign, digits = exponent[0], exponent[1:].lstrip("0")
    return f"{mantissa.removesuffix('.0')}e{sign}{digits.rjust(1 if sign == '-' else 2, '0')}"


def _plain(number: float) -> str:
    if number.is_integer():
        return str(int(number))
    text = repr(number)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent)
    return f"{number:.{places}f}"
