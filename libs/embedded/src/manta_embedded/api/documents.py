"""The OpenAPI documents of the groups, with which kubectl explains fields, merges what is applied and knows dry runs.

The schemas of what is built in are in the file beside this one, made by `make crds-kubernetes` from what Kubernetes
publishes.
"""

import functools
import hashlib
import lzma
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from manta_embedded.store import openapi
from manta_embedded.store.kinds import Registry, Served
from manta_embedded.store.objects import Obj

FILE = "schemas.json.xz"
PREFIX = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
CRDS = "apiextensions.k8s.io"
GVK = "x-kubernetes-group-version-kind"
PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
STRATEGIC = "application/strategic-merge-patch+json"
API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized"
    " schemas to the latest internal value, and may reject unrecognized values. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the"
    " endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
METADATA = (
    "Standard object's metadata. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


class Documents:
    """Makes the document of a group and version when it is asked for, and keeps it until its kinds change."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def answer(self, path: str) -> bytes | None:
        """The list of documents for the empty path, else the document at it."""
        places = self._places()
        if not path:
            listed = {
                place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_hash(served)}"}
                for place, served in places.items()
            }
            return msgspec.json.encode({"paths": listed})
        return self._document(path, places[path]) if path in places else None

    def _places(self) -> dict[str, list[Served]]:
        found: dict[str, list[Served]] = {}
        for served in self._registry.all():
            kind = served.kind
            place = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
            found.setdefault(place, []).append(served)
        return found

    def _document(self, place: str, kinds: list[Served]) -> bytes:
        state = tuple(map(id, kinds))
        known = self._made.get(place)
        if known is None or known[0] != state:
            known = self._made[place] = (state, msgspec.json.encode(document(kinds)))
        return known[1]


def document(kinds: Iterable[Served]) -> Obj:
    """An OpenAPI document of these kinds and all that they refer to."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for served in kinds:
        name, schema = _schema(served)
        schemas[name] = schema
        paths |= _paths(served, name)
    waiting = list(_references(schemas))
    published = _published()
    while waiting:
        name = waiting.pop()
        if name not in schemas and name in published:
            schemas[name] = published[name]
            waiting.extend(_references(published[name]))
    about = {"title": "Kubernetes", "version": "v1.36.3"}
    return {"openapi": "3.0.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


def _schema(served: Served) -> tuple[str, Obj]:
    kind = served.kind
    if not served.custom:
        name = _definition(kind.group, kind.kind)
        return name, _published()[name]
    reversed_group = ".".join(reversed(kind.group.split(".")))
    schema = served.schema or {}
    always = {
        "apiVersion": {"description": API_VERSION, "type": "string"},
        "kind": {"description": KIND, "type": "string"},
        "metadata": {"description": METADATA, "allOf": [{"$ref": f"{PREFIX}{META}ObjectMeta"}]},
    }
    properties = {**schema.get("properties", {}), **always}
    own = [{"group": kind.group, "kind": kind.kind, "version": kind.version}]
    return f"{reversed_group}.{kind.version}.{kind.kind}", {**schema, "properties": properties, GVK: own}


def _paths(served: Served, name: str) -> Obj:
    """The one method of which kubectl reads what it may ask for."""
    kind = served.kind
    group = {"group": kind.group, "kind": kind.kind, "version": kind.version}
    forms = PATCHES if served.custom else (*PATCHES, STRATEGIC)
    body = {"schema": {"$ref": f"{PREFIX}{META}Patch"}}
    patch = {
        "description": f"partially update the specified {kind.kind}",
        "operationId": f"patch{kind.group.split('.')[0].title() or 'Core'}{kind.version.title()}{kind.kind}",
        "parameters": [_parameter(one) for one in ("dryRun", "fieldManager", "fieldValidation")]
        + [_parameter("force", "boolean")],
        "requestBody": {"content": dict.fromkeys(forms, body)},
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": PREFIX + name}}}}
        },
        "x-kubernetes-action": "patch",
        GVK: group,
    }
    return {kind.path("{namespace}" if kind.namespaced else "", "{name}"): {"patch": patch}}


def _parameter(name: str, kind: str = "string") -> Obj:
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _definition(group: str, kind: str) -> str:
    if group == CRDS:
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{kind}"
    return f"io.k8s.api.{group.split('.', maxsplit=1)[0] or 'core'}.v1.{kind}"


def _references(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str) and reference.startswith(PREFIX):
            yield reference.removeprefix(PREFIX)
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _hash(kinds: Iterable[Served]) -> str:
    text = "|".join(f"{one.kind.api_version}/{one.kind.plural}/{id(one) if one.custom else 0}" for one in kinds)
    return hashlib.sha256(text.encode()).hexdigest()[:32].upper()


@functools.cache
def _published() -> dict[str, Any]:
    packed = resources.files("manta_embedded.api").joinpath(FILE).read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, Any])


def taken_from(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The schemas that the file should hold, by these documents."""
    published: dict[str, Any] = {}
    for one in documents:
        published |= one["components"]["schemas"]
    roots = {group: words.split() for group, words in openapi.ROOTS.items()}
    waiting = [_definition(group, kind) for group, names in roots.items() for kind in names]
    waiting += [_definition(CRDS, "CustomResourceDefinition"), f"{META}Patch", f"{META}DeleteOptions", f"{META}Status"]
    found: dict[str, Any] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = published[name]
            waiting.extend(_references(published[name]))
    return dict(sorted(found.items()))


def stored() -> dict[str, Any]:
    """The schemas that the file holds."""
    return dict(_published())


def main(arguments: Sequence[str]) -> int:
    """Write the file anew from the documents in a folder, named as Kubernetes' sources have them."""
    folder = Path(arguments[0])
    paths = [folder / f"{openapi.document(group).replace('/', '__')}_openapi.json" for group in (*openapi.ROOTS, CRDS)]
    found = taken_from(msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) for path in paths)
    Path(__file__).with_name(FILE).write_bytes(lzma.compress(msgspec.json.encode(found, order="sorted"), preset=9))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
