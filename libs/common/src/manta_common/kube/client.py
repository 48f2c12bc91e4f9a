"""The real Kubernetes API, over HTTP."""

import contextlib
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import Expired, Refused
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.access import source
from manta_common.kube.codec import Codec
from manta_common.kube.connection import Connection
from manta_common.kube.protocol import EVERYTHING, Apply, Body, Change, Listing, Patch, Scope
from manta_common.kube.settings import KubeSettings, OnCall
from manta_common.kube.transport import JSON, Call, Transport
from manta_common.kube.watch import lines

T = TypeVar("T")
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SEGMENT = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9._:-]*")


METHODS = {"create": "POST", "patch": "PATCH", "apply": "PATCH", "delete": "DELETE"}
VERSION = Kind("version", "Version", "version", namespaced=False)


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """What an API server says of itself."""

    git_version: str


class Partial(msgspec.Struct, frozen=True):
    """An object of which the server sends the metadata only."""

    metadata: ObjectMeta


class Client:
    """Implements `Kube`. Made by `connect`; everything it holds can be thrown away at any time."""

    def __init__(self, connection: Connection, settings: KubeSettings, on_call: OnCall | None = None) -> None:
        self._settings, self._codec = settings, Codec()
        self._transport = Transport(connection, settings, on_call)
        self._writer = urlencode({"fieldManager": f"manta-{settings.service}"})

    async def close(self) -> None:
        """Close every connection; calls from now on are Unreachable."""
        await self._transport.close()

    def now(self) -> datetime:
        """The API server's time; the local clock's until its first answer."""
        return self._transport.clock.now()

    def earliest_now(self) -> datetime:
        """What the API server's clock shows at least."""
        return self._transport.clock.earliest_now()

    async def get(self, kind: Kind, key: Key, into: type[T]) -> T:
        """One object, decoded; NotFound when there is none."""
        path = _object_path(kind, key)
        call = Call(verb="get", kind=kind, path=path, limit_seconds=self._settings.get_seconds)
        return self._codec.decode(kind, await self._transport.send(call), into)

    async def list(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        """All objects of a scope. When its pages expire while they are read, it is begun again, once."""
        return await self._list(kind, into, scope, accept=JSON)

    async def list_versions(self, kind: Kind, scope: Scope = EVERYTHING) -> Listing[ObjectMeta]:
        """The same with metadata only, however large the objects are."""
        found = await self._list(kind, Partial, scope, accept=METADATA_ONLY)
        return Listing(tuple(item.metadata for item in found.items), found.version)

    async def pages(
        self, kind: Kind, into: type[T], scope: Scope = EVERYTHING, *, accept: str = JSON
    ) -> AsyncGenerator[Listing[T], None]:
        """The same page by page, all of one version, for what should not be in memory at once; Expired may strike."""
        query = {"limit": str(self._settings.page_size), **_selectors(scope)}
        limit_seconds = self._settings.list_seconds
        while True:
            path = _path(kind, scope.namespace, urlencode(query))
            call = Call(verb="list", kind=kind, path=path, limit_seconds=limit_seconds, accept=accept)
            page = self._codec.page(kind, await self._transport.send(call), into)
            yield Listing(page.items or (), page.metadata.resource_version)
            if not page.metadata.next:
                return
            query["continue"] = page.metadata.next

    async def watch(
        self, kind: Kind, into: type[T], scope: Scope = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Change[T], None]:
        """What changes after a version."""
        seconds = random.uniform(1, 2) * self._settings.watch_seconds  # so that not all end at the same time
        query = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": since, **_selectors(scope)}
        query["timeoutSeconds"] = str(int(seconds))
        path = _path(kind, scope.namespace, urlencode(query))
        call = Call(verb="watch", kind=kind, path=path, limit_seconds=self._settings.watch_open_seconds)
        async with self._transport.stream(call) as stream:
            found = lines(stream, what=kind.plural, idle_seconds=self._settings.watch_idle_seconds)
            async with contextlib.aclosing(found):
                async for line in found:
                    yield self._codec.change(kind, line, into)

    async def create(self, kind: Kind, namespace: str, body: Body, into: type[T]) -> T:
        """Create an object and return what the server made of it."""
        call = self._write("create", kind, path=_path(kind, namespace, self._writer), body=self._codec.encode(body))
        return self._codec.decode(kind, await self._transport.send(call), into)

    async def patch(self, kind: Kind, key: Key, patch: Patch, into: type[T], *, subresource: str = "") -> T:
        """Change an object, or its status, and return what the server made of it."""
        verb, query = "patch", self._writer
        if isinstance(patch, Apply):
            force = "true" if patch.force else "false"
            verb, query = "apply", urlencode({"fieldManager": patch.manager, "force": force})
        body, content_type = self._codec.encode_patch(patch)
        path = f"{_object_path(kind, key, subresource)}?{query}"
        call = self._write(verb, kind, path=path, body=body, content_type=content_type)
        return self._codec.decode(kind, await self._transport.send(call), into)

    async def delete(
        self, kind: Kind, key: Key, *, uid: str, version: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete the object with this uid, and of this version, in the background."""
        if not uid:
            raise Refused(400, "BadRequest", f"{kind.kind} {key} is not deleted without its uid")
        preconditions = {"uid": uid, "resourceVersion": version} if version else {"uid": uid}
        options: dict[str, Any] = {"propagationPolicy": "Background", "preconditions": preconditions}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        await self._transport.send(
            self._write("delete", kind, path=_object_path(kind, key), body=self._codec.encode(options))
        )

    async def server_version(self) -> str:
        """The version that the API server runs; also shows that it can be reached, and sets the clock."""
        call = Call(verb="get", kind=VERSION, path="/version", limit_seconds=self._settings.get_seconds)
        return self._codec.decode(VERSION, await self._transport.send(call), ServerVersion).git_version

    async def _list(self, kind: Kind, into: type[T], scope: Scope, *, accept: str) -> Listing[T]:
        try:
            return await _whole(self.pages(kind, into, scope, accept=accept))
        except Expired:
            return await _whole(self.pages(kind, into, scope, accept=accept))

    def _write(self, verb: str, kind: Kind, *, path: str, body: bytes, content_type: str = JSON) -> Call:
        return Call(
            verb=verb,
            kind=kind,
            path=path,
            limit_seconds=self._settings.write_seconds,
            method=METHODS[verb],
            body=body,
            content_type=content_type,
        )


@contextlib.asynccontextmanager
async def connect(
    settings: KubeSettings, *, kubeconfig: str = "", context: str = "", on_call: OnCall | None = None
) -> AsyncIterator[Client]:
    """A client for the API server of a kubeconfig, of KUBECONFIG, of the pod we run in, or of the home's kubeconfig.

    Misconfigured when there is none that can be used; whether the server answers is not asked.
    """
    connection = Connection(source(kubeconfig, context))
    await connection.current()
    client = Client(connection, settings, on_call)
    try:
        yield client
    finally:
        await client.close()


async def _whole(pages: AsyncGenerator[Listing[T], None]) -> Listing[T]:
    """All pages as one; the version is that of the first, which the others continue."""
    items: list[T] = []
    version = ""
    async for page in pages:
        items.extend(page.items)
        version = version or page.version
    return Listing(tuple(items), version)


def _selectors(scope: Scope) -> dict[str, str]:
    chosen = {"labelSelector": scope.labels, "fieldSelector": scope.fields}
    return {name: value for name, value in chosen.items() if value}


def _path(kind: Kind, namespace: str, query: str) -> str:
    place = _segment(namespace) if namespace else ""
    return f"{kind.path(place)}?{query}"


def _object_path(kind: Kind, key: Key, subresource: str = "") -> str:
    """Where one object is. A name that a user chose must not lead elsewhere, nor a missing one to the collection."""
    if kind.namespaced:
        _segment(key.namespace)
    return kind.path(key.namespace, _segment(key.name), subresource)


def _segment(name: str) -> str:
    if not SEGMENT.fullmatch(name):
        raise Refused(400, "BadRequest", f"{name!r} cannot be the name of an object")
    return name
