"""Strategic merge patches: lists of built-in kinds merge by the key that their schema names, with directives.

https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from manta_embedded.store import errors
from manta_embedded.store.objects import Obj
from manta_embedded.store.shapes import Shape

DIRECTIVE, RETAIN = "$patch", "$retainKeys"
ORDER, DELETIONS = "$setElementOrder/", "$deleteFromPrimitiveList/"


class StrategicPatch(msgspec.Struct, frozen=True):
    """Fields to set, to remove where they are null, and to merge where they are lists with a key."""

    body: Any


def merged(original: Any, patch: Any, shape: Shape) -> Any:
    """The original after a patch; 400 when the patch makes no sense."""
    if not isinstance(patch, Mapping):
        raise errors.bad_request("the body of a strategic merge patch is an object")
    return _merged_map(original, patch, shape)


def _merged_map(original: Any, patch: Mapping[str, Any], shape: Shape) -> Any:
    directive = patch.get(DIRECTIVE, "merge")
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    if directive != "merge":
        raise errors.bad_request(f"unknown $patch type: {directive}")
    found = _retained(dict(original) if isinstance(original, Mapping) else {}, patch)
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        elif not name.startswith("$"):
            found[name] = _merged(found.get(name), value, shape.field(name), patch.get(ORDER + name))
    for name in patch:  # an order alone changes the order
        field = name.removeprefix(ORDER)
        if name.startswith(ORDER) and field not in patch and found.get(field):
            found[field] = _ordered(found[field], patch[name], found[field], shape.field(field).merge_key)
    return found


def _retained(found: Obj, patch: Mapping[str, Any]) -> Obj:
    """Without the fields and items that a patch does not let stay."""
    if RETAIN in patch:
        found = {name: value for name, value in found.items() if name in patch[RETAIN]}
    for name, value in patch.items():
        if name.startswith(DELETIONS):
            field = name.removeprefix(DELETIONS)
            found[field] = [item for item in found.get(field) or () if item not in value]
    return found


def _merged(original: Any, value: Any, shape: Shape, order: Any) -> Any:
    if isinstance(value, Mapping):
        return _merged_map(original, value, shape)
    if not isinstance(value, list):
        return value
    if any(isinstance(item, Mapping) and item.get(DIRECTIVE) == "replace" for item in value):
        return [item for item in value if item.get(DIRECTIVE) != "replace"]
    before, key = original if isinstance(original, list) else [], shape.merge_key
    if key:
        found = _merged_items(before, value, shape)
    elif "merge" in shape.merge_strategy:
        found = [*before, *(item for item in value if item not in before)]
    else:
        return value
    return _ordered(found, value if order is None else order, before, key)


def _merged_items(before: list[Any], value: list[Any], shape: Shape) -> list[Any]:
    key, found = shape.merge_key, list(before)
    for item in value:
        if not isinstance(item, Mapping) or key not in item:
            raise errors.bad_request(f"map: {item} does not contain declared merge key: {key}")
        place = next((n for n, one in enumerate(found) if one.get(key) == item[key]), None)
        if item.get(DIRECTIVE) == "delete":
            found = [one for one in found if one.get(key) != item[key]]
        elif place is None:
            found.append(_merged_map({}, item, shape.items))
        else:
            found[place] = _merged_map(found[place], item, shape.items)
    return found


def _ordered(items: list[Any], order: Any, before: list[Any], key: str) -> list[Any]:
    """What the patch names in its order, and the rest where it stood, as far as both can be."""

    def name(item: Any) -> Any:
        return item.get(key) if isinstance(item, Mapping) and key else item

    wanted, stood = [name(one) for one in order], [name(one) for one in before]
    named = sorted((one for one in items if name(one) in wanted), key=lambda one: wanted.index(name(one)))
    others = [one for one in items if name(one) not in wanted]
    found: list[Any] = []
    while named and others:
        first, other = name(named[0]), name(others[0])
        is_later = first in stood and other in stood and stood.index(other) < stood.index(first)
        found.append((others if is_later else named).pop(0))
    return [*found, *named, *others]
