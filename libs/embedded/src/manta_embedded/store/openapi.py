"""The fields of the built-in kinds and how their lists merge, from the file beside this one.

The file is made anew by `make crds-kubernetes` from what Kubernetes publishes.
"""

import functools
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from manta_common import kinds
from manta_common.crd.openapi import references
from manta_common.kinds import Kind
from manta_embedded.store.shapes import ANYTHING, Shape

FILE = "kubernetes.json"
PREFIX = "#/components/schemas/"
KEPT = (
    "type",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)
OPEN = ("Quantity", "IntOrString", "RawExtension", "JSON", "FieldsV1")  # texts, numbers or anything
ROOTS = {
    "": "Pod Service ConfigMap Secret ServiceAccount Namespace Node Event PersistentVolumeClaim ResourceQuota",
    "batch": "Job",
    "rbac.authorization.k8s.io": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "events.k8s.io": "Event",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "scheduling.k8s.io": "PriorityClass",
}


def builtin_shape(kind: Kind) -> Shape:
    """The shape of a built-in kind; that of a CRD has no end and is left open."""
    return ANYTHING if kind == kinds.CRD else Shape({"$ref": _definition(kind.group, kind.kind)}, _definitions())


def taken_from(documents: Iterable[Mapping[str, Any]]) -> bytes:
    """The file as it should be by these OpenAPI documents: one definition a line."""
    published: dict[str, Any] = {}
    for document in documents:
        published |= document["components"]["schemas"]
    found: dict[str, Any] = {}
    waiting = [_definition(group, kind) for group, words in ROOTS.items() for kind in words.split()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = {} if name.endswith(OPEN) else _trimmed(published[name])
            waiting.extend(references(found[name]))
    lines = (b'"%s":%s' % (name.encode(), msgspec.json.encode(found[name])) for name in sorted(found))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


@functools.cache
def _definitions() -> dict[str, Any]:
    return msgspec.json.decode(stored(), type=dict[str, Any])


def _definition(group: str, kind: str) -> str:
    return f"io.k8s.api.{group.split('.', maxsplit=1)[0] or 'core'}.v1.{kind}"


def _trimmed(node: Mapping[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref") or next((member["$ref"] for member in node.get("allOf", ())), None)
    found: dict[str, Any] = {name: node[name] for name in KEPT if name in node}
    if reference:
        return {**found, "$ref": reference.removeprefix(PREFIX)}
    if isinstance(node.get("default"), str | int) and node["default"]:
        found["default"] = node["default"]
    if "properties" in node:
        found["properties"] = {name: _trimmed(child) for name, child in sorted(node["properties"].items())}
    for inner in ("items", "additionalProperties"):
        if inner in node:
            found[inner] = _trimmed(node[inner])
    return found


def stored() -> bytes:
    """The file as it is."""
    return resources.files("manta_embedded.store").joinpath(FILE).read_bytes()


def document(group: str) -> str:
    """Where an API server has the document of a group, below /openapi/v3."""
    return f"apis/{group}/v1" if group else "api/v1"


def main(arguments: Sequence[str]) -> int:
    """Write the file anew from the documents in a folder, named as Kubernetes' sources have them."""
    folder = Path(arguments[0])
    paths = [folder / f"{document(group).replace('/', '__')}_openapi.json" for group in ROOTS]
    documents = [msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) for path in paths]
    Path(__file__).with_name(FILE).write_bytes(taken_from(documents))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
