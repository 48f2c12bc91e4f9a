"""Edits of a manifest: the schema says which fields there are, the seed which of them change and how."""

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from manta_embedded.store.schema.ray import definitions
from tests.examples.example import Json
from tests.model.fuzz.known import GROUPS, PLANS
from tests.model.fuzz.values import strange, value

Path = tuple[str | int, ...]
DEEP = 12
DEEPER = 4  # a field that has fields comes up so much more often
LEFT_ALONE = ("managedBy",)  # nobody may change it, so there would be no way back; `known` sets it


class Edit(msgspec.Struct, frozen=True):
    """A manifest as a user would send it, and in words what is new about it."""

    manifest: Json
    says: str


def edited(kind: str, manifest: Json, chance: random.Random) -> Edit:
    """One or two things changed, of which the second may make up for the first or make it worse."""
    found, said = copy.deepcopy(manifest), []
    for _ in range(chance.choice((1, 1, 1, 2))):
        way: Callable[[str, Json, random.Random], str] = chance.choice((_at_a_field, _at_a_field, _as_known))
        said.append(way(kind, found, chance))
    return Edit(found, "; ".join(said))


@cache
def schema_of(kind: str) -> Json:
    """The schema of a kind's spec."""
    for definition in definitions():
        if definition["spec"]["names"]["kind"] == kind:
            [version] = [each for each in definition["spec"]["versions"] if each["name"] == "v1"]
            found: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            return found
    raise ValueError(f"there is no kind {kind}; known are RayCluster, RayJob, RayCronJob and RayService")


def _as_known(kind: str, manifest: Json, chance: random.Random) -> str:
    """A change that a rule of its own is about."""
    says, change = chance.choice([*PLANS[kind], *GROUPS[kind]])
    change(manifest)
    return says


def _at_a_field(kind: str, manifest: Json, chance: random.Random) -> str:
    """Walk down the schema along what is there, or beside it, and change what is found."""
    path, schema, holder = _place(schema_of(kind), manifest, chance)
    where, name = ".".join(map(str, ("spec", *path))), path[-1]
    roll = chance.random()
    if roll < 0.2 and _has(holder, name):
        del holder[name]
        return f"{where} is gone"
    new = strange(chance) if roll < 0.3 else value(schema, chance)
    if isinstance(holder, list):
        holder[int(name)] = new
    else:
        holder[name] = new
    return f"{where} = {_short(new)}"


def _place(schema: Json, manifest: Json, chance: random.Random) -> tuple[Path, Json, Any]:
    """The path of a field, its schema, and the object or list that holds it."""
    path: list[str | int] = []
    holder: Any = manifest["spec"]
    while True:
        name, below = _step(schema, holder, chance)
        path.append(name)
        inner = holder[name] if _has(holder, name) else None
        ends = len(path) >= DEEP or not _has_steps(below, inner) or chance.random() < 0.25
        if ends:
            return tuple(path), below, holder
        schema, holder = below, inner


def _step(schema: Json, holder: Any, chance: random.Random) -> tuple[str | int, Json]:
    """A field of an object or list; those that are there come up as often as all others."""
    if isinstance(holder, list):
        return chance.randrange(len(holder)), schema["items"]
    known: dict[str, Json] = schema.get("properties", {})
    there = sorted(name for name in holder if name in known and name not in LEFT_ALONE)
    others = sorted(name for name in known if name not in LEFT_ALONE)
    if not known:
        return chance.choice(sorted(holder)), schema["additionalProperties"]
    if there and chance.random() < 0.6:
        [name] = chance.choices(there, [DEEPER if isinstance(holder[each], dict | list) else 1 for each in there])
    else:
        name = chance.choice(others)
    return name, known[name]


def _has_steps(schema: Json, inner: Any) -> bool:
    if isinstance(inner, list):
        return bool(inner) and "items" in schema
    if not isinstance(inner, dict):
        return False
    return bool(schema.get("properties")) or (bool(inner) and "additionalProperties" in schema)


def _has(holder: Any, name: str | int) -> bool:
    return isinstance(holder, list) or name in holder


def _short(new: Any) -> str:
    text = msgspec.json.encode(new).decode()
    return text if len(text) <= 80 else f"{text[:70]}... ({len(text)} characters)"
