"""A structural schema, its parts made when they are first met."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

Schema = Mapping[str, Any]

INT_OR_STRING: Final = ("integer", "string")


class Node:
    """One place in a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.type: str = schema.get("type", "")
        self.is_int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
        self.types = INT_OR_STRING if self.is_int_or_string else (self.type,) if self.type else ()
        self.nullable = bool(schema.get("nullable"))
        self.preserves = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        self.is_resource = bool(schema.get("x-kubernetes-embedded-resource"))
        self.list_type: str = schema.get("x-kubernetes-list-type", "")
        self.list_keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys", ()))
        self._properties: Schema = schema.get("properties") or {}
        self._made: dict[str, Node] = {}

    def property(self, name: str) -> "Node | None":
        """The place of a named property."""
        return self._place(name) if name in self._properties else None

    def child(self, name: str) -> "Node | None":
        """The place of a key: a named property, or any other that is allowed."""
        return self.property(name) or self.additional

    @cached_property
    def additional(self) -> "Node | None":
        """The place of keys that are not named."""
        found = self.schema.get("additionalProperties")
        if isinstance(found, Mapping):
            return Node(found)
        return Node({}) if found is True else None

    @cached_property
    def items(self) -> "Node | None":
        """The place of the items of a list."""
        found = self.schema.get("items")
        return Node(found) if found is not None else None

    @cached_property
    def defaults(self) -> "tuple[tuple[str, Any, Node], ...]":
        """Properties with a default that is not null: name, default, place."""
        with_default = [name for name, schema in self._properties.items() if schema.get("default") is not None]
        return tuple((name, self._properties[name]["default"], self._place(name)) for name in with_default)

    @cached_property
    def any_of(self) -> "tuple[Node, ...]":
        """Alternatives of which one at least must hold."""
        return self._alternatives("anyOf")

    @cached_property
    def one_of(self) -> "tuple[Node, ...]":
        """Alternatives of which exactly one must hold."""
        return self._alternatives("oneOf")

    @cached_property
    def all_of(self) -> "tuple[Node, ...]":
        """Schemas that must all hold."""
        return self._alternatives("allOf")

    @cached_property
    def negated(self) -> "Node | None":
        """The schema that must not hold."""
        found = self.schema.get("not")
        return Node(found) if found is not None else None

    @cached_property
    def is_composite(self) -> bool:
        """Whether other schemas have a say here."""
        return bool(self.any_of or self.one_of or self.all_of or self.negated)

    @cached_property
    def has_rules(self) -> bool:
        """Whether there is a CEL rule here or anywhere below."""
        return _holds(self.schema, "x-kubernetes-validations", {})

    @cached_property
    def has_resources(self) -> bool:
        """Whether there is an object within the object here or anywhere below."""
        return _holds(self.schema, "x-kubernetes-embedded-resource", {})

    def _place(self, name: str) -> "Node":
        if name not in self._made:
            self._made[name] = Node(self._properties[name])
        return self._made[name]

    def _alternatives(self, word: str) -> "tuple[Node, ...]":
        return tuple(Node(schema) for schema in self.schema.get(word) or ())


def _holds(schema: Schema, word: str, known: dict[int, bool]) -> bool:
    """Sub-schemas are shared (a pod template stands in many places), so each is looked at once."""
    if id(schema) not in known:
        known[id(schema)] = bool(schema.get(word)) or any(_holds(part, word, known) for part in _parts(schema))
    return known[id(schema)]


def _parts(schema: Schema) -> list[Schema]:
    found = [*(schema.get("properties") or {}).values(), *(schema.get("allOf") or ())]
    found += [schema.get("items"), schema.get("additionalProperties")]
    return [part for part in found if isinstance(part, Mapping)]
