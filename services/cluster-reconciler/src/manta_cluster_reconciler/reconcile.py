"""One pass for one cluster: fence, observe, decide, execute, status."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from manta_cluster_reconciler import status
from manta_cluster_reconciler.actions import changes_anything
from manta_cluster_reconciler.conditions import Failure
from manta_cluster_reconciler.decide import decide, is_left_alone
from manta_cluster_reconciler.execute import Errand, Executor, Ledger, Undone
from manta_cluster_reconciler.gauges import Gauges
from manta_cluster_reconciler.memory import Memories, Remembered
from manta_cluster_reconciler.observe import CLUSTERS, PODS, SERVICES, Observer, cluster_keys, owner_keys
from manta_cluster_reconciler.observed import Fetched, Observed
from manta_cluster_reconciler.policies.refusals import Refusal, refusal
from manta_cluster_reconciler.rules import Rules
from manta_common.api.labels import CLUSTER, NODE_TYPE
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.errors import NotCaughtUp, NotFound, Retry
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import POD, RAYCLUSTER, SERVICE
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Children, Sight
from manta_common.store import Held
from manta_common.writes import Writes

NAME = "cluster-reconciler"
AGAIN = timedelta(milliseconds=100)
LOOK = timedelta(seconds=15)  # whether a status can still wait: how many others there are changes
REST_SECONDS = 200e-6  # for each pod, about ten times what it takes to look at one: so passes take a tenth of our time


class ClusterService:
    """Implements the plane's `Service` for RayClusters."""

    name = NAME
    sources: Sequence[Source[Any]] = (CLUSTERS, PODS, SERVICES)

    def __init__(self, kube: Kube, means: Means, *, rules: Rules, ledger: Ledger, shape: Shape | None = None) -> None:
        self._kube, self._rules = kube, rules
        self.plane = Plane(means, self, shape)
        self._memories: Memories[Item] = Memories(means.clock.monotonic)
        self._observer = Observer(kube, self._memories, rules)
        self._writes = Writes(kube, self.plane, self.sources)
        self._executor = Executor(self._writes, ledger, self, at_most=rules.in_flight)
        self._gauges = Gauges(means.metrics, lambda item: self.plane.owner.may_act(item.partition))
        self.plane.when_lost(self._gauges.lose, self._memories.lose)
        self._sight: Sight[Item] = Sight(
            kube=kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            children=[
                Children(POD, PODS, _scope, _found(PODS)),
                Children(SERVICE, SERVICES, _scope, _found(SERVICES), _is_fed),
            ],
        )

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A cluster marks itself, a pod or a Service its cluster if that is there and stays."""
        if word == CLUSTERS.word:
            return [held.key]
        owners = owner_keys(held.object) if word == SERVICES.word else ()
        keys = {*cluster_keys(held.object), *owners}
        return [key for key in keys if self._is_alive(Item(held.partition, key))]

    def now(self) -> datetime:
        """The API server's time, in whole seconds as Kubernetes writes it."""
        return self._kube.now().replace(microsecond=0)

    def recheck(self, item: Item, at: datetime) -> None:
        """Look at a cluster again by then."""
        self.plane.worker.recheck(item, at)

    async def settle(self, item: Item) -> None:
        """One pass."""
        view = await self._sight.view(item)
        if self._rests(item, view):
            return
        seen = self._observer.glance(view, item)
        if seen is None:
            self._memories.forget(item)
            self._gauges.gone(item)
            return
        self._gauges.saw(item, seen.cluster)
        self._memories.unsettled.discard(item)
        if is_left_alone(seen):
            return
        refused = self._memories.of(item, seen.cluster).judged(seen.cluster, lambda: refusal(seen, self._rules))
        if refused:
            await self._refuse(item, seen, refused)
        else:
            await self._serve(item, view, seen)

    def _is_alive(self, item: Item) -> bool:
        """Whether there may be something to do for a cluster; when it comes, it marks itself."""
        view = self.plane.view_of(item)
        cluster = view.of(CLUSTERS).get(item.key) if view else None
        return view is None or (cluster is not None and cluster.metadata.deletion_timestamp is None)

    def _rests(self, item: Item, view: View) -> bool:
        """Whether it is too early to look at a cluster of which only pods have changed; it is looked at when it is not.

        The pods of a large cluster become ready one by one, and a look goes through all of them.
        """
        cluster = view.of(CLUSTERS).get(item.key)
        seconds = self._memories.of(item, cluster).rest_seconds(cluster, self._memories.time()) if cluster else 0.0
        if seconds:
            self.recheck(item, self._kube.now() + timedelta(seconds=seconds))
        return seconds > 0

    async def _refuse(self, item: Item, seen: Observed, refused: Refusal) -> None:
        """Say why nothing is done, once."""
        wanted, version = status.refused(seen, refused, self.now()), seen.cluster.metadata.resource_version
        if status.differs(seen.cluster.status, wanted):
            await self._write_status(item, status.refusal_patch(wanted, version))
            self._executor.tell(seen.cluster, [refused.notice])

    async def _serve(self, item: Item, view: View, seen: Observed) -> None:
        """Close the gap. The status follows at once after a failure, else when the view shows what was done."""
        known, fetched = self._memories.of(item, seen.cluster), await self._observer.fetch(item, seen)
        seen = self._again(item, view, seen, fetched)
        self._look_again(item, seen)
        known.saw(frozenset(_staying(seen)))
        phases = decide(seen, self._rules, self.now())
        acts = any(changes_anything(action) for phase in phases for action in phase)
        if acts:
            self._memories.unsettled.add(item)
            await self._make_sure(item, view, seen.cluster, known)
        try:
            await self._executor.carry_out(Errand(item, seen.cluster, known), phases)
        except Undone as undone:
            known.doubt()  # what stood in the way may be something that no feed shows
            await self._report(item, seen, undone.failure)
            raise undone.error from undone
        known.looked()
        if not acts:
            await self._report(item, seen, None)
            known.rest(seen.cluster, self._memories.time() + REST_SECONDS * len(seen.pods))
        elif not self.plane.fence.is_holding(item):
            self.recheck(item, self._kube.now() + AGAIN)  # no feed will tell of what was done

    async def _make_sure(self, item: Item, view: View, cluster: RayCluster, known: Remembered) -> None:
        """Before acting: the view is right, and what made children go was not the end of the cluster itself."""
        self.plane.trust_if_new(item, cluster.metadata.creation_timestamp)
        in_doubt = known.has_lost() or not self.plane.fence.is_verified(item)
        await self._sight.ensure(item, view)
        if in_doubt:
            await self._require_alive(item, cluster)
            known.reassured()

    async def _require_alive(self, item: Item, cluster: RayCluster) -> None:
        """Kinds are watched one by one: the end of the children may be told before that of their owner."""
        try:
            found = await self._kube.get(RAYCLUSTER, item.key, RayCluster)
        except NotFound:
            raise NotCaughtUp("the cluster is gone") from None
        if found.metadata.uid != cluster.metadata.uid or found.metadata.deletion_timestamp is not None:
            raise NotCaughtUp("the cluster is on its way out")

    def _again(self, item: Item, view: View, seen: Observed, fetched: Fetched) -> Observed:
        """The cluster with what was fetched, and with what has come in the meantime."""
        now = self._observer.glance(view, item) if fetched.fresh else seen
        if now is None or now.cluster is not seen.cluster:
            raise NotCaughtUp("the cluster has changed while its children were looked at")
        return msgspec.structs.replace(now, fetched=fetched)

    def _look_again(self, item: Item, seen: Observed) -> None:
        """What no feed shows is asked for again after a while, if there is such a thing; every pass must say so."""
        if seen.fetched.objects and self._rules.resync_seconds > 0:
            age = self._memories.of(item, seen.cluster).age(self._memories.time())
            self.recheck(item, self._kube.now() + timedelta(seconds=max(0.0, self._rules.resync_seconds - age)))

    async def _report(self, item: Item, seen: Observed, failure: Failure | None) -> None:
        """Write the status if something that readers care for has changed."""
        blocked = status.blocked(seen)
        if blocked:
            await self._take_back(item, seen)
            if failure is None:
                raise Retry(blocked)
            return
        before, now = seen.cluster.status, self.now()
        wanted = status.status(seen, self._rules, failure, now)
        if not status.differs(before, wanted):
            return
        self._memories.unsettled.add(item)
        due_at = status.due_at(seen, wanted, now, others=len(self._memories.unsettled))
        if due_at > now:
            self.recheck(item, min(due_at, now + LOOK))
            return
        wanted = status.totalled(wanted, seen.cluster.spec)
        await self._write_status(item, status.patch(before, wanted, seen.cluster.metadata.resource_version))
        if status.became_provisioned(before, wanted):
            self._gauges.provisioned(seen.cluster, now)

    async def _take_back(self, item: Item, seen: Observed) -> None:
        """Say no more that a cluster cannot be served, though nothing else can be said of it yet."""
        before, wanted = seen.cluster.status, status.accepted(seen, self.now())
        if status.differs(before, wanted):
            await self._write_status(item, status.patch(before, wanted, seen.cluster.metadata.resource_version))

    async def _write_status(self, item: Item, body: Mapping[str, Any]) -> None:
        await self._writes.write_status(item, RAYCLUSTER, patch=MergePatch(body), into=RayCluster)


def _staying(seen: Observed) -> Iterator[str]:
    """The uids of the children that nobody has deleted."""
    for meta in (*(pod.metadata for pod in seen.pods), *(service.metadata for service in seen.services)):
        if meta.deletion_timestamp is None:
            yield meta.uid


def _scope(item: Item) -> Scope:
    """What the watcher publishes of a cluster's pods and Services; others the feed would never show."""
    return Scope(namespace=item.key.namespace, labels=f"{CLUSTER}={item.key.name},{NODE_TYPE}")


def _found(source: Source[Any]) -> Callable[[View, Item], list[Key]]:
    def keys(view: View, item: Item) -> list[Key]:
        found = view.of(source).find("cluster", item.key)
        return [Key(child.metadata.namespace, child.metadata.name) for child in found]

    return keys


def _is_fed(service: ObjectMeta) -> bool:
    """A Service comes by the feed of its owner's partition; one that a user made with our labels does not."""
    return any(owner.api_version == RAYCLUSTER.api_version for owner in service.owner_references)
