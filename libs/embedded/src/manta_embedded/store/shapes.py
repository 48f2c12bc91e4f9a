"""How the parts of an object merge: which maps and lists are one value, which lists are sets or have keys."""

from collections.abc import Mapping
from typing import Any, Literal

ListType = Literal["atomic", "set", "map"]
Schema = Mapping[str, Any]
METADATA: Schema = {
    "properties": {
        **{name: {} for name in ("name", "generateName", "namespace", "uid", "resourceVersion", "generation")},
        **{name: {} for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")},
        **{name: {} for name in ("selfLink", "managedFields")},
        **{name: {"additionalProperties": {"type": "string"}} for name in ("labels", "annotations")},
        "finalizers": {"x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {"x-kubernetes-map-type": "atomic"},
        },
    }
}


class Shape:
    """The shape of one value by its OpenAPI schema; what the schema does not tell is a granular map or an atomic list.

    Shapes of parts are made when they are asked for, so that a schema may refer to itself.
    """

    __slots__ = ("_definitions", "_fields", "_items", "_names", "_schema", "type")

    def __init__(self, schema: Schema, definitions: Mapping[str, Schema]) -> None:
        reference = schema.get("$ref")
        self._schema = {**definitions[reference], **schema} if reference else schema
        self._definitions = definitions
        self._fields: dict[str, Shape] = {}
        self._items: Shape | None = None
        self._names = _closed_names(self._schema)
        self.type: str = self._schema.get("type", "")  # that a value must have; empty where any will do

    def field(self, name: str) -> "Shape":
        """The shape of a field of a map."""
        found = self._fields.get(name)
        if found is None:
            schema = self._schema.get("properties", {}).get(name) or self._schema.get("additionalProperties")
            found = Shape(schema, self._definitions) if isinstance(schema, Mapping) else ANYTHING
            self._fields[name] = found
        return found

    @property
    def items(self) -> "Shape":
        """The shape of every item of a list."""
        if self._items is None:
            schema = self._schema.get("items")
            self._items = Shape(schema, self._definitions) if schema else ANYTHING
        return self._items

    @property
    def is_atomic(self) -> bool:
        """Whether a map is one value."""
        return self._schema.get("x-kubernetes-map-type") == "atomic"

    @property
    def list_type(self) -> ListType:
        """How a list merges."""
        found: ListType = self._schema.get("x-kubernetes-list-type", "atomic")
        return found

    @property
    def list_keys(self) -> tuple[str, ...]:
        """The fields by which the items of a list of type `map` are told apart."""
        return tuple(self._schema.get("x-kubernetes-list-map-keys", ()))

    @property
    def merge_key(self) -> str:
        """The field by which a strategic merge patch tells items of a list apart; empty where it replaces the list."""
        found: str = self._schema.get("x-kubernetes-patch-merge-key", "")
        return found if "merge" in self.merge_strategy else ""

    @property
    def merge_strategy(self) -> tuple[str, ...]:
        """How a strategic merge patch changes it: `merge`, `replace`, `retainKeys`."""
        return tuple(self._schema.get("x-kubernetes-patch-strategy", "").split(","))

    def key_of(self, item: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """What tells an item of a list of type `map` apart; a key that is left out has its default."""
        return tuple((key, item.get(key, self.items.field(key).default)) for key in self.list_keys)

    @property
    def is_free_map(self) -> bool:
        """Whether it is a map with names of any kind, as labels are."""
        return "additionalProperties" in self._schema

    @property
    def required_type(self) -> str:
        """The type that a value must have, where null is none of its values; empty where any will do."""
        found: str = "" if self._schema.get("nullable") else self._schema.get("type", "")
        return found

    @property
    def default(self) -> Any:
        """The value that counts where none is given."""
        return self._schema.get("default")

    def allows(self, name: str) -> bool:
        """Whether a map may have this field; one without a schema may have any."""
        return self._names is None or name in self._names

    def declares(self, name: str) -> bool:
        """Whether a field has a name in the schema; it is then a part of its map rather than an entry in it."""
        return name in self._schema.get("properties", ())


def _closed_names(schema: Schema) -> Mapping[str, Any] | None:
    """The fields that a map may have; None where it may have any."""
    is_open = schema.get("additionalProperties") or schema.get("x-kubernetes-preserve-unknown-fields")
    return None if is_open else schema.get("properties")


ANYTHING = Shape({}, {})


def custom(schema: Schema) -> Shape:
    """The shape of a custom resource; its schema says nothing of apiVersion, kind and metadata."""
    always = {"apiVersion": {}, "kind": {}, "metadata": METADATA}
    return Shape({**schema, "properties": {**schema.get("properties", {}), **always}}, {})
