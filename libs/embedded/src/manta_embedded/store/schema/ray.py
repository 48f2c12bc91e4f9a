"""The CustomResourceDefinitions of our own kinds, made from the types as `deploy/crds` is."""

from functools import cache

from manta_common.crd import kubernetes
from manta_common.crd.definitions import KINDS, definition
from manta_embedded.store.objects import Obj


def definitions() -> list[Obj]:
    """All four of them."""
    return list(_made())


@cache
def _made() -> tuple[Obj, ...]:
    """Made once: the types don't change while a program runs, and objects are never changed by anyone."""
    known = kubernetes.load()
    return tuple(definition(kind, known) for kind in KINDS)
