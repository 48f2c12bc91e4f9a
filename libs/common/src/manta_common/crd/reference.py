"""The reference of every field, as Markdown, from the same types as the CRDs."""

import inspect as source
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayClusterSpec, RayClusterStatus
from manta_common.api.rayjob import RayJobSpec
from manta_common.crd.definitions import KINDS, Kind, parts
from manta_common.crd.rules import RULES
from manta_common.crd.schema import Property, choices, inner, properties

HEAD: Final = """\
# The API: every field

Made by `make crds` from the types in `manta_common.api`; do not edit. The group is `ray.io`, the version `v1`.
RayCluster, RayJob and RayService are also served as `v1alpha1`, which is deprecated and has the old fields only.

"Required" is what the API server insists on. "Default" is what it writes when the field is absent; a default that the
operator applies without writing it is part of the meaning. Kubernetes' own types are described by Kubernetes.
"""
# They stand in several kinds, and are told once.
TOLD_ELSEWHERE: Final = {
    RayClusterSpec: "as [RayCluster](#raycluster) `spec`",
    RayClusterStatus: "as [RayCluster](#raycluster) `status`",
    RayJobSpec: "as [RayJob](#rayjob) `spec`",
    Condition: "[Condition](#conditions)",
}


class Row(NamedTuple):
    """One field and where it is."""

    path: str
    field: Property


def reference() -> str:
    """The whole page."""
    sections = [HEAD, *(_kind(kind) for kind in KINDS), _conditions(), _ours(), _rules()]
    return "\n".join(sections)


def rows(prefix: str, fields: Iterable[Property], *, home: type) -> Iterator[Row]:
    """Every field below the given ones, with its path; what belongs to another kind is named and not entered."""
    for field in fields:
        yield Row(f"{prefix}{field.name}{_marks(field.type)}", field)
        owner = _struct(field.type)
        if owner and (owner not in TOLD_ELSEWHERE or _at_home(owner, home, prefix)):
            yield from rows(f"{prefix}{field.name}{_marks(field.type)}.", properties(owner), home=home)


def _kind(kind: Kind) -> str:
    return f"## {kind.name}\n\n{source.getdoc(kind.type)}\n\n{_table(rows('', parts(kind), home=kind.type))}"


def _conditions() -> str:
    text = "An entry of any list of conditions; the list holds each type once."
    return f"## Conditions\n\n{text}\n\n{_table(rows('', properties(Condition), home=Condition))}"


def _ours() -> str:
    every = [
        (kind.name, row)
        for kind in KINDS
        for row in rows("", parts(kind), home=kind.type)
        if row.field.hints.get("ours")
    ]
    lines = [f"| {name} | `{row.path}` | {_type(row.field)} | {_cell(row.field.description)} |" for name, row in every]
    text = (
        "KubeRay's CRDs do not have these. They are optional: where KubeRay's CRDs are installed the API server drops\n"
        "them, and everything else works."
    )
    table = "\n".join(["| kind | field | type | meaning |", "|---|---|---|---|", *lines])
    return f"## Fields beyond KubeRay's\n\n{text}\n\n{table}\n"


def _rules() -> str:
    lines = [
        f"| {_place(owner, attribute)} | `{_cell(rule['rule'])}` | {rule['message']} |"
        for (owner, attribute), rules in RULES.items()
        for rule in rules
    ]
    table = "\n".join(["| where | rule | what the API server answers |", "|---|---|---|", *lines])
    text = "The API server checks these (CEL), wherever the type occurs in `v1`."
    return f"## Rules\n\n{text}\n\n{table}\n"


def _table(found: Iterable[Row]) -> str:
    head = ["| field | type | required | default | meaning |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_line(row) for row in found)]) + "\n"


def _line(row: Row) -> str:
    default = f"`{_json(row.field.hints['default'])}`" if "default" in row.field.hints else ""
    required = "yes" if row.field.required else ""
    return f"| `{row.path}` | {_type(row.field)} | {required} | {default} | {_cell(row.field.description)} |"


def _type(field: Property) -> str:
    if any(field.owner is kind.type for kind in KINDS):
        return "object"
    if values := choices(field):
        return " or ".join(f"`{value}`" for value in values)
    return _word(field.type, field)


def _word(bare: inspect.Type, field: Property) -> str:
    match bare:
        case inspect.StructType(cls=owner):
            return TOLD_ELSEWHERE.get(owner, "object")
        case inspect.VarTupleType(item_type=item):
            return f"list of {_word(inner(item), field)}"
        case inspect.DictType(value_type=value):
            return f"map to {_word(inner(value), field)}"
        case inspect.RawType():
            return str(field.hints["kubernetes"]).rpartition(".")[2]
        case inspect.UnionType():
            return "Quantity"
        case _:
            return _scalar(bare, field)


def _scalar(bare: inspect.Type, field: Property) -> str:
    match bare:
        case inspect.IntType():
            least = f", at least {field.hints['minimum']}" if "minimum" in field.hints else ""
            return f"{field.hints['format']}{least}"
        case inspect.BoolType():
            return "boolean"
        case inspect.FloatType():
            return "number"
        case inspect.DateTimeType():
            return "time"
        case inspect.StrType(min_length=least) if least:
            return "string, not empty"
        case _:
            return "string"


def _marks(bare: inspect.Type) -> str:
    match bare:
        case inspect.VarTupleType():
            return "[]"
        case inspect.DictType(value_type=value) if _struct(value):
            return ".*"
        case _:
            return ""


def _struct(bare: inspect.Type) -> type | None:
    match bare:
        case inspect.StructType(cls=owner):
            return owner
        case inspect.VarTupleType(item_type=item):
            return _struct(inner(item))
        case inspect.DictType(value_type=value):
            return _struct(inner(value))
        case _:
            return None


def _at_home(owner: type, home: type, prefix: str) -> bool:
    """Whether this is the place where a type that stands in several kinds is told: spec or status of its own kind."""
    return not prefix and owner.__name__.startswith(home.__name__)


def _place(owner: type, attribute: str) -> str:
    name = next((f".{field.name}" for field in properties(owner) if field.attribute == attribute), "")
    return f"{owner.__name__}{name}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
