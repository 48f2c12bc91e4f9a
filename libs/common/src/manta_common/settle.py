"""One pass for one key: see what was written, observe, decide, make sure, act."""

import functools
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import NotCaughtUp
from manta_common.execute import AT_MOST, Phase, execute
from manta_common.feed import Source, View, number
from manta_common.fence import Fence
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Kube, Scope
from manta_common.store import Held
from manta_common.telemetry.passes import traced_actions
from manta_common.telemetry.tracing import current_tracing

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")


def everything(_: ObjectMeta) -> bool:
    """Every object that is listed must be in the view."""
    return True


class Children(msgspec.Struct, Generic[K], frozen=True):
    """One kind of objects that a pass may act on: where the API server lists those of a key, and our view too.

    Objects that are listed though our feed never shows them, being somebody else's, must be left out by `fed`.
    """

    kind: Kind
    source: Source[Any]
    scope: Callable[[K], Scope]
    ours: Callable[[View, K], Sequence[Key]]
    fed: Callable[[ObjectMeta], bool] = everything


class Sight(msgspec.Struct, Generic[K], frozen=True, kw_only=True):
    """A view that may be decided on: never older than our own last write, and right before the first act."""

    kube: Kube
    fence: Fence[K]
    view_of: Callable[[K], View | None]
    children: Sequence[Children[K]]

    async def view(self, key: K) -> View:
        """The view of a key; NotCaughtUp until it shows what was written."""
        view = self.view_of(key)
        if view is None:
            raise NotCaughtUp("the view is not whole yet")
        if self.fence.is_overdue(key):
            await self._verify(key, view)
        self.fence.check(key)
        return view

    async def ensure(self, key: K, view: View) -> None:
        """Called before acting: after a take-over the API server itself is asked, once."""
        if not self.fence.is_verified(key):
            await self._verify(key, view)

    async def _verify(self, key: K, view: View) -> None:
        """Compare the view with the API server's own list; NotCaughtUp, until it is seen, when something differs.

        Also when the view has moved on while we asked: what was decided before knew nothing of that.
        """
        before = self._shown(key, view)
        listings = [await self.kube.list_versions(child.kind, child.scope(key)) for child in self.children]
        if self.view_of(key) is not view:
            raise NotCaughtUp("the view was replaced while it was compared")
        self.fence.verified(key)
        for child, listing in zip(self.children, listings, strict=True):
            store, listed = view.of(child.source), set[Key]()
            for meta in filter(child.fed, listing.items):
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
        if self._shown(key, view) != before:
            raise NotCaughtUp("the view has moved on while it was compared")

    def _shown(self, key: K, view: View) -> list[Held[Any] | None]:
        """The children of a key as the view has them at this moment."""
        return [view.of(child.source).held(place) for child in self.children for place in child.ours(view, key)]


class Settler(Sight[K], Generic[K, A], frozen=True, kw_only=True):
    """What all reconcilers do in a pass; what differs is given by functions."""

    decide: Callable[[View, K], Sequence[Phase[A]]]
    carry_out: Callable[[K, A], Coroutine[Any, Any, None]]
    at_most: int = AT_MOST

    async def settle(self, key: K) -> None:
        """Close the gap between what is and what should be, as far as it can be seen."""
        view = await self.view(key)
        phases = [phase for phase in self.decide(view, key) if phase]
        if not phases:
            return
        await self.ensure(key, view)
        carry_out = traced_actions(current_tracing(), functools.partial(self.carry_out, key))
        await execute(phases, carry_out, at_most=self.at_most)
