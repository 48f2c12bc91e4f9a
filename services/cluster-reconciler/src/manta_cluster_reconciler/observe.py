"""From the view of the feed, and from what must be asked for, to what a decision may know."""

from collections.abc import Iterable
from typing import Any

import msgspec

from manta_cluster_reconciler.memory import FRESH_SECONDS, Memories, Remembered, without_values
from manta_cluster_reconciler.observed import Fetched, Found, Observed, observed
from manta_cluster_reconciler.policies.needs import Need, needs, needs_policies
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod, Service
from manta_common.api.labels import CLUSTER
from manta_common.api.raycluster import RayCluster
from manta_common.errors import NotFound
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import NETWORKPOLICY, SECRET
from manta_common.kube.protocol import Kube, Scope
from manta_common.plane import Item
from manta_common.ray.cluster import has_tls

CERTIFICATE_SECONDS = 5.0  # cert-manager changes its objects in its own time


def cluster_keys(child: Pod | Service) -> Iterable[Key]:
    """The cluster that a pod or a Service says it belongs to."""
    named = child.metadata.labels.get(CLUSTER)
    return [Key(child.metadata.namespace, named)] if named else []


CLUSTERS = Source("raycluster", RayCluster)
PODS = Source("pod", Pod, {"cluster": cluster_keys})
SERVICES = Source("service", Service, {"cluster": cluster_keys})


class Observer:
    """Sees clusters."""

    def __init__(self, kube: Kube, memories: Memories[Item], rules: Rules) -> None:
        self._kube, self._memories, self._rules = kube, memories, rules

    def glance(self, view: View, item: Item) -> Observed | None:
        """What the feed alone shows of a cluster; None when there is none."""
        cluster = view.of(CLUSTERS).get(item.key)
        if cluster is None:
            return None
        memory = self._memories.of(item, cluster).memory()
        pods, services = view.of(PODS).find("cluster", item.key), view.of(SERVICES).find("cluster", item.key)
        return observed(cluster, pods, services, memory=memory)

    async def complete(self, item: Item, seen: Observed) -> Observed:
        """The same with what no feed shows; asked for when the cluster has changed or it is long ago."""
        fetched = await self._fetched(self._memories.of(item, seen.cluster), seen.cluster)
        return msgspec.structs.replace(seen, fetched=fetched)

    async def _fetched(self, known: Remembered, cluster: RayCluster) -> Fetched:
        time = self._memories.time()
        seconds = CERTIFICATE_SECONDS if has_tls(cluster, self._rules.ray) else FRESH_SECONDS
        if known.is_current(cluster, time, fresh_seconds=seconds):
            return known.fetched(fresh=False)
        namespace = cluster.metadata.namespace
        wanted = needs(cluster, self._rules)
        objects = {(kind.name, name): await self._get(namespace, (kind, name)) for kind, name in wanted}
        policies = await self._policies(cluster) if needs_policies(self._rules) else {}
        known.begin(cluster, time)
        known.objects, known.policies = objects, policies
        return known.fetched(fresh=True)

    async def _get(self, namespace: str, need: Need) -> Found | None:
        """One object; of a Secret no more than which keys it has."""
        kind, name = need
        try:
            found: dict[str, Any] = await self._kube.get(kind, Key(namespace, name), dict)
        except NotFound:
            return None
        return without_values(found) if kind == SECRET else found

    async def _policies(self, cluster: RayCluster) -> dict[str, Found]:
        scope = Scope(namespace=cluster.metadata.namespace, labels=f"{CLUSTER}={cluster.metadata.name}")
        listed = await self._kube.list(NETWORKPOLICY, dict, scope)
        return {found["metadata"]["name"]: found for found in listed.items}
