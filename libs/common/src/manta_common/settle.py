"""One pass for one key: see what was written, observe, decide, make sure, act."""

from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from manta_common.errors import NotCaughtUp
from manta_common.execute import AT_MOST, Phase, execute
from manta_common.feed import Source, View, number
from manta_common.fence import Fence
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Kube, Scope

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")


class Children(msgspec.Struct, Generic[K], frozen=True):
    """One kind of objects that a pass may act on: where the API server lists those of a key, and our view too."""

    kind: Kind
    source: Source[Any]
    scope: Callable[[K], Scope]
    ours: Callable[[View, K], Sequence[Key]]


class Settler(msgspec.Struct, Generic[K, A], frozen=True, kw_only=True):
    """What all reconcilers do in a pass; what differs is given by functions."""

    kube: Kube
    fence: Fence[K]
    view_of: Callable[[K], View | None]
    decide: Callable[[View, K], Sequence[Phase[A]]]
    carry_out: Callable[[K, A], Coroutine[Any, Any, None]]
    children: Sequence[Children[K]]
    at_most: int = AT_MOST

    async def settle(self, key: K) -> None:
        """Close the gap between what is and what should be, as far as it can be seen."""
        view = self.view_of(key)
        if view is None:
            raise NotCaughtUp("the view is not whole yet")
        if self.fence.is_overdue(key):
            await self._verify(key, view)
        self.fence.check(key)
        phases = [phase for phase in self.decide(view, key) if phase]
        if not phases:
            return
        if not self.fence.is_verified(key):
            await self._verify(key, view)
        await execute(phases, lambda action: self.carry_out(key, action), at_most=self.at_most)

    async def _verify(self, key: K, view: View) -> None:
        """Compare the view with the API server's own list; NotCaughtUp, until it is seen, when something differs."""
        listings = [await self.kube.list_versions(child.kind, child.scope(key)) for child in self.children]
        self.fence.verified(key)
        for child, listing in zip(self.children, listings, strict=True):
            store, listed = view.of(child.source), set[Key]()
            for meta in listing.items:
                place = Key(meta.namespace, meta.name)
                listed.add(place)
                held = store.held(place)
                if held is None or held.version < number(meta.resource_version):
                    self.fence.wrote(key, child.kind, place, uid=meta.uid, version=meta.resource_version)
            for place in child.ours(view, key):
                held = store.held(place)
                if held and place not in listed:
                    self.fence.deleted(key, child.kind, place, uid=held.uid)
        self.fence.check(key)
