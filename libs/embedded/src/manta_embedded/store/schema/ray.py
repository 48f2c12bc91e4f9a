"""The CustomResourceDefinitions of our own kinds, made from the types as `deploy/crds` is."""

from manta_common.crd import kubernetes
from manta_common.crd.definitions import KINDS, definition
from manta_embedded.store.objects import Obj


def definitions() -> list[Obj]:
    """All four of them."""
    known = kubernetes.load()
    return [definition(kind, known) for kind in KINDS]
