"""Writes of custom resources, without a store."""

import functools
from typing import Any

from manta_common.keys import Key
from manta_embedded.store.admission import Review
from manta_embedded.store.definitions import defined
from manta_embedded.store.errors import Cause, StatusError
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.schema.ray import definitions


@functools.cache
def ray_kinds() -> dict[tuple[str, str], Served]:
    """Our kinds by their name and version."""
    return {(one.kind.kind, one.kind.version): one for crd in definitions() for one in defined(crd)}


def gadgets(spec: Obj, **rest: Any) -> Served:
    """A kind of which only the schema of the spec matters."""
    schema = {"type": "object", "properties": {"spec": spec, **rest}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Gadget", "plural": "gadgets"}
    crd = {"spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}}
    return defined(crd)[0]


def gadget(spec: Any) -> Obj:
    """A gadget to create."""
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "it"}, "spec": spec}


def admitted(served: Served, new: Obj, old: Obj | None = None, *, subresource: str = "", **options: bool) -> Obj:
    """What is stored of an object; StatusError when it is refused."""
    operation: Any = "CREATE" if old is None else "UPDATE"
    key = Key("space", new["metadata"]["name"])
    review = Review(operation=operation, served=served, key=key, subresource=subresource, old=old, new=new)
    found = _admission(**options).admit(review)
    assert found is not None
    return found


@functools.cache
def _admission(**options: bool) -> CustomResources:
    """One that knows what it has compiled."""
    return CustomResources(**options)


def causes(served: Served, new: Obj, old: Obj | None = None, **options: Any) -> list[str]:
    """What is said against an object, each with its field, in order of text."""
    try:
        admitted(served, new, old, **options)
    except StatusError as error:
        return sorted(str(Cause(**cause)) for cause in error.details["causes"])
    return []
