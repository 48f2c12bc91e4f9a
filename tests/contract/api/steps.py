"""Small steps that several tests take: change a part of an object, wait for an end, read a refusal."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CRD, Kind
from manta_common.kube.protocol import MergePatch
from tests.contract.api.api import LIMIT_SECONDS, Api
from tests.parts.cluster import ApiError

Obj = dict[str, Any]


def merge(api: Api, kind: Kind, key: Key, body: Obj, subresource: str = "") -> Obj:
    """Change parts of an object."""
    return api.patch(kind, key, MergePatch(body), subresource)


def find(api: Api, kind: Kind, key: Key) -> Obj | None:
    """An object, or None."""
    try:
        return api.get(kind, key)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


def wait_until_gone(api: Api, kind: Kind, key: Key, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Return once there is no such object."""
    api.eventually(f"{kind.kind} {key.name} is gone", lambda: find(api, kind, key) is None or None, limit_seconds)


def wait_for(api: Api, kind: Kind, key: Key, what: str, is_so: Callable[[Obj], Any]) -> Obj:
    """The object, once something is so."""

    def look() -> Obj | None:
        found = api.get(kind, key)
        return found if is_so(found) else None

    return api.eventually(f"{kind.kind} {key.name}: {what}", look)


def refusal(act: Callable[[], Any]) -> Obj:
    """The `Status` of a call that is refused."""
    with pytest.raises(ApiError) as refused:
        act()
    return refused.value.status


def causes(status: Obj) -> list[str]:
    """The causes of a refusal with their fields, in order of text."""
    found = status.get("details", {}).get("causes", [])
    return sorted(f"{cause.get('field', '')}: {cause['message']}" for cause in found)


def reference(owner: Obj, **more: bool) -> Obj:
    """A reference to an owner."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    return {**named, "uid": owner["metadata"]["uid"], **more}


def define(api: Api, kind: Kind, schema: Obj, **version: Any) -> None:
    """Serve a kind with a schema, unless it is served already."""
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.name, "listKind": f"{kind.kind}List"}
    served = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
    serve(api, {kind: definition})


def serve(api: Api, definitions: Mapping[Kind, Obj]) -> None:
    """Serve kinds by their definitions, where they are not served already, and wait until they are."""
    missing = [kind for kind in definitions if not is_served(api, kind)]
    for kind in missing:
        api.create(CRD, "", definitions[kind])
    for kind in missing:
        api.eventually(f"{kind.plural} are served", functools.partial(is_served, api, kind))


def is_served(api: Api, kind: Kind) -> bool | None:
    """True once a kind is served, for `eventually`."""
    try:
        api.list(kind, limit="1")
    except ApiError:
        return None
    return True
