"""Objects as JSON. The managers of fields are worked out only for those who read them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from manta_embedded.store.managers import ManagedFields
from manta_embedded.store.objects import Obj


def encoded(obj: Obj, *, managed: bool = True) -> bytes:
    """An object as it is sent, with or without what its managedFields say."""
    if not managed:
        return _BRIEF.encode(obj)
    meta = obj.get("metadata")
    if isinstance(meta, dict) and isinstance(held := meta.get("managedFields"), ManagedFields) and not held:
        obj = {**obj, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
    return _WHOLE.encode(obj)


def reads_managed_fields(into: object) -> bool:
    """Whether a type that is decoded into has a place for them; one of which that is not known may have."""
    return _reads(into)


@cache
def _reads(into: Any) -> bool:
    if not (isinstance(into, type) and issubclass(into, msgspec.Struct)):
        return True
    fields = {field.encode_name: field.type for field in _fields(into)}
    meta = fields.get("metadata")
    if meta is None:
        return False
    if not isinstance(meta, inspect.StructType):
        return True
    return "managedFields" in {field.encode_name for field in meta.fields}


def _fields(into: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(into)
    assert isinstance(found, inspect.StructType)
    return found.fields


def _encoder(entries: Callable[[ManagedFields], list[Obj]]) -> msgspec.json.Encoder:
    def plain(value: Any) -> Any:
        if isinstance(value, ManagedFields):
            return entries(value)
        raise TypeError(f"objects hold no values of type {type(value).__name__}")

    return msgspec.json.Encoder(enc_hook=plain)


_WHOLE = _encoder(ManagedFields.entries)
_BRIEF = _encoder(lambda _: [])
