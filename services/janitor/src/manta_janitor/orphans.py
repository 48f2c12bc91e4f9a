"""Ray objects whose owner is gone, on the plane: they are told of and never deleted."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.api.wire import Wire
from manta_common.errors import NotCaughtUp, NotFound
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYJOB, RAYSERVICE, SERVICE, Kind
from manta_common.kube.events import Recorder, reference
from manta_common.kube.protocol import Kube
from manta_common.kube.series import Notice
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.store import Held
from manta_common.telemetry import names
from manta_janitor.policies.orphans import Belonging, Child, is_there, owner_of

REASON: Final = "OrphanFound"
CONTROLLER: Final = "manta-janitor"
log = logging.getLogger(__name__)


class Present(Wire, frozen=True, kw_only=True):
    """An object of which only its being there matters."""


class Named(Wire, frozen=True, kw_only=True):
    """An object's metadata, as the API server has it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


def _owner_name(child: Child) -> Iterable[Key]:
    owner = owner_of(child)
    return [owner.key] if owner else []


_INDEX: Final = {"owner": _owner_name}
CHILDREN: Final = {kind: Source(kind.name, Child, _INDEX) for kind in (POD, SERVICE, JOB)}
OWNERS: Final[dict[Kind, Source[Any]]] = {
    **{kind: Source(kind.name, Present) for kind in (RAYCLUSTER, RAYJOB, RAYSERVICE)},
    JOB: CHILDREN[JOB],
}


class Orphan(msgspec.Struct):
    """An object without its owner: since when, and whether that was told."""

    kind: Kind
    key: Key
    since: datetime
    told: bool = False


class OrphanService:
    """Implements the plane's `Service` for objects without an owner; its keys are the names of owners."""

    name = "janitor-orphans"
    sources: Sequence[Source[Any]] = tuple(
        {source.word: source for source in (*OWNERS.values(), *CHILDREN.values())}.values()
    )

    def __init__(self, kube: Kube, means: Means, recorder: Recorder, grace: timedelta, shape: Shape) -> None:
        self._kube, self._recorder, self._grace = kube, recorder, grace
        self._known: dict[Item, dict[str, Orphan]] = {}  # by uid
        self.plane = Plane(means, self, shape)
        self.plane.when_lost(self._lose)
        means.metrics.numbers(names.ORPHANS).read_all(self._counted)

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """An owner marks its name, all else that of its owner."""
        if word in (kind.name for kind in OWNERS):
            yield held.key
        if word in (kind.name for kind in CHILDREN):
            yield from _owner_name(held.object)

    async def settle(self, item: Item) -> None:
        """One pass: what is without an owner for long enough is told of, once."""
        view = self.plane.view_of(item)
        if view is None:
            raise NotCaughtUp("the view is not whole yet")
        before, now = self._known.pop(item, {}), self._kube.now()
        alone = {held.uid: (kind, held, owner) for kind, held, owner in _alone(view, item.key)}
        known = {uid: before.get(uid) or Orphan(kind, held.key, now) for uid, (kind, held, _) in alone.items()}
        if known:
            self._known[item] = known
        for uid, (_, _, owner) in alone.items():
            await self._consider(item, uid, known[uid], owner)

    def _lose(self, belongs: Callable[[Item], bool]) -> None:
        self._known = {item: known for item, known in self._known.items() if not belongs(item)}

    async def _consider(self, item: Item, uid: str, orphan: Orphan, owner: Belonging) -> None:
        """Garbage collection takes its time, and the feed may be behind: wait first, then ask the API server itself."""
        due_at = orphan.since + self._grace
        if orphan.told:
            return
        if self._kube.now() < due_at:
            self.plane.worker.recheck(item, due_at)
        elif await self._is_alone(orphan, uid, owner):
            self._tell(orphan, uid, owner)
        else:
            orphan.since = self._kube.now()
            self.plane.worker.recheck(item, orphan.since + self._grace)

    async def _is_alone(self, orphan: Orphan, uid: str, owner: Belonging) -> bool:
        itself = await self._find(orphan.kind, orphan.key)
        if itself is None or itself.uid != uid or itself.deletion_timestamp is not None:
            return False
        found = await self._find(owner.kind, owner.key)
        return not is_there(owner, found.uid if found else None)

    async def _find(self, kind: Kind, key: Key) -> ObjectMeta | None:
        try:
            return (await self._kube.get(kind, key, Named)).metadata
        except NotFound:
            return None

    def _tell(self, orphan: Orphan, uid: str, owner: Belonging) -> None:
        orphan.told = True
        note = (
            f"{owner.kind.kind} {owner.key}, to which this {orphan.kind.kind} belonged, is gone and nobody looks after "
            f"it any more; if it is not needed, delete it: kubectl -n {orphan.key.namespace} delete "
            f"{orphan.kind.name} {orphan.key.name}"
        )
        notice = Notice(controller=CONTROLLER, type="Warning", reason=REASON, action="Report", note=note)
        self._recorder.record(reference(orphan.kind, orphan.key, uid), notice)
        log.warning("object has lost its owner", extra={"kind": orphan.kind.kind, "key": str(orphan.key)})

    def _counted(self) -> list[tuple[tuple[str, ...], float]]:
        """How many were told of and are still there."""
        for item in [item for item in self._known if self.plane.view_of(item) is None]:
            del self._known[item]
        found = Counter(one.kind.name for known in self._known.values() for one in known.values() if one.told)
        return [((kind,), found[kind]) for kind in names.ORPHAN_KINDS]


def _alone(view: View, name: Key) -> Iterator[tuple[Kind, Held[Child], Belonging]]:
    """The children of a name whose owner is not there; what is being deleted does not count."""
    for kind, source in CHILDREN.items():
        store = view.of(source)
        for child in store.find("owner", name):
            owner, held = owner_of(child), store.held(Key(child.metadata.namespace, child.metadata.name))
            if owner is None or held is None or child.metadata.deletion_timestamp is not None:
                continue
            bearer = view.of(OWNERS[owner.kind]).held(owner.key)
            if not is_there(owner, bearer.uid if bearer else None):
                yield kind, held, owner
