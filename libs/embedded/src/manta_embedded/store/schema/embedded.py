"""Objects within objects (`x-kubernetes-embedded-resource`) are objects: they say what they are, in good form."""

from collections.abc import Iterator
from typing import Any

from manta_common.validation.syntax import dns1035_label
from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import Obj, metadata
from manta_embedded.store.schema import faults
from manta_embedded.store.schema.metadata import named_causes, path_segment
from manta_embedded.store.schema.node import Node


def embedded_causes(node: Node | None, value: Any, path: str = "") -> Iterator[Cause]:
    """What is wrong with the types and metadata of every object within a value."""
    if node is None or not node.has_resources:
        return
    if isinstance(value, dict):
        if node.is_resource:
            yield from _resource_causes(value, path)
        for name, part in value.items():
            child = node.property(name)
            place = f"{path}.{name}".removeprefix(".") if child is not None else f"{path}[{name}]"
            yield from embedded_causes(child or node.additional, part, place)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from embedded_causes(node.items, part, f"{path}[{index}]")


def _resource_causes(value: Obj, path: str) -> Iterator[Cause]:
    for field in ("apiVersion", "kind"):
        if field not in value:
            yield faults.required(f"{path}.{field}")
        elif not isinstance(value[field], str):
            yield faults.invalid(f"{path}.{field}", value[field], "must be a string")
        elif not value[field]:
            yield faults.invalid(f"{path}.{field}", "", "must not be empty")
    kind = value.get("kind")
    if isinstance(kind, str) and kind and (wrong := dns1035_label(kind.lower())):
        detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        yield faults.invalid(f"{path}.kind", kind, detail)
    if "metadata" in value:
        named = {"metadata": {"name": "any", **metadata(value)}}
        yield from named_causes(named, path_segment, f"{path}.metadata")
