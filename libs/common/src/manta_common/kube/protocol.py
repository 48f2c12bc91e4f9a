"""What Manta asks of a Kubernetes API, whether the real one answers or the simulated one."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import Kind

T = TypeVar("T")
Body = msgspec.Struct | Mapping[str, Any] | bytes


class KindMissing(NotFound):
    """The API does not serve this kind at all; most often its CRD is not installed."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a kind: all of them, or those of a namespace, of a label or field selector."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


EVERYTHING = Scope()


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """All objects of a scope as they were at one version."""

    items: tuple[T, ...]
    version: str


class Change(msgspec.Struct, Generic[T], frozen=True):
    """One line of a watch. A bookmark and an object alike move `version` on; only a bookmark has no object."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    version: str
    object: T | None = None


class JsonPatch(msgspec.Struct, frozen=True):
    """A list of operations, tried in order, all or nothing; one that cannot be done, a failed `test`, is a Conflict."""

    operations: tuple[Mapping[str, Any], ...]


class MergePatch(msgspec.Struct, frozen=True):
    """Fields to set, or to remove where they are null; with a resourceVersion in its metadata it can be a Conflict."""

    body: Body


class Apply(msgspec.Struct, frozen=True):
    """Server-side apply of exactly these fields by a manager; takes them over from others when forced."""

    body: Body
    manager: str
    force: bool = True


Patch = JsonPatch | MergePatch | Apply


class Kube(Protocol):
    """One Kubernetes API. Every call has a time limit; errors are those of `manta_common.errors` and no others.

    After Unreachable a write may or may not have been carried out; it is never repeated behind the caller's back.
    An object that does not fit the type it is to be decoded into is Rejected.
    """

    async def get(self, kind: Kind, key: Key, into: type[T]) -> T:
        """One object, decoded; NotFound when there is none."""

    async def list(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        """All objects of a scope, read in pages, consistent with the newest write."""

    def pages(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> AsyncGenerator[Listing[T], None]:
        """The same page by page, all of one version, for what should not be in memory at once; Expired may strike."""

    async def list_versions(self, kind: Kind, scope: Scope = EVERYTHING) -> Listing[ObjectMeta]:
        """The same with metadata only (`ObjectMeta`), however large the objects are."""

    def watch(
        self, kind: Kind, into: type[T], scope: Scope = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Change[T], None]:
        """What changes after a version. When it ends, or after Unreachable: watch on from the last version. Expired:
        list again. Leave it by `contextlib.aclosing`."""

    async def create(self, kind: Kind, namespace: str, body: Body, into: type[T]) -> T:
        """Create an object and return what the server made of it; AlreadyExists when the name is taken."""

    async def patch(self, kind: Kind, key: Key, patch: Patch, into: type[T], *, subresource: str = "") -> T:
        """Change an object, or its status with `subresource="status"`, and return what the server made of it."""

    async def delete(
        self, kind: Kind, key: Key, *, uid: str, version: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete the object with this uid in the background; NotFound when it is gone, Conflict when it is another, or
        with `version` when anything of it has changed since."""

    def now(self) -> datetime:
        """The API server's time, carried on by the monotonic clock; a step of the local clock changes nothing."""

    def earliest_now(self) -> datetime:
        """What the API server's clock shows at least; `now` may be ahead of it until there were more answers."""


def operations(*steps: Mapping[str, Any]) -> JsonPatch:
    """A JSON patch of these steps."""
    return JsonPatch(tuple(steps))


def guarded(version: str, steps: Sequence[Mapping[str, Any]]) -> JsonPatch:
    """A JSON patch that counts only for one version of the object."""
    return JsonPatch(({"op": "test", "path": "/metadata/resourceVersion", "value": version}, *steps))
