"""The kinds of objects that the command line can name, and which of them are Ray's."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from manta_cli.failures import Failed
from manta_common import kinds
from manta_common.kinds import Kind

RAY: Final = (kinds.RAYCLUSTER, kinds.RAYJOB, kinds.RAYSERVICE, kinds.RAYCRONJOB)
_CORE: Final = (
    kinds.POD,
    kinds.SERVICE,
    kinds.SECRET,
    kinds.CONFIGMAP,
    kinds.SERVICEACCOUNT,
    kinds.PVC,
    kinds.NAMESPACE,
    kinds.NODE,
    kinds.JOB,
    kinds.ROLE,
    kinds.ROLEBINDING,
    kinds.INGRESS,
    kinds.NETWORKPOLICY,
    kinds.EVENT,
    kinds.CRD,
)
KNOWN: Final = (*RAY, *_CORE)
SHORT: Final = {
    "ns": "namespace",
    "no": "node",
    "po": "pod",
    "svc": "service",
    "cm": "configmap",
    "sa": "serviceaccount",
    "pvc": "persistentvolumeclaim",
    "ev": "event",
    "crd": "customresourcedefinition",
}
ALL: Final = "all"


class Resource(msgspec.Struct, frozen=True):
    """One kind that an API server says it serves."""

    name: str
    kind: str
    namespaced: bool


class Resources(msgspec.Struct, frozen=True):
    """What an API server serves of one version of a group."""

    resources: tuple[Resource, ...] = ()


def named(text: str) -> list[Kind]:
    """The kinds of a comma-separated list as a user types them: `rayjobs`, `po`, or `all` of Ray's."""
    found: list[Kind] = []
    for word in text.lower().split(","):
        found += RAY if word == ALL else [_one(word)]
    return found


def _one(word: str) -> Kind:
    wanted = SHORT.get(word, word).split(".")[0]
    for kind in KNOWN:
        if wanted in (kind.name, kind.plural, kind.kind.lower()):
            return kind
    known = ", ".join(kind.plural for kind in KNOWN)
    raise Failed(f"there is no kind {word!r} that manta knows; known: {ALL}, {known}")


def of_manifest(manifest: dict[str, Any]) -> Kind | None:
    """The kind of a manifest, if it is one that is known without asking."""
    wanted = (manifest.get("apiVersion"), manifest.get("kind"))
    return next((kind for kind in KNOWN if (kind.api_version, kind.kind) == wanted), None)


def of_resources(manifest: dict[str, Any], served: Sequence[Resource]) -> Kind | None:
    """The kind of a manifest among those that the API server serves in its version."""
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    for one in served:
        if one.kind == manifest.get("kind") and "/" not in one.name:
            return Kind(one.kind.lower(), one.kind, one.name, group, version, one.namespaced)
    return None
