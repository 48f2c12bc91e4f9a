"""Checks of single values against a schema: types, ranges, lengths, patterns, formats and enumerations."""

import re
from collections.abc import Iterator
from typing import Any, Final

from manta_common.gotext import quote
from manta_embedded.store.errors import Cause
from manta_embedded.store.schema import faults
from manta_embedded.store.schema.faults import NOWHERE, go_number
from manta_embedded.store.schema.formats import FORMATS
from manta_embedded.store.schema.node import Node

RANGES: Final = {"int32": 2**31, "int64": 2**63}


def type_of(value: Any) -> str:
    """The JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def type_faults(node: Node, value: Any, where: "Where") -> Iterator[Cause]:
    """A value of a type that the schema does not allow."""
    found, wanted = type_of(value), node.types
    if not wanted or (value is None and node.nullable) or found in wanted or _is_number_like(value, wanted):
        return
    name, shown = ",".join(wanted), found
    form = _number_format(node)
    if form and found in ("boolean", "number", "object"):
        name, shown = form, "float64" if found == "number" else ""
    detail = f'{where.path} in body must be of type {name}: "{shown}"'
    yield faults.type_invalid(where.field, shown, detail)


def text_faults(node: Node, value: str, where: "Where") -> Iterator[Cause]:
    """A text that is too long, too short, or unlike its pattern or format; the first of these that holds."""
    schema = node.schema
    longest, shortest, pattern = (schema.get(word) for word in ("maxLength", "minLength", "pattern"))
    if longest is not None and len(value) > longest:
        yield faults.too_long(where.field, longest)
    elif shortest is not None and len(value) < shortest:
        yield where.invalid(value, f"should be at least {shortest} chars long")
    elif pattern and not re.search(_python_pattern(pattern), value):
        yield where.invalid(value, f"should match '{pattern}'")
    fits = FORMATS.get(schema.get("format", ""))
    if node.type == "string" and fits is not None and not fits(value):
        detail = f"{where.path} in body must be of type {schema['format']}: {quote(value)}"
        yield faults.type_invalid(where.field, value, detail)


def number_faults(node: Node, value: float, where: "Where") -> Iterator[Cause]:
    """A number out of its range."""
    schema, form = node.schema, _number_format(node)
    if node.types == ("integer",) and not _fits(value, RANGES[form or "int64"]):
        kind = f"integer with format {form}" if form else "integer (default format)"
        yield faults.invalid(where.prefix or NOWHERE, "", f"Checked value must be of type {kind} in {where.path}")
    factor, least, most = (schema.get(word) for word in ("multipleOf", "minimum", "maximum"))
    if factor and value % factor:
        yield where.invalid(value, f"should be a multiple of {go_number(factor)}")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        relation = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield where.invalid(value, f"should be {relation} {go_number(least)}")
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        relation = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield where.invalid(value, f"should be {relation} {go_number(most)}")


def choice_faults(node: Node, value: Any, where: "Where") -> Iterator[Cause]:
    """A value that is none of those enumerated."""
    allowed = node.schema.get("enum")
    if allowed and not any(type_of(one) == type_of(value) and one == value for one in allowed):
        yield faults.unsupported(where.field, value, allowed)


class Where:
    """A place in an object: its path as the schema sees it, and what stands before that path in the whole object."""

    __slots__ = ("path", "prefix")

    def __init__(self, prefix: str, path: str) -> None:
        self.prefix, self.path = prefix, path

    @property
    def field(self) -> str:
        """The path in the whole object."""
        return ".".join(part for part in (self.prefix, self.path.removeprefix(".")) if part) or NOWHERE

    def invalid(self, value: Any, what: str) -> Cause:
        """A fault of the usual form."""
        return faults.invalid(self.field, value, f"{self.path} in body {what}")

    def composite(self, what: str) -> Cause:
        """A fault of the object's shape, which the API server reports on the object as a whole."""
        return faults.invalid(self.prefix or NOWHERE, "", f'"{self.path}" {what}')


def _is_number_like(value: Any, wanted: tuple[str, ...]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return "number" in wanted or ("integer" in wanted and float(value).is_integer())


def _number_format(node: Node) -> str:
    form: str = node.schema.get("format", "")
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(node.type, ())
    return form if form in known else ""


def _fits(value: float, bound: int) -> bool:
    return float(value).is_integer() and -bound <= value < bound


def _python_pattern(pattern: str) -> str:
    # Go's `$` is the very end of the text, Python's may stand before a last newline.
    return f"{pattern[:-1]}\\Z" if pattern.endswith("$") and not pattern.endswith("\\$") else pattern
