"""All that a decision may know of one cluster: its objects, sorted into buckets. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from manta_common.api import labels
from manta_common.api.core import ContainerState, Pod, Service, StateOfContainer
from manta_common.api.names import MANAGED_BY_KUBERAY, identifier
from manta_common.api.raycluster import RayCluster
from manta_common.keys import Key
from manta_common.kinds import Kind

TERMINAL = ("Failed", "Succeeded")
Found = Mapping[str, Any]
Ref = tuple[str, str]  # the word of a kind, and a name in the cluster's namespace


class Setback(msgspec.Struct, frozen=True):
    """How often in a row the pod of one slot failed and was replaced, and when last."""

    count: int
    at: datetime


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of the API server because no feed shows it; None where there is no such object."""

    objects: Mapping[Ref, Found | None] = msgspec.field(default_factory=dict)
    policies: tuple[Found, ...] = ()  # all network policies with the cluster's label
    fresh: bool = False  # no pass was through with it yet; else remembered from an earlier one

    def get(self, kind: Kind, name: str) -> Found | None:
        """One object; it must have been asked for."""
        return self.objects[kind.name, name]


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What only this process knows; losing it costs a little time and nothing else."""

    setbacks: Mapping[str, Setback] = msgspec.field(default_factory=dict)
    taken: frozenset[str] = frozenset()  # names that somebody else's pods bear


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster and what belongs to it."""

    cluster: RayCluster
    pods: tuple[Pod, ...] = ()
    heads: tuple[Pod, ...] = ()
    groups: Mapping[str, tuple[Pod, ...]] = msgspec.field(default_factory=dict)
    services: tuple[Service, ...] = ()
    head_services: tuple[Service, ...] = ()
    fetched: Fetched = Fetched()
    memory: Memory = Memory()

    @property
    def key(self) -> Key:
        """The cluster's namespace and name."""
        return Key(self.cluster.metadata.namespace, self.cluster.metadata.name)

    @property
    def foreign(self) -> bool:
        """Whether another controller looks after the cluster."""
        return self.cluster.spec.managed_by not in {None, MANAGED_BY_KUBERAY}

    @property
    def deleting(self) -> bool:
        """Whether the cluster is on its way out: the janitor's, from there on."""
        return self.cluster.metadata.deletion_timestamp is not None

    def group(self, name: str) -> tuple[Pod, ...]:
        """The pods of a worker group, terminating ones included."""
        return self.groups.get(name, ())

    def is_true(self, condition: str) -> bool:
        """Whether a condition is stored as True."""
        found = (known for known in self.cluster.status.conditions if known.type == condition)
        return any(known.status == "True" for known in found)


def observed(
    cluster: RayCluster,
    pods: Iterable[Pod],
    services: Iterable[Service],
    *,
    fetched: Fetched | None = None,
    memory: Memory | None = None,
) -> Observed:
    """Sort what was found into its buckets."""
    found, standing, groups = tuple(pods), tuple(services), dict[str, list[Pod]]()
    for pod in found:
        groups.setdefault(pod.metadata.labels.get(labels.GROUP, ""), []).append(pod)
    return Observed(
        cluster=cluster,
        pods=found,
        heads=tuple(pod for pod in found if pod.metadata.labels.get(labels.NODE_TYPE) == labels.HEAD),
        groups={name: tuple(members) for name, members in groups.items()},
        services=standing,
        head_services=tuple(service for service in standing if _is_head_service(cluster, service)),
        fetched=fetched or Fetched(),
        memory=memory or Memory(),
    )


def is_terminating(pod: Pod) -> bool:
    """Whether the pod was deleted and is still there."""
    return pod.metadata.deletion_timestamp is not None


def is_running(pod: Pod) -> bool:
    """Whether the pod's phase is Running."""
    return pod.status.phase == "Running"


def ready_status(pod: Pod) -> str | None:
    """The status of the pod's Ready condition, if it has one."""
    return next((condition.status for condition in pod.status.conditions if condition.type == "Ready"), None)


def is_worker(pod: Pod) -> bool:
    """Whether the pod is a worker."""
    return pod.metadata.labels.get(labels.NODE_TYPE) == labels.WORKER


def is_failed(pod: Pod) -> bool:
    """KubeRay's deletion test: the pod has ended, or its Ray container has and is not restarted."""
    if pod.status.phase in TERMINAL:
        return True
    return is_running(pod) and pod.spec.restart_policy == "Never" and ray_container_ended(pod) is not None


def ray_container_ended(pod: Pod) -> StateOfContainer | None:
    """How the Ray container ended, if it has."""
    return _ray_container_state(pod).terminated


def _ray_container_state(pod: Pod) -> ContainerState:
    first = pod.spec.containers[0].name if pod.spec.containers else ""
    found = (status.state for status in pod.status.container_statuses if status.name == first)
    return next(found, ContainerState())


def _is_head_service(cluster: RayCluster, service: Service) -> bool:
    wanted = {
        labels.CLUSTER: cluster.metadata.name,
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: identifier(cluster.metadata.name, labels.HEAD),
    }
    return wanted.items() <= service.metadata.labels.items()
