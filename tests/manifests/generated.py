"""Manifests made up by hypothesis from our CRDs: everything the API server admits, and things it may not."""

import copy
import functools
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec import inspect

from manta_common.crd import kubernetes
from manta_common.crd.definitions import KINDS, Kind, definition, parts
from manta_common.crd.rules import BACKEND, DELETION_CONDITION, DELETION_STRATEGY, MANAGED_BY
from manta_common.crd.schema import Property, Schema, inner, properties

DEPTH, BREADTH = 14, 5
TEXT = st.text(string.ascii_letters + string.digits + "-./ ü€'\"\\\n", max_size=6)
KEYS = st.text(string.ascii_lowercase + "./-", min_size=1, max_size=5)
QUANTITIES = st.sampled_from(["0", "1", "500m", "2Gi", "1e3", "+1.5", ".5", 3, 0])
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001  hypothesis wants them naive
    lambda time: time.replace(microsecond=0, tzinfo=UTC).isoformat().replace("+00:00", "Z")
)
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.0,
    1.5,
    2**31,
    2**63,
    "",
    "x",
    "2020-01-01",
    "1Gi",
    [],
    {},
    [None],
    ["x"],
    {"a": None},
)


class Place(NamedTuple):
    """A field somewhere in a manifest, and the object that holds it."""

    holder: dict[str, Any]
    field: Property


@functools.cache
def schema(kind: Kind) -> Schema:
    """The schema of a kind's `v1`."""
    found: Schema = definition(kind, kubernetes.load())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def manifests(kind: Kind) -> st.SearchStrategy[dict[str, Any]]:
    """Manifests of a kind that the API server admits."""
    whole = schema(kind)["properties"]
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just("ray.io/v1"),
            "kind": st.just(kind.name),
            "metadata": st.just({"name": "made-up"}),
            "spec": values(whole["spec"]),
            "status": values(whole["status"]),
        }
    )


def any_manifest() -> st.SearchStrategy[tuple[Kind, dict[str, Any]]]:
    """A kind, and a manifest of it that the API server admits."""
    return st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), manifests(kind)))


@st.composite
def odd_manifest(draw: st.DrawFn) -> tuple[Kind, dict[str, Any]]:
    """A kind, and a manifest of it in which one field of ours holds something that may or may not be right."""
    kind, manifest = draw(any_manifest())
    found = copy.deepcopy(manifest)
    places = [place for part in parts(kind) for place in _places(found, part)]
    place = draw(st.sampled_from(places))
    place.holder[place.field.name] = draw(st.sampled_from(_odd_values(place.field)))
    return kind, found


@st.composite
def values(draw: st.DrawFn, node: Schema, depth: int = 0) -> Any:
    """Whatever a schema admits, no deeper and no broader than a test can bear."""
    if "x-kubernetes-validations" in node:
        return draw(_ruled(node, depth))
    if node.get("x-kubernetes-int-or-string"):
        return draw(QUANTITIES if "pattern" in node else st.integers(0, 70000) | TEXT)
    match node["type"]:
        case "object" if "properties" in node:
            return _object(draw, node, depth)
        case "object":
            return draw(st.dictionaries(KEYS, values(node.get("additionalProperties", STRING), depth + 1), max_size=2))
        case "array":
            return _array(draw, node, depth)
        case _:
            return draw(_scalars(node))


STRING: Schema = {"type": "string"}


def _object(draw: st.DrawFn, node: Schema, depth: int) -> dict[str, Any]:
    required = node.get("required", [])
    optional = [name for name in node["properties"] if name not in required]
    breadth = draw(st.integers(0, min(BREADTH, len(optional)) if depth < DEPTH else 0))
    chosen = (
        draw(st.lists(st.sampled_from(optional), min_size=breadth, max_size=breadth, unique=True)) if breadth else []
    )
    return {name: draw(values(node["properties"][name], depth + 1)) for name in [*required, *chosen]}


def _array(draw: st.DrawFn, node: Schema, depth: int) -> list[Any]:
    least = node.get("minItems", 0)
    items = draw(st.lists(values(node["items"], depth + 1), min_size=least, max_size=max(least, 2)))
    match node.get("x-kubernetes-list-type"):
        case "map":
            keys = node["x-kubernetes-list-map-keys"]
            fields = node["items"]["properties"]
            known = {tuple(item.get(key, fields[key].get("default")) for key in keys): item for item in items}
            return list(known.values())
        case "set":
            return sorted(set(items))
        case _:
            return items


def _scalars(node: Schema) -> st.SearchStrategy[Any]:
    match node:
        case {"enum": choices}:
            return st.sampled_from(choices)
        case {"type": "integer", "format": form}:
            top = 2**31 if form == "int32" else 2**63
            return st.integers(node.get("minimum", -top), top - 1)
        case {"type": "string"}:
            return _strings(node)
        case _:
            return {"boolean": st.booleans(), "number": st.floats(0, 1e6, width=32)}[node["type"]]


def _strings(node: Schema) -> st.SearchStrategy[str]:
    match node:
        case {"format": "date-time"}:
            return TIMES
        case {"pattern": _}:
            return st.sampled_from(["Ready", "Ok", "A_1"])
        case _:
            return st.just("x") if node.get("minLength") else TEXT


def _ruled(node: Schema, depth: int) -> st.SearchStrategy[Any]:
    """What the rules of a node admit."""
    rules = node["x-kubernetes-validations"]
    if rules == MANAGED_BY:
        return st.sampled_from(["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"])
    if rules == BACKEND:
        return st.sampled_from(node["enum"])
    choices = {
        str(DELETION_CONDITION): (["jobStatus"], ["jobDeploymentStatus"], ["jobStatus", "ttlSeconds"]),
        str(DELETION_STRATEGY): (["onSuccess", "onFailure"], ["deletionRules"]),
    }[str(rules)]
    fields = node["properties"]
    return st.one_of(
        *(st.fixed_dictionaries({name: values(fields[name], depth + 1) for name in names}) for names in choices)
    )


def _odd_values(field: Property) -> list[Any]:
    """Values to try on a field; the API server does not notice a list where a time should be, so none there."""
    return [value for value in ODD if not (isinstance(field.type, inspect.DateTimeType) and isinstance(value, list))]


def _places(holder: dict[str, Any], field: Property) -> Iterator[Place]:
    """Every field of ours in a manifest from here on; what Kubernetes defines is not entered."""
    if isinstance(_bottom(field.type), inspect.RawType):
        return
    yield Place(holder, field)
    owner = _bottom(field.type)
    if isinstance(owner, inspect.StructType):
        for value in _objects(holder.get(field.name), field.type):
            for child in properties(owner.cls):
                if child.name in value:
                    yield from _places(value, child)


def _bottom(bare: inspect.Type) -> inspect.Type:
    match inner(bare):
        case inspect.VarTupleType(item_type=item):
            return _bottom(item)
        case inspect.DictType(value_type=value):
            return _bottom(value)
        case other:
            return other


def _objects(value: Any, bare: inspect.Type) -> list[dict[str, Any]]:
    match inner(bare):
        case inspect.VarTupleType():
            return list(value)
        case inspect.DictType():
            return list(value.values())
        case _:
            return [value]
