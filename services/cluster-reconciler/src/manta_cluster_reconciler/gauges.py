"""KubeRay's metrics of clusters: which there are, whether they are provisioned, and how long that took."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from manta_cluster_reconciler import reasons
from manta_common.api.labels import ORIGINATED_FROM_KIND
from manta_common.api.raycluster import RayCluster
from manta_common.plane import Item
from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry


class Shown(msgspec.Struct, frozen=True):
    """What is shown of one cluster."""

    labels: tuple[str, str, str]  # name, namespace, uid
    owner_kind: str
    provisioned: str


class Gauges:
    """The clusters that this replica looks after."""

    def __init__(self, registry: Registry, is_ours: Callable[[Item], bool]) -> None:
        self._shown: dict[Item, Shown] = {}
        self._is_ours = is_ours
        self._durations = registry.numbers(names.CLUSTER_PROVISIONED_SECONDS)
        registry.numbers(names.CLUSTER_INFO).read_all(lambda: self._each(lambda shown: shown.owner_kind))
        registry.numbers(names.CLUSTER_PROVISIONED).read_all(lambda: self._each(lambda shown: shown.provisioned))

    def saw(self, item: Item, cluster: RayCluster) -> None:
        """A cluster as it is now."""
        found = (known for known in cluster.status.conditions if known.type == reasons.PROVISIONED)
        provisioned = any(known.status == "True" for known in found)
        kind = cluster.metadata.labels.get(ORIGINATED_FROM_KIND) or "None"
        self._shown[item] = Shown(_labels(cluster), kind, "true" if provisioned else "false")

    def provisioned(self, cluster: RayCluster, now: datetime) -> None:
        """All pods of a cluster are ready for the first time."""
        created = cluster.metadata.creation_timestamp
        if created:
            self._durations.at(*_labels(cluster)).set((now - created).total_seconds())

    def gone(self, item: Item) -> None:
        """There is no such cluster any more."""
        shown = self._shown.pop(item, None)
        if shown:
            self._durations.forget(*shown.labels)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these clusters from now on; what comes of them is not heard here."""
        for item in [item for item in self._shown if belongs(item)]:
            self.gone(item)

    def _each(self, last: Callable[[Shown], str]) -> Iterable[tuple[tuple[str, ...], float]]:
        def found() -> Iterator[tuple[tuple[str, ...], float]]:
            for item, shown in self._shown.items():
                if self._is_ours(item):
                    yield (*shown.labels, last(shown)), 1.0

        return found()


def _labels(cluster: RayCluster) -> tuple[str, str, str]:
    return cluster.metadata.name, cluster.metadata.namespace, cluster.metadata.uid
