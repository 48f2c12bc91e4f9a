"""Whether an object fits its schema; what was there before and has not changed is let pass (ratcheting)."""

from typing import Any, Final

from manta_embedded.store.errors import Cause
from manta_embedded.store.schema import faults
from manta_embedded.store.schema.node import Node
from manta_embedded.store.schema.scalars import (
    Where,
    choice_faults,
    number_faults,
    text_faults,
    type_faults,
)

UNRELATED: Final = object()  # no value from before belongs to this one


def schema_faults(node: Node, value: Any, old: Any = UNRELATED, *, prefix: str = "") -> list[Cause]:
    """What keeps a value from fitting a schema; on an update, `old` is what stood there before."""
    return list(dict.fromkeys(_Walk(prefix).faults(node, value, "", old)))


def before(node: Node, value: Any, old: Any, key: str | int) -> Any:
    """What stood before at a key of a value, or `UNRELATED`: items are known again only by the keys of a map list."""
    if isinstance(key, str):
        atomic = node.schema.get("x-kubernetes-map-type") == "atomic"
        return old[key] if isinstance(old, dict) and not atomic and key in old else UNRELATED
    if not isinstance(old, list) or node.list_type != "map":
        return UNRELATED
    return next((item for item in old if _name(node, item) == _name(node, value[key])), UNRELATED)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same to JSON: to Python, true is also 1."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(part, other[name]) for name, part in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


class _Walk:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def faults(self, node: Node, value: Any, path: str, old: Any) -> list[Cause]:
        where = Where(self._prefix, path)
        found = [*type_faults(node, value, where), *choice_faults(node, value, where)]
        if value is not None:
            if node.is_composite:
                found += self._shape(node, value, path, old)
            found += self._of_kind(node, value, path, old)
        if found and old is not UNRELATED and is_same(old, value):
            return []
        return found

    def _of_kind(self, node: Node, value: Any, path: str, old: Any) -> list[Cause]:
        where = Where(self._prefix, path)
        match value:
            case bool():
                return []
            case str():
                return list(text_faults(node, value, where))
            case int() | float():
                return list(number_faults(node, value, where))
            case list():
                return self._list(node, value, path, old)
            case _:
                return self._object(node, value, path, old)

    def _list(self, node: Node, value: list[Any], path: str, old: Any) -> list[Cause]:
        found: list[Cause] = []
        if node.items is not None:
            for index, part in enumerate(value):
                found += self.faults(node.items, part, f"{path}[{index}]", before(node, value, old, index))
        where, least, most = Where(self._prefix, path), node.schema.get("minItems"), node.schema.get("maxItems")
        if least is not None and len(value) < least:
            found.append(where.invalid(len(value), f"should have at least {least} items"))
        if most is not None and len(value) > most:
            found.append(faults.too_many(where.field, len(value), most))
        return found

    def _object(self, node: Node, value: dict[str, Any], path: str, old: Any) -> list[Cause]:
        found = self._count(node, value, path)
        for name, part in value.items():
            child = node.child(name)
            if child is not None:
                related = UNRELATED if not path and name in ("apiVersion", "kind") else before(node, value, old, name)
                found += self.faults(child, part, f"{path}.{name}" if path else name, related)
        missing = (name for name in node.schema.get("required") or () if name not in value)
        return found + [faults.required(Where(self._prefix, f"{path}.{name}").field) for name in missing]

    def _count(self, node: Node, value: dict[str, Any], path: str) -> list[Cause]:
        where = Where(self._prefix, path)
        least, most = node.schema.get("minProperties"), node.schema.get("maxProperties")
        if least is not None and len(value) < least:
            return [where.invalid(len(value), f"should have at least {least} properties")]
        if most is not None and len(value) > most:
            return [faults.too_many(where.field, len(value), most)]
        return []

    def _shape(self, node: Node, value: Any, path: str, old: Any) -> list[Cause]:
        """Faults of anyOf, oneOf, allOf and not."""
        where, found = Where(self._prefix, path), list[Cause]()
        anys = [self.faults(one, value, path, old) for one in node.any_of]
        if anys and all(anys):
            found += [where.composite("must validate at least one schema (anyOf)"), *anys[0]]
        ones = [self.faults(one, value, path, old) for one in node.one_of]
        valid = sum(not one for one in ones)
        if ones and valid != 1:
            how = f"Found {valid} valid alternatives" if valid else "Found none valid"
            found += [where.composite(f"must validate one and only one schema (oneOf). {how}")]
            found += [] if valid else ones[0]
        alls = [self.faults(one, value, path, old) for one in node.all_of]
        if any(alls):
            none = ". None validated" if all(alls) else ""
            found += [fault for one in alls for fault in one]
            found.append(where.composite(f"must validate all the schemas (allOf){none}"))
        if node.negated is not None and not self.faults(node.negated, value, path, old):
            found.append(where.composite("must not validate the schema (not)"))
        return found


def _name(node: Node, item: Any) -> Any:
    """The keys by which a map list knows an item."""
    return [item.get(key) for key in node.list_keys] if isinstance(item, dict) else UNRELATED
