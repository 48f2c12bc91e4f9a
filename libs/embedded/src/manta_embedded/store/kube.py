"""The store behind the protocol `Kube`: every call is one turn, and answers are decoded as those of the real API."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import MantaError, Refused
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube import faults
from manta_common.kube.client import SEGMENT, Partial
from manta_common.kube.codec import Codec
from manta_common.kube.protocol import EVERYTHING, Apply, Body, Change, JsonPatch, Listing, Patch, Scope
from manta_common.kube.settings import KubeSettings
from manta_embedded.store import errors
from manta_embedded.store.bodies import encoded, reads_managed_fields
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import Query
from manta_embedded.store.store import Store
from manta_embedded.store.watching import lines
from manta_embedded.store.writers import Writer

T = TypeVar("T")
BODY_BYTES = 3 * 1024 * 1024


class Call(msgspec.Struct, frozen=True):
    """What is asked; the key has no name for a collection."""

    verb: str
    kind: Kind
    key: Key
    subresource: str = ""


class Seam(Protocol):
    """Where a call meets the store: decides when it is carried out, whether, and what comes back."""

    async def __call__(self, call: Call, act: Callable[[], T]) -> T:
        """The result of `act`, which is called at most once."""


async def direct(call: Call, act: Callable[[], T]) -> T:
    """Carried out at the next turn of the loop."""
    await asyncio.sleep(0)
    return act()


class EmbeddedKube:
    """Implements `Kube` over a store; any number of them may share one."""

    def __init__(self, store: Store, settings: KubeSettings, *, seam: Seam = direct) -> None:
        self._store, self._settings, self._seam = store, settings, seam
        self._codec = Codec()
        self._writer = Writer(f"manta-{settings.service}")

    def now(self) -> datetime:
        """The API's time."""
        return self._store.now()

    def earliest_now(self) -> datetime:
        """The same: there is no doubt about it."""
        return self._store.now()

    async def get(self, kind: Kind, key: Key, into: type[T]) -> T:
        """One object, decoded; NotFound when there is none."""
        call = _object_call("get", kind, key)
        return self._decode(kind, await self._act(call, lambda: self._store.get(kind, key)), into)

    async def list(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        """All objects of a scope, of one version."""
        items: list[T] = []
        version = ""
        async for page in self.pages(kind, into, scope):
            items.extend(page.items)
            version = version or page.version
        return Listing(tuple(items), version)

    async def pages(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> AsyncGenerator[Listing[T], None]:
        """The same page by page."""
        call = Call("list", kind, Key(scope.namespace, ""))
        after = ""
        while True:
            query = _query(scope, limit=self._settings.page_size, after=after)
            page = await self._act(call, functools.partial(self._store.list, kind, query))
            yield Listing(tuple(self._decode(kind, obj, into) for obj in page.items), page.version)
            after = page.next
            if not after:
                return

    async def list_versions(self, kind: Kind, scope: Scope = EVERYTHING) -> Listing[ObjectMeta]:
        """The same with metadata only."""
        found = await self.list(kind, Partial, scope)
        return Listing(tuple(item.metadata for item in found.items), found.version)

    async def watch(
        self, kind: Kind, into: type[T], scope: Scope = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Change[T], None]:
        """What changes after a version."""
        call = Call("watch", kind, Key(scope.namespace, ""))
        query = _query(scope)
        watch = await self._act(call, lambda: self._store.watch(kind, query, since=since))
        seconds = self._store.rng.uniform(1, 2) * self._settings.watch_seconds
        found = lines(watch, self._store.clock, lambda: self._store.version, seconds=seconds)
        try:
            async with contextlib.aclosing(found):
                async for seen, obj in found:
                    version = obj["metadata"]["resourceVersion"]
                    change = Change(seen, version, None if seen == "BOOKMARK" else self._decode(kind, obj, into))
                    yield await self._act(Call("line", kind, call.key), functools.partial(_same, change))
        finally:
            watch.close()

    async def create(self, kind: Kind, namespace: str, body: Body, into: type[T]) -> T:
        """Create an object and return what the API made of it; AlreadyExists when the name is taken."""
        if namespace:
            _segment(namespace)
        given = self._plain(kind, body)
        call = Call("create", kind, Key(namespace, ""))
        made = await self._act(call, lambda: self._store.create(kind, namespace, given, self._writer))
        return self._decode(kind, made, into)

    async def patch(self, kind: Kind, key: Key, patch: Patch, into: type[T], *, subresource: str = "") -> T:
        """Change an object, or its status, and return what the API made of it."""
        call = _object_call("apply" if isinstance(patch, Apply) else "patch", kind, key, subresource)
        given = self._plain_patch(kind, patch)
        made = await self._act(
            call,
            lambda: self._store.patch(kind, key, given, self._writer, subresource=subresource),
            json_patch=isinstance(patch, JsonPatch),
        )
        return self._decode(kind, made, into)

    async def delete(
        self, kind: Kind, key: Key, *, uid: str, version: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete the object with this uid, and of this version, in the background."""
        if not uid:
            raise Refused(400, "BadRequest", f"{kind.kind} {key} is not deleted without its uid")
        options = Deletion(uid=uid, version=version, grace_seconds=grace_seconds)
        await self._act(_object_call("delete", kind, key), lambda: self._store.delete(kind, key, options))

    async def _act(self, call: Call, act: Callable[[], T], *, json_patch: bool = False) -> T:
        try:
            return await self._seam(call, act)
        except errors.StatusError as error:
            raise _translated(call.kind, error, json_patch=json_patch) from error

    def _plain(self, kind: Kind, body: Body) -> Obj:
        """A body as the store takes it, shared with nobody."""
        encoded = self._codec.encode(body)
        if len(encoded) > BODY_BYTES:
            raise _translated(kind, errors.too_large(BODY_BYTES))
        try:
            return msgspec.json.decode(encoded, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Refused(400, "BadRequest", f"the body is no JSON object: {error}") from error

    def _plain_patch(self, kind: Kind, patch: Patch) -> Patch:
        if isinstance(patch, JsonPatch):
            return JsonPatch(tuple(self._plain(kind, operation) for operation in patch.operations))
        return msgspec.structs.replace(patch, body=self._plain(kind, patch.body))

    def _decode(self, kind: Kind, obj: Obj, into: type[T]) -> T:
        return self._codec.decode(kind, encoded(obj, managed=reads_managed_fields(into)), into)


def _same(value: T) -> T:
    return value


def _query(scope: Scope, *, limit: int = 0, after: str = "") -> Query:
    return Query(namespace=scope.namespace, labels=scope.labels, fields=scope.fields, limit=limit, next=after)


def _object_call(verb: str, kind: Kind, key: Key, subresource: str = "") -> Call:
    """A call of one object; a name that cannot be one leads nowhere, as with the real client."""
    if kind.namespaced:
        _segment(key.namespace)
    _segment(key.name)
    return Call(verb, kind, key, subresource)


def _segment(name: str) -> None:
    if not SEGMENT.fullmatch(name):
        raise Refused(400, "BadRequest", f"{name!r} cannot be the name of an object")


def _translated(kind: Kind, error: errors.StatusError, *, json_patch: bool = False) -> MantaError:
    """The error that the real client makes of the same answer."""
    body = msgspec.json.encode(error.status())
    return faults.from_answer(kind, error.code, headers={}, body=body, json_patch=json_patch)
