"""Rules of our own, after KubeRay's: what KubeRay takes and then never serves."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.raycluster import RayClusterSpec
from manta_common.validation.cluster import UPGRADE_OF_CHILD
from manta_common.validation.problem import Problem, Rule

# A worker is made as a whole, so that its pods must fit into one pass and into memory. Kubernetes has fewer nodes.
MOST_HOSTS: Final = 10_000
TOO_MANY_HOSTS: Final = Rule(
    "worker group {group} has numOfHosts {count}, and a worker has at most {most} Pods",
    "Set numOfHosts to the number of hosts that make up one worker, and replicas to the number of workers.",
)


def size_problems(spec: RayClusterSpec, path: str) -> Iterator[Problem]:
    """Yield what is larger than can be made."""
    for index, group in enumerate(spec.worker_group_specs):
        if group.num_of_hosts > MOST_HOSTS:
            holes = {"group": group.group_name, "count": group.num_of_hosts, "most": MOST_HOSTS}
            yield TOO_MANY_HOSTS.at(f"{path}.workerGroupSpecs[{index}].numOfHosts", **holes)


def child_problems(spec: RayClusterSpec, path: str, *, kind: str) -> Iterator[Problem]:
    """Yield why the cluster of a RayJob or RayService would be refused once it is made, when it is too late to edit."""
    if spec.upgrade_strategy is not None and spec.upgrade_strategy.type is not None:
        yield UPGRADE_OF_CHILD.at(f"{path}.upgradeStrategy.type", kind=kind)
    yield from size_problems(spec, path)
