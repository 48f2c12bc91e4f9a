"""Values for a field by its schema: such as it asks for, such as hardly anyone writes, and such as it forbids."""

import random
from collections.abc import Callable
from typing import Any

from tests.examples.example import Json

INT32 = 2**31 - 1
LONG = "a" * 300
PLAIN = ("a", "A_b", "a.b", "0", "1", "true")
TEXTS = (*PLAIN, "", " ", "-a", "a-", "ä", "-1", "null", "a\nb", "{}", "[", "%s", "'", LONG)
NUMBERS = (0, 1, 2, 3, 5, -1, 100, INT32)
QUANTITIES = ("0", "1", "500m", "1Gi", "-1", "1e3", "1.5", "", "1Q", "a", 2, -1, 0, "100000000000E", ".5", "1n")
KEYS = ("a", "example.com/a", "", "-a", "a/b/c", "A_b", "a b", LONG, "ray.io/cluster", "ray.io/node-type", "num-cpus")
STRANGE: tuple[Any, ...] = (None, "a", 1, -1, 1.5, True, [], {}, ["a"], {"a": 1}, [None])
DEEP = 2


def value(schema: Json, chance: random.Random, *, depth: int = DEEP) -> Any:
    """A value of the type that the schema names, plain or odd."""
    if "enum" in schema and chance.random() < 0.8:
        return chance.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return chance.choice(QUANTITIES)
    make = MAKERS.get(schema.get("type", ""))
    return make(schema, chance, depth) if make else strange(chance)


def strange(chance: random.Random) -> Any:
    """A value of any type."""
    return chance.choice(STRANGE)


def _integer(schema: Json, chance: random.Random, _: int) -> int:
    return chance.choice((*NUMBERS, schema.get("minimum", 0) - 1))


def _array(schema: Json, chance: random.Random, depth: int) -> list[Any]:
    return [value(schema["items"], chance, depth=depth - 1) for _ in range(_count(chance, depth))]


def _object(schema: Json, chance: random.Random, depth: int) -> Json:
    """What is required, mostly, and a little of what is not."""
    if "additionalProperties" in schema:
        each = schema["additionalProperties"]
        return {chance.choice(KEYS): value(each, chance, depth=depth - 1) for _ in range(_count(chance, depth))}
    known: dict[str, Json] = schema.get("properties", {})
    wanted = [name for name in schema.get("required", ()) if chance.random() < 0.9]
    if known and depth > 0:
        wanted += chance.sample(sorted(known), min(len(known), chance.randrange(3)))
    return {name: value(known[name], chance, depth=depth - 1) for name in dict.fromkeys(wanted)}


def _count(chance: random.Random, depth: int) -> int:
    return chance.choice((0, 1, 1, 2)) if depth > 0 else 0


MAKERS: dict[str, Callable[[Json, random.Random, int], Any]] = {
    "string": lambda _, chance, __: chance.choice(TEXTS),
    "integer": _integer,
    "number": lambda _, chance, __: chance.choice((*NUMBERS, 0.5, 1e308)),
    "boolean": lambda _, chance, __: chance.random() < 0.5,
    "array": _array,
    "object": _object,
}
