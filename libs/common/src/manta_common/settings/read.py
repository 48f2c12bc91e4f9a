"""Turns what stands in a variable or a file into a value of the setting's type."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import inspect

from manta_common.gotext import GoError, parse_int
from manta_common.settings.fields import STRUCTURED, Field, text, words
from manta_common.settings.values import duration

_SHOWN = 80


def value_of(field: Field, raw: object) -> Any:
    """The value; ValueError when it is not what the setting expects."""
    match field.shape:
        case inspect.TimeDeltaType():
            return _within(field, _duration(raw))
        case inspect.StructType(cls=cls) | inspect.CustomType(cls=cls) if hasattr(cls, "parse"):
            return _parsed(cls, raw)
    if isinstance(raw, str):
        return msgspec.convert(_untangled(field.shape, raw), field.type, strict=False)
    return msgspec.convert(raw, field.type)


def meant_by_kuberay(field: Field, raw: str) -> object:
    """What a variable of KubeRay's says, as its operator reads it; None when it would not count there.

    A switch is turned by one word alone, in any case; a number that cannot be read is as good as none.
    """
    match field.shape:
        case inspect.BoolType():
            return raw.lower() != "false" if field.default else raw.lower() == "true"
        case inspect.IntType():
            try:
                return parse_int(raw)
            except GoError:
                return None
    return raw


def problem(field: Field, origin: str, *, raw: object, error: ValueError) -> str:
    """One line: which setting, what it is (unless secret), what it should be."""
    shown = "is set (not shown: secret)" if field.secret else f"is {_quoted(raw)}"
    return f"{origin} {shown}; expected {field.expected}{_reason(field, error)}"


def _duration(raw: object) -> timedelta:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return timedelta(seconds=raw)
    if isinstance(raw, str):
        return duration(raw.strip())
    raise ValueError


def _within(field: Field, value: timedelta) -> timedelta:
    if not field.extra.get("shortest", timedelta.min) <= value <= field.extra.get("longest", timedelta.max):
        raise ValueError
    return value


def _parsed(cls: Any, raw: object) -> Any:
    """Types that read their own text; a mapping stands for `name=value,...`."""
    if isinstance(raw, Mapping):
        return cls.parse(",".join(f"{name}={text(value)}" for name, value in raw.items()))
    if not isinstance(raw, str):
        raise ValueError  # noqa: TRY004  the caller collects ValueErrors
    return cls.parse(raw)


def _untangled(shape: inspect.Type, raw: str) -> object:
    """Lists are separated by commas; choices may be in any case; what has more structure is JSON or YAML."""
    match shape:
        case inspect.StrType():
            return raw
        case inspect.VarTupleType(item_type=inspect.DictType()):
            return _document(raw)
        case inspect.VarTupleType() | inspect.ListType():
            return [part.strip() for part in raw.split(",") if part.strip()]
        case inspect.LiteralType() if raw.lower() in shape.values:
            return raw.lower()
        case inspect.BoolType() | inspect.IntType() | inspect.FloatType() | inspect.LiteralType() | inspect.EnumType():
            return raw.strip()
    return _document(raw)


def _document(raw: str) -> object:
    import yaml  # noqa: PLC0415  1 MiB that a service without such a setting need not take

    try:
        return yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise ValueError from error


def _quoted(raw: object) -> str:
    shown = text(raw)
    return repr(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...")


def _reason(field: Field, error: ValueError) -> str:
    """What the reader of the text says beyond what was expected; msgspec's words only where there is structure."""
    plain = isinstance(error, msgspec.ValidationError) and words(field.shape) != STRUCTURED
    return "" if plain or field.secret or not str(error) else f" ({error})"
