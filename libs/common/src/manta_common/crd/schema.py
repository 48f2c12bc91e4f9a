"""Our types as structural schema: one way, no exceptions, whatever the kind."""

import typing
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import inspect

from manta_common.api.wire import QUANTITY_PATTERN

Schema = dict[str, Any]

QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": QUANTITY_PATTERN,
    "x-kubernetes-int-or-string": True,
}


class Property(NamedTuple):
    """One field of a type: its name on the wire, its bare type, what the CRD and the reference say of it."""

    name: str
    owner: type
    attribute: str
    type: inspect.Type
    description: str
    hints: Mapping[str, Any]
    required: bool


class Delta(NamedTuple):
    """How another version of a type differs: fields it lacks, its own list of required ones, fields it has besides."""

    lacks: frozenset[str] = frozenset()
    required: tuple[str, ...] | None = None
    besides: Mapping[str, Schema] = MappingProxyType({})


class Surroundings(NamedTuple):
    """What a schema needs beyond the types: Kubernetes' definitions, rules by type and field, how a version differs."""

    definition: Callable[[str], Schema]
    rules: Mapping[tuple[type, str], list[dict[str, str]]] = MappingProxyType({})
    deltas: Mapping[type, Delta] = MappingProxyType({})
    explain: bool = False


def properties(owner: type) -> Iterator[Property]:
    """The fields of a type, in the order they are written."""
    info = inspect.type_info(owner)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        bare, description, hints = _unwrapped(field.type)
        required = field.required or bool(hints.get("required"))
        yield Property(field.encode_name, owner, field.name, bare, description, hints, required)


def structural(owner: type, around: Surroundings) -> Schema:
    """The schema of a type, with everything it leads to inlined."""
    delta = around.deltas.get(owner, Delta())
    fields = [field for field in properties(owner) if field.name not in delta.lacks]
    found: Schema = {"type": "object", "properties": {field.name: of_property(field, around) for field in fields}}
    found["properties"] |= delta.besides
    required = [field.name for field in fields if field.required] if delta.required is None else delta.required
    if required:
        found["required"] = sorted(required)
    if rules := around.rules.get((owner, "")):
        found["x-kubernetes-validations"] = rules
    return found


def inner(bare: inspect.Type) -> inspect.Type:
    """The type of an item or a value, without what is said of it."""
    return _unwrapped(bare)[0]


def of_property(field: Property, around: Surroundings) -> Schema:
    """The schema of one field."""
    found = _of_type(field.type, field.hints, around)
    if enum := choices(field):
        found = {"type": "string", "enum": enum}
    found |= {name: value for name, value in _said_by(field.hints).items() if value is not None}
    if rules := around.rules.get((field.owner, field.attribute)):
        found["x-kubernetes-validations"] = rules
    if around.explain:
        found["description"] = field.description
    return found


def choices(field: Property) -> list[str]:
    """The values that a field may take, as declared; empty if it may take any."""
    return _literals(typing.get_type_hints(field.owner, include_extras=True)[field.attribute])


def _said_by(hints: Mapping[str, Any]) -> Schema:
    return {
        "default": hints.get("default"),
        "nullable": hints.get("nullable"),
        "x-kubernetes-list-type": hints.get("list_type"),
        "x-kubernetes-list-map-keys": hints.get("list_map_keys"),
    }


def _of_type(bare: inspect.Type, hints: Mapping[str, Any], around: Surroundings) -> Schema:
    match bare:
        case inspect.RawType():
            return dict(around.definition(hints["kubernetes"]))
        case inspect.StructType(cls=owner):
            return structural(owner, around)
        case inspect.VarTupleType(item_type=item, min_length=least):
            array: Schema = {"type": "array", "items": _of_type(*_within(item, hints), around)}
            return array if least is None else array | {"minItems": least}
        case inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _of_type(*_within(value, hints), around)}
        case inspect.UnionType():
            return dict(QUANTITY)
        case _:
            return _of_scalar(bare, hints)


def _of_scalar(bare: inspect.Type, hints: Mapping[str, Any]) -> Schema:
    match bare:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.FloatType():
            return {"type": "number"}
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case inspect.IntType():
            integer: Schema = {"type": "integer", "format": hints["format"]}
            return integer | ({"minimum": hints["minimum"]} if "minimum" in hints else {})
        case inspect.StrType(min_length=least, max_length=most, pattern=pattern):
            limits = {"minLength": least, "maxLength": most, "pattern": pattern}
            return {"type": "string"} | {name: value for name, value in limits.items() if value is not None}
        case inspect.LiteralType():
            return {"type": "string"}
        case _:
            raise TypeError(f"a CRD has no word for {bare}")


def _within(bare: inspect.Type, hints: Mapping[str, Any]) -> tuple[inspect.Type, Mapping[str, Any]]:
    bare, _, own = _unwrapped(bare)
    return bare, {**hints, **own}


def _unwrapped(bare: inspect.Type) -> tuple[inspect.Type, str, dict[str, Any]]:
    """The type without what was said of it and without null, and what was said: the description and the hints."""
    description, hints = "", dict[str, Any]()
    while True:
        if isinstance(bare, inspect.Metadata):
            hints = {**(bare.extra or {}), **hints}
            description = description or (bare.extra_json_schema or {}).get("description", "")
            bare = bare.type
        elif isinstance(bare, inspect.UnionType) and len(rest := _without_null(bare)) == 1:
            bare = rest[0]
        else:
            return bare, description, hints


def _without_null(union: inspect.UnionType) -> list[inspect.Type]:
    return [member for member in union.types if not isinstance(member, inspect.NoneType)]


def _literals(annotation: Any) -> list[str]:
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    if typing.get_origin(annotation) is typing.Annotated:
        return _literals(typing.get_args(annotation)[0])
    found = [_literals(member) for member in typing.get_args(annotation)]
    return next((values for values in found if values), [])
