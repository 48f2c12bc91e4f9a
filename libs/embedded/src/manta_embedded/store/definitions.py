"""Kinds that come and go with their CRDs."""

from datetime import datetime
from typing import Any

from manta_common.kinds import CRD, Kind
from manta_embedded.store import shapes
from manta_embedded.store.changes import Event
from manta_embedded.store.kinds import Conversions, Registry, ScalePaths, Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.times import text_of

STORAGE = (CRD.group, CRD.plural)


class Definitions:
    """Keeps a registry in step with the CRDs that are stored."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def note(self, event: Event) -> None:
        """Take notice of a commit."""
        if event.storage != STORAGE:
            return
        spec = event.new["spec"]
        self._registry.remove((spec["group"], spec["names"]["plural"]))
        if event.type != "DELETED":
            for served in defined(event.new):
                self._registry.add(served)


def defined(definition: Obj) -> list[Served]:
    """The kinds that a CRD brings, one for each version that it serves."""
    spec = definition["spec"]
    stored = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    return [_served(spec, version, stored) for version in spec["versions"] if version.get("served")]


def with_defaults(definition: Obj) -> Obj:
    """A CRD with the names and the conversion that it need not tell."""
    names = definition["spec"]["names"]
    whole = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    return {**definition, "spec": {"conversion": {"strategy": "None"}, **definition["spec"], "names": whole}}


def established(definition: Obj, now: datetime) -> Obj:
    """A CRD as the server has it once it serves what it defines."""
    spec, moment = definition["spec"], text_of(now)
    status = {
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", moment),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", moment),
        ],
        "acceptedNames": spec["names"],
        "storedVersions": [version["name"] for version in spec["versions"] if version.get("storage")],
    }
    return {**definition, "status": status}


def _served(spec: Obj, version: Obj, stored: str) -> Served:
    names = spec["names"]
    kind = Kind(
        names["kind"].lower(),
        names["kind"],
        names["plural"],
        spec["group"],
        version["name"],
        spec.get("scope", "Namespaced") == "Namespaced",
    )
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    subresources = version.get("subresources") or {}
    return Served(
        kind=kind,
        storage=(kind.group, kind.plural),
        status="status" in subresources,
        generation=True,
        scale=_scale(subresources.get("scale")),
        schema=schema,
        shape=shapes.custom(schema),
        fields=tuple(one["jsonPath"].removeprefix(".") for one in version.get("selectableFields") or ()),
        conversions=None if version["name"] == stored else _conversions(spec["group"], version["name"], stored),
        custom=True,
        names=names,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
    )


def _scale(given: Any) -> ScalePaths | None:
    if given is None:
        return None
    return ScalePaths(given["specReplicasPath"], given["statusReplicasPath"], given.get("labelSelectorPath", ""))


def _conversions(group: str, version: str, stored: str) -> Conversions:
    """Without a webhook the versions of a custom resource differ in nothing but their name."""
    return Conversions(
        lambda obj: {**obj, "apiVersion": f"{group}/{stored}"},
        lambda obj: {**obj, "apiVersion": f"{group}/{version}"},
    )


def _condition(name: str, reason: str, message: str, moment: str) -> Obj:
    return {"type": name, "status": "True", "lastTransitionTime": moment, "reason": reason, "message": message}
