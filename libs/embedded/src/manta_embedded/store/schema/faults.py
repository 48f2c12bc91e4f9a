"""What is wrong with a field of an object, in the words of the API server."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from manta_common.gotext import quote
from manta_embedded.store.errors import Cause

OMITTED: Final = object()  # a value that the message leaves out
NOWHERE: Final = "<nil>"  # how Go prints the path of the whole object
_WORDS: Final = {
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueRequired": "Required value",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
}
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def invalid(field: str, value: Any, detail: str) -> Cause:
    """The value breaks a rule."""
    return _with_value(field, "FieldValueInvalid", value, detail)


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """The value has another type."""
    return _with_value(field, "FieldValueTypeInvalid", value, detail)


def duplicate(field: str, value: Any) -> Cause:
    """The value is there twice."""
    return _with_value(field, "FieldValueDuplicate", value, "")


def unsupported(field: str, value: Any, allowed: Sequence[Any]) -> Cause:
    """The value is none of those allowed."""
    texts = (quote(one if isinstance(one, str) else go_json(one)) for one in allowed)
    return _with_value(field, "FieldValueNotSupported", value, f"supported values: {', '.join(texts)}")


def required(field: str, detail: str = "") -> Cause:
    """There is no value."""
    return _plain(field, "FieldValueRequired", detail)


def forbidden(field: str, detail: str) -> Cause:
    """The value may not be given here, or now."""
    return _plain(field, "FieldValueForbidden", detail)


def too_long(field: str, most: int) -> Cause:
    """The text has too many bytes."""
    return _plain(field, "FieldValueTooLong", f"may not be more than {most} byte{'' if most == 1 else 's'}")


def too_many(field: str, count: int, most: int) -> Cause:
    """There are too many items."""
    detail = f"must have at most {most} item{'' if most == 1 else 's'}"
    return _with_value(field, "FieldValueTooMany", count, detail)


def go_json(value: Any) -> str:
    """A value as Go encodes it: keys in order, angle brackets and ampersands escaped."""
    return msgspec.json.encode(value, order="sorted").decode().translate(_ESCAPED)


def go_number(number: float) -> str:
    """A number as Go prints it."""
    if isinstance(number, int):
        return str(number)
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    return repr(number)


def _with_value(field: str, reason: str, value: Any, detail: str) -> Cause:
    parts = [_WORDS[reason], *([] if value is OMITTED else [_shown(value)]), *([detail] if detail else [])]
    return Cause(reason=reason, message=": ".join(parts), field=field)


def _plain(field: str, reason: str, detail: str) -> Cause:
    message = f"{_WORDS[reason]}: {detail}" if detail else _WORDS[reason]
    return Cause(reason=reason, message=message, field=field)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return go_number(value)
    return go_json(value)
