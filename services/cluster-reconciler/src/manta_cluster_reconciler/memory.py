"""What this process remembers of clusters between passes. All of it can be lost: it is asked for again."""

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Generic, TypeVar

from manta_cluster_reconciler.observed import Fetched, Found, Memory, Ref, Setback
from manta_cluster_reconciler.policies import setbacks
from manta_common.api.raycluster import RayCluster
from manta_common.kinds import NETWORKPOLICY, SECRET, Kind

K = TypeVar("K", bound=Hashable)
J = TypeVar("J")
FRESH_SECONDS = 600.0


class Remembered:
    """What is remembered of one cluster."""

    def __init__(self, cluster: RayCluster) -> None:
        self.uid = cluster.metadata.uid
        self._generation, self._asked_at, self._is_news = -1, 0.0, False
        self.objects: dict[Ref, Found | None] = {}
        self.policies: dict[str, Found] = {}
        self._taken: set[str] = set()
        self._setbacks: dict[str, Setback] = {}
        self._judged: tuple[RayCluster, Any] | None = None
        self._looked_at: RayCluster | None = None
        self._rests_until = 0.0
        self._children: frozenset[str] = frozenset()
        self._services: frozenset[str] = frozenset()
        self._has_lost = False

    def saw(self, children: frozenset[str]) -> None:
        """These uids are there to stay; whether others have gone is remembered until somebody has found out why."""
        self._has_lost = self._has_lost or not self._children <= children
        self._children = children

    def saw_services(self, uids: frozenset[str]) -> None:
        """These Services are there; when another has gone, what was fetched does not count any more."""
        if not self._services <= uids:
            self.doubt()
        self._services = uids

    def has_lost(self) -> bool:
        """Whether children have gone."""
        return self._has_lost

    def reassured(self) -> None:
        """The cluster itself was still there after that."""
        self._has_lost = False

    def rest(self, cluster: RayCluster, until: float) -> None:
        """The cluster was looked at and needs nothing: what its pods do until then can be looked at together."""
        self._looked_at, self._rests_until = cluster, until

    def rest_seconds(self, cluster: RayCluster, time: float) -> float:
        """How long the cluster needs no look, unless it changes itself."""
        return max(0.0, self._rests_until - time) if self._looked_at is cluster else 0.0

    def judged(self, cluster: RayCluster, judge: Callable[[], J]) -> J:
        """What was found out about this very state of the cluster; most passes are about its pods."""
        if self._judged is None or self._judged[0] is not cluster:
            self._judged = cluster, judge()
        found: J = self._judged[1]
        return found

    def is_current(self, cluster: RayCluster, time: float, *, fresh_seconds: float = FRESH_SECONDS) -> bool:
        """Whether what was fetched still counts: the cluster is as it was, and it is not long ago."""
        return self._generation == cluster.metadata.generation and self.age(time) < fresh_seconds

    def age(self, time: float) -> float:
        """How many seconds ago it was asked for."""
        return time - self._asked_at

    def begin(self, cluster: RayCluster, time: float) -> None:
        """Everything is to be asked for again."""
        self._generation, self._asked_at, self._is_news = cluster.metadata.generation, time, True
        self.objects, self.policies = {}, {}
        self._taken.clear()

    def fetched(self) -> Fetched:
        """What the API server said; fresh until a pass was through with it."""
        return Fetched(objects=dict(self.objects), policies=tuple(self.policies.values()), fresh=self._is_news)

    def looked(self) -> None:
        """A pass was through with what was fetched, and has told what is told once."""
        self._is_news = False

    def memory(self) -> Memory:
        """What else a decision may know."""
        return Memory(setbacks=dict(self._setbacks), taken=frozenset(self._taken))

    def doubt(self) -> None:
        """Something was not as it is remembered: ask again in the next pass."""
        self._generation = -1

    def remember(self, kind: Kind, found: Found) -> None:
        """An object was made or changed; of a Secret no more than its keys is kept."""
        name = found["metadata"]["name"]
        if kind == NETWORKPOLICY:
            self.policies[name] = found
        else:
            self.objects[kind.name, name] = without_values(found) if kind == SECRET else found

    def drop(self, kind: Kind, name: str) -> None:
        """An object was deleted."""
        if kind == NETWORKPOLICY:
            self.policies.pop(name, None)
        else:
            self.objects[kind.name, name] = None

    def take(self, name: str) -> None:
        """A pod of this name is somebody else's."""
        self._taken.add(name)

    def set_back(self, slot: str, now: datetime) -> None:
        """The pod of a slot failed, or was refused."""
        self._setbacks[slot] = setbacks.grown(self._setbacks.get(slot), now)


def without_values(secret: Found) -> Found:
    """A Secret of which nothing secret is left."""
    return {"metadata": secret["metadata"], "data": dict.fromkeys(secret.get("data") or {}, "")}


class Memories(Generic[K]):
    """All clusters that were looked at."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: dict[K, Remembered] = {}
        self.unsettled: set[K] = set()  # those for which there was something to do or to tell

    def of(self, key: K, cluster: RayCluster) -> Remembered:
        """What is remembered of a cluster; nothing of an earlier one of the same name."""
        known = self._known.get(key)
        if known is None or known.uid != cluster.metadata.uid:
            known = self._known[key] = Remembered(cluster)
        return known

    def lose(self, belongs: Callable[[K], bool]) -> None:
        """Somebody else looks after these clusters from now on; what comes of them is not heard here."""
        for key in [key for key in self._known if belongs(key)]:
            self.forget(key)

    def forget(self, key: K) -> None:
        """The cluster is gone."""
        self._known.pop(key, None)
        self.unsettled.discard(key)

    def time(self) -> float:
        """The time by which it is judged what is long ago."""
        return self._monotonic()

    def __len__(self) -> int:
        return len(self._known)
