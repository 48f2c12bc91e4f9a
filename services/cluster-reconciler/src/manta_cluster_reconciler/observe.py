"""From the view of the feed, and from what must be asked for, to what a decision may know."""

from collections.abc import Iterable
from typing import Any

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
from manta_common.kinds import NETWORKPOLICY, RAYCLUSTER, SECRET
from manta_common.kube.protocol import Kube, Scope
from manta_common.plane import Item
from manta_common.ray.cluster import has_tls

CERTIFICATE_SECONDS = 5.0  # cert-manager changes its objects in its own time


def cluster_keys(child: Pod | Service) -> Iterable[Key]:
    """The cluster that a pod or a Service says it belongs to."""
    named = child.metadata.labels.get(CLUSTER)
    return [Key(child.metadata.namespace, named)] if named else []


def owner_keys(service: Service) -> Iterable[Key]:
    """The cluster that controls a Service: those that are found by their names do not say by a label whose they are."""
    meta, by = service.metadata, (RAYCLUSTER.api_version, RAYCLUSTER.kind)
    owners = (owner for owner in meta.owner_references if owner.controller and (owner.api_version, owner.kind) == by)
    return [Key(meta.namespace, owner.name) for owner in owners]


CLUSTERS = Source("raycluster", RayCluster)
PODS = Source("pod", Pod, {"cluster": cluster_keys})
SERVICES = Source("service", Service, {"cluster": cluster_keys, "owner": owner_keys})


class Observer:
    """Sees clusters."""

    def __init__(self, kube: Kube, memories: Memories[Item], rules: Rules) -> None:
        self._kube, self._memories, self._rules = kube, memories, rules
        self._fresh_seconds = min(FRESH_SECONDS, rules.resync_seconds) if rules.resync_seconds > 0 else FRESH_SECONDS

    def glance(self, view: View, item: Item) -> Observed | None:
        """What the feed alone shows of a cluster; None when there is none."""
        cluster = view.of(CLUSTERS).get(item.key)
        if cluster is None:
            return None
        memory = self._memories.of(item, cluster).memory()
        pods, services = view.of(PODS).find("cluster", item.key), view.of(SERVICES)
        found = (one for index in ("cluster", "owner") for one in services.find(index, item.key))
        by_name = {service.metadata.name: service for service in found}
        return observed(cluster, pods, by_name.values(), memory=memory)

    async def fetch(self, item: Item, seen: Observed) -> Fetched:
        """What is asked for by name; when the cluster has changed, a Service of it is gone or it is long ago."""
        cluster = seen.cluster
        known = self._memories.of(item, cluster)
        known.saw_services(frozenset(service.metadata.uid for service in seen.services))
        wanted = {(kind.name, name): (kind, name) for kind, name in needs(cluster, self._rules)}
        time = self._memories.time()
        if self._is_known(known, cluster, time) and known.objects.keys() >= wanted.keys():
            return known.fetched()
        namespace = cluster.metadata.namespace
        objects = {ref: await self._get(namespace, need) for ref, need in wanted.items()}
        policies = await self._policies(cluster) if needs_policies(self._rules) else {}
        known.begin(cluster, time)
        known.objects, known.policies = objects, policies
        return known.fetched()

    def _is_known(self, known: Remembered, cluster: RayCluster, time: float) -> bool:
        """Whether what was fetched still counts; what is needed may change with labels, without a new generation."""
        seconds = CERTIFICATE_SECONDS if has_tls(cluster, self._rules.ray) else self._fresh_seconds
        return known.is_current(cluster, time, fresh_seconds=seconds)

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
