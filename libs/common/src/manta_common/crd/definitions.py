"""The four CustomResourceDefinitions, put together."""

import inspect
from typing import Any, Final, NamedTuple

from manta_common.api.raycluster import RayCluster
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.api.rayservice import RayService
from manta_common.crd.columns import COLUMNS
from manta_common.crd.kubernetes import Definitions
from manta_common.crd.rules import RULES
from manta_common.crd.schema import Property, Schema, Surroundings, of_property, properties
from manta_common.crd.v1alpha1 import DELTAS

GROUP: Final = "ray.io"


class Kind(NamedTuple):
    """A kind of ours, and whether its old version is still served."""

    type: type
    old: bool

    @property
    def name(self) -> str:
        """The kind as it is written in a manifest."""
        return self.type.__name__

    @property
    def plural(self) -> str:
        """The name of the resource."""
        return f"{self.name.lower()}s"


KINDS: Final = (Kind(RayCluster, True), Kind(RayJob, True), Kind(RayService, True), Kind(RayCronJob, False))


def parts(kind: Kind) -> list[Property]:
    """Spec and status of a kind."""
    return [part for part in properties(kind.type) if part.name in ("spec", "status")]


def definition(kind: Kind, kubernetes: Definitions) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    versions = [_version(kind, "v1", Surroundings(kubernetes, RULES, explain=True))]
    if kind.old:
        versions.append(_version(kind, "v1alpha1", Surroundings(kubernetes, deltas=DELTAS)) | _deprecated(kind))
    names = {
        "categories": ["all"],
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": versions},
    }


def _version(kind: Kind, name: str, around: Surroundings) -> dict[str, Any]:
    columns = COLUMNS.get((kind.name, name))
    return {
        **({"additionalPrinterColumns": columns} if columns else {}),
        "name": name,
        "schema": {"openAPIV3Schema": _whole(kind, around)},
        "served": True,
        "storage": name == "v1",
        "subresources": {"status": {}},
    }


def _whole(kind: Kind, around: Surroundings) -> Schema:
    found: Schema = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    found |= {part.name: of_property(part, around) for part in parts(kind)}
    explained = {"description": inspect.getdoc(kind.type)} if around.explain else {}
    return {"type": "object", "properties": found, **explained}


def _deprecated(kind: Kind) -> dict[str, Any]:
    return {
        "deprecated": True,
        "deprecationWarning": f"{GROUP}/v1alpha1 {kind.name} is deprecated; use {GROUP}/v1 {kind.name}. "
        "v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9.",
    }
