"""JSON as Go writes it: names in order, no spaces, the shortest floats, and nothing that HTML could mistake."""

import json
import math
from decimal import Decimal
from typing import Any, Final

from manta_common.gotext import GoError

# Go writes these as escapes wherever they stand.
_ESCAPED: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_SMALLEST_PLAIN: Final = 1e-6
_SMALLEST_SCIENTIFIC: Final = 1e21


def encode(value: Any) -> str:
    """Return a value as Go's json.Marshal writes it; GoError for what JSON cannot say."""
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            return _text(value)
        case int():
            return str(value)
        case float():
            return _number(value)
        case dict():
            return f"{{{','.join(f'{_text(name)}:{encode(value[name])}' for name in sorted(value, key=_order))}}}"
        case list() | tuple():
            return f"[{','.join(encode(item) for item in value)}]"
        case _:
            raise GoError(f"json: unsupported type: {type(value).__name__}")


def _order(name: str) -> bytes:
    return name.encode()


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPED)


def _number(number: float) -> str:
    if not math.isfinite(number):
        raise GoError(f"json: unsupported value: {_special(number)}")
    shortest = Decimal(repr(number))
    if number == 0 or _SMALLEST_PLAIN <= abs(number) < _SMALLEST_SCIENTIFIC:
        return f"{shortest:f}".removesuffix(".0")
    return f"{shortest.normalize():e}"


def _special(number: float) -> str:
    return "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
