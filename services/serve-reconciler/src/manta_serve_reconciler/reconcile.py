"""RayServices on the plane: what marks one, and one pass for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from manta_common.api import labels, names
from manta_common.api.rayservice import RayService
from manta_common.dashboard.client import Dashboards
from manta_common.errors import NotFound, Refused
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import GATEWAY, HTTPROUTE, RAYCLUSTER, RAYSERVICE, SERVICE, Kind
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, Scope
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Children, Settler
from manta_common.store import Held
from manta_common.validation.service import is_incremental
from manta_common.writes import Writes
from manta_serve_reconciler.actions import Action
from manta_serve_reconciler.decide import decide
from manta_serve_reconciler.execute import Errand, Hands
from manta_serve_reconciler.gauges import Gauges
from manta_serve_reconciler.memory import Memory
from manta_serve_reconciler.observe import (
    CLUSTERS,
    KUBE_SERVICES,
    PODS,
    REPORTS,
    SERVICES,
    SLICES,
    Routing,
    cluster_of,
    observe,
    selected_by,
    service_of,
)
from manta_serve_reconciler.observed import Observed, ServeSettings


class ServeService:
    """Implements the plane's `Service` for RayServices."""

    name = "serve-reconciler"
    sources: Sequence[Source[Any]] = (SERVICES, CLUSTERS, KUBE_SERVICES, PODS, SLICES, REPORTS)

    def __init__(self, kube: Kube, means: Means, settings: ServeSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings = kube, settings
        self.plane = Plane(means, self, shape)
        self._memory = Memory()
        self._gauges = Gauges(means.metrics, lambda item: self.plane.owner.may_act(item.partition))
        self.plane.when_lost(self._gauges.lose, self._memory.lose)
        self._hands = Hands(
            writes=Writes(kube, self.plane, self.sources),
            dashboards=Dashboards(means.bus),
            recorder=recorder,
            settings=settings,
            memory=self._memory,
            recheck=self.plane.worker.recheck,
            now=kube.now,
        )

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A RayService marks itself; all else marks the one that it was made for."""
        match word:
            case "rayservice":
                return [held.key]
            case "serveinfo":
                return self._of(held, CLUSTERS, [held.key])
            case "pod":
                return self._of(held, CLUSTERS, cluster_of(held.object))
            case "endpointslice":
                return self._of(held, KUBE_SERVICES, selected_by(held.object))
            case _:
                return self._roots(held, service_of(held.object))

    async def settle(self, item: Item) -> None:
        """One pass."""
        seen: dict[str, Errand] = {}
        routing = await self._routing(item)

        def decided(view: View, about: Item) -> Sequence[Phase[Action]]:
            found = self._observe(view, about, routing)
            if found is None:
                return []
            seen["errand"] = Errand(about, found, self._hands)
            if found.is_untouched:
                self.plane.fence.verified(about)  # nothing can have been made for it that the view may lack
            return decide(found, self._settings, self._kube.now())

        async def carry_out(about: Item, action: Action) -> None:
            await seen["errand"].carry_out(action)

        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=decided,
            carry_out=carry_out,
            children=(*CHILDREN, *self._of_clusters(item)),
        ).settle(item)

    def _of_clusters(self, item: Item) -> Iterable[Children[Item]]:
        """The serve Services that clusters of it have of their own, where traffic moves step by step."""
        service = self._stepwise(item)
        status = service.status if service else None
        sides = (status.active_service_status, status.pending_service_status) if status else ()
        clusters = [side.ray_cluster_name for side in sides if side.ray_cluster_name]
        if clusters:
            keys = [Key(item.key.namespace, names.serve_service(name)) for name in clusters]
            yield Children(SERVICE, KUBE_SERVICES, lambda _: _labelled(item, *clusters), lambda _, __: keys)

    def _stepwise(self, item: Item) -> RayService | None:
        """The RayService, if its traffic moves step by step."""
        view = self.plane.view_of(item)
        service = view.of(SERVICES).get(item.key) if view else None
        return service if service and is_incremental(service.spec, self._settings.gates) else None

    async def _routing(self, item: Item) -> Routing:
        """The Gateway and the route of a RayService whose traffic moves step by step."""
        if self._stepwise(item) is None:
            return Routing()
        names_of = {GATEWAY: names.gateway(item.key.name), HTTPROUTE: names.http_route(item.key.name)}
        found = [await self._ask(kind, Key(item.key.namespace, name)) for kind, name in names_of.items()]
        return Routing(gateway=found[0], route=found[1])

    async def _ask(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        """What is there; one that may not be read counts as missing: the attempt to make it tells what is wrong."""
        try:
            return await self._kube.get(kind, key, dict)
        except (NotFound, Refused):
            return None

    def _observe(self, view: View, item: Item, routing: Routing) -> Observed | None:
        service = view.of(SERVICES).get(item.key)
        if service is None:
            self._gauges.gone(item)
            self._memory.forget(item)
            return None
        self._gauges.saw(item, service)
        self._memory.saw(item, service, view.of(CLUSTERS).find("service", item.key), self._kube.now())
        memory = self._memory
        return observe(view, item, submitted=memory.submitted(item), doomed=memory.doomed(item), routing=routing)

    def _of(self, held: Held[Any], source: Source[Any], owners: Iterable[Key]) -> Iterable[Key]:
        """The RayServices that clusters or Services of these keys were made for."""
        for owner in owners:
            view = self.plane.view_of(Item(held.partition, owner))
            found = view.of(source).get(owner) if view else None
            yield from self._roots(held, service_of(found)) if found else ()

    def _roots(self, held: Held[Any], named: Iterable[Key]) -> Iterable[Key]:
        """The RayServices of these names; a Service may have been made for a cluster of one."""
        for key in named:
            view = self.plane.view_of(Item(held.partition, key))
            cluster = view.of(CLUSTERS).get(key) if view else None
            yield from service_of(cluster) if cluster else [key]


def _labelled(item: Item, *clusters: str) -> Scope:
    """What was made for a RayService, or for clusters of it."""
    wanted = ",".join(clusters or (item.key.name,))
    marks = f"{labels.ORIGINATED_FROM_NAME} in ({wanted}),{labels.ORIGINATED_FROM_KIND}=RayService"
    return Scope(namespace=item.key.namespace, labels=marks)


def _itself(item: Item) -> Scope:
    return Scope(namespace=item.key.namespace, fields=f"metadata.name={item.key.name}")


def _ours(source: Source[Any]) -> Callable[[View, Item], list[Key]]:
    """What was made for a RayService, as our view shows it."""

    def ours(view: View, item: Item) -> list[Key]:
        found = view.of(source).find("service", item.key)
        return [Key(each.metadata.namespace, each.metadata.name) for each in found]

    return ours


CHILDREN = (
    Children(RAYSERVICE, SERVICES, _itself, lambda _, item: [item.key]),
    Children(RAYCLUSTER, CLUSTERS, _labelled, _ours(CLUSTERS)),
    Children(SERVICE, KUBE_SERVICES, _labelled, _ours(KUBE_SERVICES)),
)
