"""Whether what is applied fits the shape of its kind, in the words of the API server."""

from collections.abc import Iterator
from typing import Any

from manta_embedded.store import errors
from manta_embedded.store.errors import Cause
from manta_embedded.store.fieldsets import Path, element_of, shown
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, metadata
from manta_embedded.store.schema import faults
from manta_embedded.store.shapes import Shape


def check(served: Served, name: str, config: Any) -> Obj:
    """A configuration that can be applied to this object; 400 when it is another's, 500 when it does not fit."""
    kind = served.kind
    given = (config.get("apiVersion", ""), config.get("kind", "")) if isinstance(config, dict) else ("", "")
    if given != (kind.api_version, kind.kind):
        raise errors.bad_request(f"invalid object type: {given[0]}, Kind={given[1]}")
    if not metadata(config).get("name"):
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if metadata(config).get("managedFields") is not None:
        raise errors.bad_request("metadata.managedFields must be nil")
    wrong = next(_faults(config, served.shape, ()), "")
    if wrong:
        meta = metadata(config)
        what = f"{meta.get('namespace', '')}/{meta['name']}; {kind.api_version}, Kind={kind.kind}"
        raise errors.StatusError(500, "", f"failed to create typed patch object ({what}): {wrong}")
    found: Obj = config
    return found


def null_causes(obj: Obj, shape: Shape) -> Iterator[Cause]:
    """What is null after an apply to a custom resource, and may not be: a map that was emptied, most often."""
    for path, wanted in _nulls(obj, shape, ""):
        yield faults.type_invalid(path, "null", f'{path} in body must be of type {wanted}: "null"')


def _nulls(value: Any, shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    if value is None and shape.required_type:
        yield path, shape.required_type
    elif isinstance(value, dict):
        for name, child in value.items():
            yield from _nulls(child, shape.field(name), f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _nulls(item, shape.items, f"{path}[{number}]")


def _faults(value: Any, shape: Shape, path: Path) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            inner = (*path, f"f:{name}")
            if not shape.allows(name):
                yield f"{shown(inner)}: field not declared in schema"
            yield from _faults(child, shape.field(name), inner)
    elif isinstance(value, list) and shape.list_type != "atomic":
        yield from _list_faults(value, shape, path)


def _list_faults(items: list[Any], shape: Shape, path: Path) -> Iterator[str]:
    seen: set[str] = set()
    keys = ", ".join(f'"{key}"' for key in shape.list_keys)
    for number, item in enumerate(items):
        if isinstance(item, dict) and all(value is None for _, value in shape.key_of(item)):
            yield (
                f"{shown(path)}: element {number}: associative list with keys has an element that omits all key fields"
                f" [{keys}] (and doesn't have default values for any key fields)"
            )
        element = element_of(item, shape)
        if element in seen:
            yield f"{shown(path)}: duplicate entries for key {shown((element,))}"
        seen.add(element)
        yield from _faults(item, shape.items, (*path, element))
