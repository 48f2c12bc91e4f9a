"""The pods of a cluster as they are to be created: each under the first name of its slot that nobody bears. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import Any, Final

from manta_cluster_reconciler.observed import Observed
from manta_cluster_reconciler.rules import Rules
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.ray import pods
from manta_common.ray.names import Place, head_pod_name, worker_pod_name

Manifest = dict[str, Any]
MOST_LIVES: Final = 1000  # a name that never changes, which a user chose, is found by then


def head_pod(observed: Observed, rules: Rules) -> Manifest:
    """The head pod in its next life."""
    life = _next_life(lambda number: [head_pod_name(observed.cluster, number, rules.ray)], _borne(observed))
    return pods.head_pod(observed.cluster, life, rules.ray)


def worker_pods(
    observed: Observed, group: WorkerGroupSpec, *, replicas: Iterable[int], hosts: int, rules: Rules
) -> list[Manifest]:
    """The pods of new workers, host by host, each worker in its next life."""
    unusable = _borne(observed) | set(group.scale_strategy.workers_to_delete)
    places = [place for replica in replicas for place in _places(observed, group, replica, hosts, unusable)]
    return pods.worker_pods(observed.cluster, group, places, rules.ray)


def _places(
    observed: Observed, group: WorkerGroupSpec, replica: int, hosts: int, unusable: Collection[str]
) -> Sequence[Place]:
    def names(life: int) -> list[str]:
        places = (Place(replica, host, life) for host in range(hosts))
        return [worker_pod_name(observed.cluster, group.group_name, place) for place in places]

    life = _next_life(names, unusable)
    return [Place(replica, host, life) for host in range(hosts)]


def _next_life(names: Callable[[int], list[str]], unusable: Collection[str]) -> int:
    """The smallest number with which nobody bears any of the names; those that nothing changes begin at 0."""
    lives = (life for life in count() if life == MOST_LIVES or not any(name in unusable for name in names(life)))
    found = next(lives)
    return 0 if found == MOST_LIVES else found


def _borne(observed: Observed) -> set[str]:
    """The names that pods bear, ours or not, on their way out or not."""
    return {pod.metadata.name for pod in observed.pods} | observed.memory.taken
