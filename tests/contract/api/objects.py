"""Objects for the suite: built-in ones, and two kinds of its own.

Widgets take anything. Gadgets have lists of every type, a scale, a field to select by, and two versions.
"""

from typing import Any

from manta_common.kinds import Kind

GROUP = "api.contract.manta.example"
WIDGET = Kind("widget", "Widget", "widgets", GROUP)
GADGET = Kind("gadget", "Gadget", "gadgets", GROUP)
OLD_GADGET = Kind("gadget", "Gadget", "gadgets", GROUP, "v1beta1")
UNKNOWN = Kind("gizmo", "Gizmo", "gizmos", GROUP)
Obj = dict[str, Any]


def configmap(name: str, labels: dict[str, str] | None = None, **entries: str) -> Obj:
    """A config map to create."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"suite": "api", **(labels or {})}},
        "data": entries,
    }


def widget(name: str, **spec: Any) -> Obj:
    """A widget to create or apply."""
    return {"apiVersion": WIDGET.api_version, "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def gadget(name: str, **spec: Any) -> Obj:
    """A gadget to create or apply."""
    return {"apiVersion": GADGET.api_version, "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def pod(name: str, **spec: Any) -> Obj:
    """A pod that nobody schedules."""
    given = {"schedulerName": "nobody", "containers": [{"name": "main", "image": "example/none:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": given}


def service(name: str, **spec: Any) -> Obj:
    """A service with one port."""
    given = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": given}


def job(name: str, **spec: Any) -> Obj:
    """A job of one pod that nobody schedules."""
    template = {"spec": {**pod("unused")["spec"], "restartPolicy": "Never"}}
    given = {"template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": given}


def _anything() -> Obj:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _definition(kind: Kind, versions: list[Obj]) -> Obj:
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.name, "listKind": f"{kind.kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": versions},
    }


def _widget_definition() -> Obj:
    schema = {"type": "object", "properties": {"spec": _anything(), "status": _anything()}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return _definition(WIDGET, [{**version, "schema": {"openAPIV3Schema": schema}}])


def _gadget_schema() -> Obj:
    text: Obj = {"type": "string"}
    number: Obj = {"type": "integer"}
    part = {"type": "object", "required": ["name"], "properties": {"name": text, "size": number, "colour": text}}
    spec = {
        "replicas": number,
        "colour": text,
        "parts": {
            "type": "array",
            "items": part,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "steps": {"type": "array", "items": text},
        "limits": {"type": "object", "additionalProperties": text},
        "place": {
            "type": "object",
            "properties": {"row": number, "column": number},
            "x-kubernetes-map-type": "atomic",
        },
    }
    status = {"replicas": number, "selector": text, "state": text}
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": status},
        },
    }


def _gadget_definition() -> Obj:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "served": True,
        "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": _gadget_schema()},
        "selectableFields": [{"jsonPath": ".spec.colour"}],
    }
    versions = [{**version, "name": "v1", "storage": True}, {**version, "name": "v1beta1", "storage": False}]
    return _definition(GADGET, versions)


DEFINITIONS = (_widget_definition(), _gadget_definition())
