"""How our types meet the wire: the Struct they grow from, the scalar types, and what a field says of itself."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypedDict, Unpack

import msgspec
from msgspec import Meta, Raw

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """A frozen object with camelCase names on the wire, where a default is not written (Go: omitempty).

    `None` is Go's nil. A field that Go writes even when it is empty has a default factory other than list and dict.
    Objects are trees, so the garbage collector need not look at them.
    """


class Hints(TypedDict, total=False):
    """What the CRD says of a field beyond its type; `kubernetes` names the definition that a Raw field follows."""

    default: Any
    required: bool
    nullable: bool
    kubernetes: str
    list_type: str
    list_map_keys: list[str]
    ours: bool


def doc(text: str, **hints: Unpack[Hints]) -> Meta:
    """One line for the reference and `kubectl explain`, with the field's hints for the CRD."""
    return Meta(description=text, extra=dict(hints))


Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra={"format": "int32"})]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, extra={"format": "int64"})]
NonNegative32 = Annotated[int, Meta(ge=0, le=2**31 - 1, extra={"format": "int32", "minimum": 0})]
Positive32 = Annotated[int, Meta(ge=1, le=2**31 - 1, extra={"format": "int32", "minimum": 1})]
NonNegative64 = Annotated[int, Meta(ge=0, le=2**63 - 1, extra={"format": "int64", "minimum": 0})]
Quantity = Annotated[str, Meta(pattern=QUANTITY_PATTERN, extra={"quantity": True})] | int
Time = Annotated[datetime, Meta(tz=True)]
Strings = tuple[str, ...]
Raws = tuple[Raw, ...]

EMPTY = Raw(b"{}")


def zero() -> Quantity:
    """The quantity that Go writes where nobody set one."""
    return "0"


def to_builtins(value: Wire) -> Mapping[str, Any]:
    """The object as plain JSON values, as it would be written."""
    return msgspec.json.decode(msgspec.json.encode(value), type=dict[str, Any])
