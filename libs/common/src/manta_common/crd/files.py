"""The CRDs as files."""

from collections.abc import Iterator
from typing import Final

from manta_common.crd import block
from manta_common.crd.definitions import GROUP, KINDS, definition
from manta_common.crd.kubernetes import Definitions

HEAD: Final = "# Made by `make crds` from the types in manta_common.api; do not edit.\n---\n"


def crds(kubernetes: Definitions) -> Iterator[tuple[str, str]]:
    """Name and text of each file."""
    for kind in KINDS:
        yield f"{GROUP}_{kind.plural}.yaml", HEAD + block.document(definition(kind, kubernetes))
