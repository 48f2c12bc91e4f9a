"""Kubernetes' own OpenAPI as structural schema, the way a CRD must have it: no prose, no enums, no implied defaults."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manta_common.api.meta import CONDITION_TYPE_PATTERN, Condition
from manta_common.crd.schema import QUANTITY, Schema, Surroundings, structural

PREFIX = "#/components/schemas/"
CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
STRING_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
KEPT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
# Each takes in a LocalObjectReference, which is atomic; OpenAPI says so only of the reference itself.
ATOMIC = ("ConfigMapEnvSource", "ConfigMapProjection", "ConfigMapVolumeSource", "SecretEnvSource", "SecretProjection")


def definitions(documents: Iterable[Mapping[str, Any]], roots: Iterable[str]) -> dict[str, Schema]:
    """The definitions that the roots lead to, by name, each a structural schema with references to the others."""
    published: dict[str, Any] = {}
    for document in documents:
        published |= document["components"]["schemas"]
    known = _special()
    found: dict[str, Schema] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = known[name] if name in known else _corrected(name, _structural(published[name]))
            waiting.extend(references(found[name]))
    return dict(sorted(found.items()))


def inlined(node: Schema, known: Mapping[str, Schema]) -> Schema:
    """A schema with everything that it refers to put in place."""
    if "$ref" in node:
        return inlined(known[node["$ref"]], known) | {name: value for name, value in node.items() if name != "$ref"}
    found = dict(node)
    if "properties" in node:
        found["properties"] = {name: inlined(child, known) for name, child in node["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if inner in node:
            found[inner] = inlined(node[inner], known)
    return found


def references(node: Any) -> Iterator[str]:
    """Every definition that a schema refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for child in node.values():
            yield from references(child)


def _special() -> dict[str, Schema]:
    """Types of which a CRD says something else than OpenAPI does."""
    number_or_text: Schema = {"anyOf": QUANTITY["anyOf"], "x-kubernetes-int-or-string": True}
    metadata = {
        "annotations": STRING_MAP,
        "finalizers": STRINGS,
        "labels": STRING_MAP,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    }
    return {
        "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": number_or_text,
        f"{META}Time": {"type": "string", "format": "date-time"},
        f"{META}ObjectMeta": {"type": "object", "properties": metadata},
        f"{META}Condition": structural(Condition, Surroundings(_nothing)),
    }


def _nothing(name: str) -> Schema:
    raise LookupError(f"{name} is not part of a condition")


def _structural(node: Mapping[str, Any]) -> Schema:
    if reference := node.get("$ref") or next((member["$ref"] for member in node.get("allOf", ())), None):
        return {"$ref": reference.removeprefix(PREFIX)}
    found: Schema = {name: node[name] for name in KEPT if name in node}
    required = node.get("required", ())
    if required:
        found["required"] = sorted(required)
    if "properties" in node:
        found["properties"] = {
            name: _structural(child) | ({} if name in required else _default(child))
            for name, child in node["properties"].items()
        }
    for inner in ("items", "additionalProperties"):
        if inner in node:
            found[inner] = _structural(node[inner])
    return found


def _default(node: Mapping[str, Any]) -> Schema:
    """The default that an optional field declares; that of an object or of a required field is only Go's zero."""
    default = node.get("default")
    return {} if default is None or isinstance(default, dict | list) else {"default": default}


def _corrected(name: str, found: Schema) -> Schema:
    """The definition with what controller-gen, and so every KubeRay user's CRD, says otherwise."""
    match name.removeprefix(CORE):
        case "AzureDiskVolumeSource":
            for field in ("cachingMode", "kind"):
                found["properties"][field].pop("default")
        case "PortStatus":
            found["properties"]["error"] |= {"maxLength": 316, "pattern": CONDITION_TYPE_PATTERN}
            found["required"] = sorted({*found["required"], "error"})
        case short if short in ATOMIC:
            found["x-kubernetes-map-type"] = "atomic"
    return found
