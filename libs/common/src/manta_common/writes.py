"""Writes to the API server: only while the key is ours, each key in its turn, awaited where the feed will show them."""

from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from manta_common.api.core import Service
from manta_common.api.meta import ObjectMeta
from manta_common.company import Company
from manta_common.errors import AlreadyExists, Conflict, NotFound, Refused
from manta_common.feed import Source, View, number
from manta_common.fence import Fence
from manta_common.keys import Key
from manta_common.kinds import SERVICE, Kind
from manta_common.kube.protocol import Body, Kube, Patch, guarded
from manta_common.plane import Item
from manta_common.turns import Turns


class Named(Protocol):
    """An object with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""


class Ground(Protocol):
    """What writes stand on: a Plane."""

    fence: Fence[Item]
    company: Company

    def view_of(self, item: Item) -> View | None:
        """What is known of the item's partition."""

    def require(self, item: Item) -> None:
        """NotCaughtUp unless the item is ours at this moment."""


T = TypeVar("T", bound=Named)
A = TypeVar("A")


class Writes:
    """The hands of a service; `sources` are the kinds that its feed shows."""

    def __init__(self, kube: Kube, ground: Ground, sources: Sequence[Source[Any]]) -> None:
        self.kube, self._ground = kube, ground
        self._fed = {source.word: source for source in sources}
        self._turns: Turns[Item] = Turns(are_others_at_work=ground.company.is_there)

    async def create(self, item: Item, kind: Kind, body: Body, *, into: type[T]) -> T:
        """Create an object in the item's namespace."""
        made = await self._create(item, kind, body, into)
        self.wrote(item, kind, made.metadata)
        return made

    async def create_own(
        self, item: Item, kind: Kind, body: Mapping[str, Any], *, into: type[T], owners: Container[str]
    ) -> None:
        """Create a child; Refused when another object bears its name, one that none of these uids owns."""
        try:
            await self.create(item, kind, body, into=into)
        except AlreadyExists as error:
            found = await self.kube.get(kind, Key(item.key.namespace, body["metadata"]["name"]), into)
            if not any(owner.uid in owners for owner in found.metadata.owner_references):
                raise Refused(409, "AlreadyExists", str(error)) from error
            self.wrote(item, kind, found.metadata)

    async def move_service(self, item: Item, manifest: Mapping[str, Any], *, version: str) -> None:
        """Replace all that a Service of this version selects and serves; its address stays, and whose it is."""
        # Where no address and no node port is named, the API server keeps those that there are.
        spec = {part: value for part, value in manifest["spec"].items() if part != "clusterIP"}
        patch = guarded(version, [{"op": "replace", "path": "/spec", "value": spec}])
        key = Key(item.key.namespace, manifest["metadata"]["name"])
        await self.patch(item, SERVICE, key, patch=patch, into=Service)

    async def patch(self, item: Item, kind: Kind, key: Key, *, patch: Patch, into: type[T]) -> T:
        """Change an object."""
        made = await self._take(item, f"patch {kind.name}", lambda: self.kube.patch(kind, key, patch, into))
        self.wrote(item, kind, made.metadata)
        return made

    async def write_status(self, item: Item, kind: Kind, *, patch: Patch, into: type[T]) -> T:
        """Change the status of the item itself."""
        made = await self._take(
            item,
            f"patch {kind.name} status",
            lambda: self.kube.patch(kind, item.key, patch, into, subresource="status"),
        )
        self.wrote(item, kind, made.metadata)
        return made

    async def create_object(self, item: Item, kind: Kind, body: Body) -> dict[str, Any]:
        """Create an object in the item's namespace that no feed shows, and return all of it."""
        return await self._create(item, kind, body, dict)

    async def patch_object(self, item: Item, kind: Kind, key: Key, *, patch: Patch) -> dict[str, Any]:
        """Change an object that no feed shows, and return all of it."""
        return await self._take(item, f"patch {kind.name}", lambda: self.kube.patch(kind, key, patch, dict))

    async def delete(self, item: Item, kind: Kind, key: Key, *, uid: str, version: str = "") -> bool:
        """Delete this very object; whether it was still there. Conflict when it has changed since a version, or when
        it was refused though our view shows it: an admission webhook may answer so, and then it is still there."""
        try:
            await self._take(item, f"delete {kind.name}", lambda: self.kube.delete(kind, key, uid=uid, version=version))
        except NotFound:
            return False
        except Conflict:  # most often another one bears its name by now
            if version or (kind.name in self._fed and not self._is_seen_going(item, kind, key, uid)):
                raise
            return False
        if kind.name in self._fed:
            self._ground.company.wrote()
            if not self._is_seen_going(item, kind, key, uid):
                self._ground.fence.deleted(item, kind, key, uid=uid)
        return True

    def wrote(self, item: Item, kind: Kind, meta: ObjectMeta) -> None:
        """Await a write, unless the feed was faster than the answer or there was nothing to change."""
        source = self._fed.get(kind.name)
        if source:
            self._ground.company.wrote()
        view = self._ground.view_of(item)
        key = Key(meta.namespace, meta.name)
        held = view.of(source).held(key) if source and view else None
        if source and _has_ended(meta):
            if held is not None and held.uid == meta.uid:
                self._ground.fence.ended(item, kind, key, version=meta.resource_version)
        elif source and (held is None or held.uid != meta.uid or held.version < number(meta.resource_version)):
            self._ground.fence.wrote(item, kind, key, uid=meta.uid, version=meta.resource_version)

    async def _create(self, item: Item, kind: Kind, body: Body, into: type[A]) -> A:
        namespace = item.key.namespace
        return await self._take(item, f"create {kind.name}", lambda: self.kube.create(kind, namespace, body, into))

    async def _take(self, item: Item, what: str, call: Callable[[], Coroutine[Any, Any, A]]) -> A:
        """Make a call when it is the item's turn, if it is still ours by then."""

        async def made() -> A:
            self._ground.require(item)
            return await call()

        return await self._turns.take(item, what, made)

    def _is_seen_going(self, item: Item, kind: Kind, key: Key, uid: str) -> bool:
        view = self._ground.view_of(item)
        if view is None:
            return False
        held = view.of(self._fed[kind.name]).held(key)
        return held is None or held.uid != uid or held.object.metadata.deletion_timestamp is not None


def _has_ended(meta: ObjectMeta) -> bool:
    """Whether a write was the last that an object waited for whose deletion had begun: it is gone since."""
    return bool(meta.deletion_timestamp and not meta.finalizers and not meta.deletion_grace_period_seconds)
