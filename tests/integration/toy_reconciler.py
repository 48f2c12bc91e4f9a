"""A whole reconciler on the plane, as small as it can be: it keeps `spec.count` ConfigMaps for every Toy."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import AlreadyExists, Conflict, NotFound
from manta_common.execute import Phase
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, Kind
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.plane import Item, Plane
from manta_common.settle import Children, Settler
from manta_common.store import Held

TOY = Kind("toy", "Toy", "toys", "example.test")
OWNER = "example.test/toy"


class ToySpec(msgspec.Struct, frozen=True, rename="camel"):
    """What is wanted, and from when on; the note may be as long as an object can be."""

    count: int = 0
    start_at: datetime | None = None
    note: str = ""


class ToyStatus(msgspec.Struct, frozen=True):
    """What there is."""

    count: int = -1


class Toy(msgspec.Struct, frozen=True):
    """The toy object."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ToySpec = ToySpec()
    status: ToyStatus = ToyStatus()


class Part(msgspec.Struct, frozen=True):
    """A ConfigMap of a toy, trimmed to what is read."""

    metadata: ObjectMeta = ObjectMeta()


class Create(msgspec.Struct, frozen=True, tag=True):
    """One part more."""

    name: str


class Delete(msgspec.Struct, frozen=True, tag=True):
    """One part less: this very one."""

    name: str
    uid: str


class Report(msgspec.Struct, frozen=True, tag=True):
    """Write the status of the toy as it was seen."""

    count: int
    version: str


class Recheck(msgspec.Struct, frozen=True, tag=True):
    """Nothing to do before that time."""

    at: datetime


Action = Create | Delete | Report | Recheck
TOYS = Source("toy", Toy)
PARTS = Source("configmap", Part, {"toy": lambda part: [Key(part.metadata.namespace, part.metadata.labels[OWNER])]})


def decide(toy: Toy, parts: Sequence[Part], now: datetime) -> list[Phase[Action]]:
    """The gap between what is wanted and what there is."""
    if toy.spec.start_at and now < toy.spec.start_at:
        return [[Recheck(toy.spec.start_at)]]
    wanted = [f"{toy.metadata.name}-{number}" for number in range(toy.spec.count)]
    there = {part.metadata.name: part.metadata.uid for part in parts}
    changes: list[Action] = [Create(name) for name in wanted if name not in there]
    changes += [Delete(name, uid) for name, uid in there.items() if name not in wanted]
    told = toy.status.count == len(wanted)
    return [changes, [] if told else [Report(len(wanted), toy.metadata.resource_version)]]


class ToyService:
    """Implements the plane's `Service`."""

    sources: Sequence[Source[Any]] = (TOYS, PARTS)

    def __init__(self, kube: Kube, name: str = "toy-reconciler") -> None:
        self.kube, self.name = kube, name
        self.plane: Plane  # set by whoever puts the two together

    def marks(self, word: str, held: Held[Toy | Part]) -> Iterable[Key]:
        """A toy marks itself, a part its toy."""
        return [held.key] if word == "toy" else [Key(held.key.namespace, held.object.metadata.labels[OWNER])]

    async def settle(self, item: Item) -> None:
        """One pass."""
        await Settler(
            kube=self.kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=self._decide,
            carry_out=self._carry_out,
            children=[Children(CONFIGMAP, PARTS, _scope, _ours)],
        ).settle(item)

    def _decide(self, view: View, item: Item) -> list[Phase[Action]]:
        toy = view.of(TOYS).get(item.key)
        return decide(toy, view.of(PARTS).find("toy", item.key), self.kube.now()) if toy else []

    async def _carry_out(self, item: Item, action: Action) -> None:
        self.plane.require(item)
        match action:
            case Create():
                await self._create(item, Key(item.key.namespace, action.name))
            case Delete():
                await self._delete(item, Key(item.key.namespace, action.name), action.uid)
            case Report():
                body = {"metadata": {"resourceVersion": action.version}, "status": {"count": action.count}}
                toy = await self.kube.patch(TOY, item.key, MergePatch(body), Toy, subresource="status")
                self._wrote(item, TOY, toy.metadata)
            case Recheck():
                self.plane.worker.recheck(item, action.at)

    async def _create(self, item: Item, part: Key) -> None:
        body = {"metadata": {"name": part.name, "labels": {OWNER: item.key.name}}}
        try:
            made = await self.kube.create(CONFIGMAP, part.namespace, body, Part)
        except AlreadyExists as error:
            made = await self.kube.get(CONFIGMAP, part, Part)
            if made.metadata.labels.get(OWNER) != item.key.name:
                raise Conflict(f"{part} is another's") from error
        self._wrote(item, CONFIGMAP, made.metadata)

    async def _delete(self, item: Item, part: Key, uid: str) -> None:
        try:
            await self.kube.delete(CONFIGMAP, part, uid=uid)
        except NotFound:
            return
        self.plane.fence.deleted(item, CONFIGMAP, part, uid=uid)

    def _wrote(self, item: Item, kind: Kind, meta: ObjectMeta) -> None:
        key = Key(meta.namespace, meta.name)
        self.plane.fence.wrote(item, kind, key, uid=meta.uid, version=meta.resource_version)


def _scope(item: Item) -> Scope:
    return Scope(namespace=item.key.namespace, labels=f"{OWNER}={item.key.name}")


def _ours(view: View, item: Item) -> list[Key]:
    found = view.of(PARTS).find("toy", item.key)
    return [Key(part.metadata.namespace, part.metadata.name) for part in found]
