"""What a Config's class says of its settings: names, types, limits, defaults and meaning."""

import enum
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar

import msgspec
from msgspec import inspect

from manta_common.api.gates import Gates, defaults
from manta_common.settings.names import section, variable
from manta_common.settings.values import Secret, duration, duration_text, without_credentials

STRUCTURED = "JSON or YAML"


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One frozen set of settings. A subclass that names its SERVICE adds settings of that service."""

    SERVICE: ClassVar[str] = ""

    def objections(self) -> Iterator[str]:
        """What is wrong with settings that are right each by itself; a sentence each."""
        yield from ()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={text(getattr(self, name))!r}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({values})"


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    name: str
    key: str  # in a file
    service: str  # whose it is; empty: everybody's
    type: Any
    shape: inspect.Type
    extra: Mapping[str, Any]
    default: Any
    meaning: str

    @property
    def secret(self) -> bool:
        """Whether its value must never be shown."""
        return isinstance(self.shape, inspect.CustomType) and self.shape.cls is Secret

    @property
    def expected(self) -> str:
        """What a person may write, in words."""
        return str(self.extra.get("expected") or words(self.shape) + _span(self.extra))

    @property
    def also(self) -> tuple[str, ...]:
        """Variables of another project that mean the same; ours win."""
        return (str(self.extra["also"]),) if "also" in self.extra else ()

    def variables(self, service: str) -> tuple[str, ...]:
        """Its environment variables for a service; the later one wins."""
        own = (variable(self.name, service),) if service else ()
        return own if self.service else (variable(self.name), *own)

    def places(self, service: str) -> tuple[str, ...]:
        """Its places in a file for a service; the later one wins."""
        own = (f"{section(service)}.{self.key}",) if service else ()
        return own if self.service else (self.key, *own)


def fields(config: type[Settings]) -> list[Field]:
    """The settings of a Config, everybody's first."""
    shared = {field.name for field in msgspec.structs.fields(_shared(config))}
    shape = inspect.type_info(config)
    assert isinstance(shape, inspect.StructType)
    types = {field.name: field.type for field in msgspec.structs.fields(config)}
    return [_field(found, types[found.name], "" if found.name in shared else config.SERVICE) for found in shape.fields]


def between(shortest: str, longest: str) -> dict[str, timedelta]:
    """Limits of a duration, for `msgspec.Meta(extra=...)`."""
    return {"shortest": duration(shortest), "longest": duration(longest)}


def text(value: object) -> str:
    """A value as a person would write it; a secret as stars."""
    match value:
        case bool():
            return str(value).lower()
        case timedelta():
            return duration_text(value)
        case Gates():
            chosen = msgspec.structs.asdict(value).values()
            changed = ((name, now) for (name, was), now in zip(defaults().items(), chosen, strict=True) if now != was)
            return ",".join(f"{name}={text(now)}" for name, now in changed)
        case tuple() | list():
            return ",".join(text(item) for item in value)
        case enum.Enum():
            return str(value.value)
    return without_credentials(str(value))


def words(shape: inspect.Type) -> str:
    """What a type expects, in words."""
    match shape:
        case inspect.Metadata():
            return str((shape.extra or {}).get("expected") or words(shape.type))
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + _range(shape)
        case inspect.FloatType():
            return "a number" + _range(shape)
        case inspect.LiteralType(values=values) | inspect.EnumType(cls=values):
            return "one of " + ", ".join(map(text, values))
    return _wider(shape)


def _wider(shape: inspect.Type) -> str:
    match shape:
        case inspect.TimeDeltaType():
            return "a duration such as 30s, 5m or 1h30m"
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list, separated by commas, of {words(shape.item_type)}"
        case inspect.StrType() | inspect.CustomType():
            return "text"
    return STRUCTURED


def _range(shape: inspect.IntType | inspect.FloatType) -> str:
    limits = (("from", shape.ge), ("above", shape.gt), ("to", shape.le), ("below", shape.lt))
    return "".join(f" {word} {limit:g}" for word, limit in limits if limit is not None)


def _span(extra: Mapping[str, Any]) -> str:
    if "shortest" not in extra:
        return ""
    return f", from {duration_text(extra['shortest'])} to {duration_text(extra['longest'])}"


def _shared(config: type[Settings]) -> type[Settings]:
    """The class whose settings concern every service."""
    return next(cls for cls in config.__mro__ if issubclass(cls, Settings) and not cls.SERVICE)


def _field(found: inspect.Field, annotation: Any, service: str) -> Field:
    shape, extra, meaning = found.type, {}, ""
    if isinstance(shape, inspect.Metadata):
        extra, meaning = shape.extra or {}, str((shape.extra_json_schema or {}).get("description", ""))
        shape = shape.type
    default = found.default if found.default_factory is msgspec.NODEFAULT else found.default_factory()
    return Field(
        name=found.name,
        key=found.encode_name,
        service=service,
        type=annotation,
        shape=shape,
        extra=extra,
        default=default,
        meaning=meaning,
    )
