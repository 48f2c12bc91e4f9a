"""Small objects for the suite: config maps, and widgets, a kind of our own with a status."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec import field

from manta_common.api.meta import ObjectMeta
from manta_common.api.wire import Wire
from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, Kind
from manta_common.kube.protocol import EVERYTHING, Change, Kube, Scope
from tests.parts.patience import patient

WIDGET = Kind("widget", "Widget", "widgets", "contract.manta.example")
UNKNOWN = Kind("gadget", "Gadget", "gadgets", "contract.manta.example")
LIMIT_SECONDS = 30


class Object(Wire, frozen=True, kw_only=True):
    """Anything with metadata."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class ConfigMap(Wire, frozen=True, kw_only=True):
    """A config map."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Widget(Wire, frozen=True, kw_only=True):
    """A widget: both parts hold anything."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


def configmap(name: str, labels: Mapping[str, str] | None = None, **entries: str) -> dict[str, Any]:
    """A config map to create, labelled as the suite's."""
    metadata = {"name": name, "labels": {"suite": "kube", **(labels or {})}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries}


def widget(name: str, **spec: Any) -> dict[str, Any]:
    """A widget to create or apply."""
    return {"apiVersion": WIDGET.api_version, "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def widget_definition() -> dict[str, Any]:
    """The definition of widgets, with a status of its own."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{WIDGET.plural}.{WIDGET.group}"},
        "spec": {
            "group": WIDGET.group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


async def is_served(kube: Kube, kind: Kind) -> bool | None:
    """True once the kind is served, for `eventually`."""
    try:
        await kube.list(kind, Object)
    except NotFound:
        return None
    return True


async def is_gone(kube: Kube, kind: Kind, key: Key) -> bool | None:
    """True once there is no such object, for `eventually`."""
    try:
        await kube.get(kind, key, Object)
    except NotFound:
        return True
    return None


async def make(kube: Kube, space: str, name: str, labels: Mapping[str, str] | None = None, **entries: str) -> ConfigMap:
    """Create a config map."""
    return await kube.create(CONFIGMAP, space, configmap(name, labels, **entries), ConfigMap)


def of(space: str, *, labels: str = "suite=kube", fields: str = "") -> Scope:
    """The suite's config maps of a namespace; controllers put others there."""
    return Scope(namespace=space, labels=labels, fields=fields)


async def changes(
    kube: Kube, count: int, scope: Scope = EVERYTHING, *, since: str, kind: Kind = CONFIGMAP
) -> list[Change[ConfigMap]]:
    """The next so many changes that are no bookmarks."""
    found: list[Change[ConfigMap]] = []
    async with (
        asyncio.timeout(patient(LIMIT_SECONDS)),
        aclosing(objects(kube, scope, since=since, kind=kind)) as stream,
    ):
        async for change in stream:
            found.append(change)
            if len(found) == count:
                break
    return found


async def objects(kube: Kube, scope: Scope, *, since: str, kind: Kind) -> AsyncGenerator[Change[ConfigMap], None]:
    """A watch without its bookmarks, watched on when it ends."""
    while True:
        async with aclosing(kube.watch(kind, ConfigMap, scope, since=since)) as stream:
            async for change in stream:
                since = change.version
                if change.object is not None:
                    yield change
