"""What all policies for workers do in the same way: make pods, replace failed ones, delete others."""

from collections.abc import Iterable, Sequence
from typing import Any

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, CreatePod, DeletePod, Told
from manta_cluster_reconciler.observed import Observed, is_running, ready_status
from manta_common.api.core import Pod
from manta_common.api.labels import GROUP, REPLICA_INDEX, REPLICA_NAME
from manta_common.keys import Key
from manta_common.ray.names import place_of


def create(observed: Observed, bodies: Iterable[dict[str, Any]]) -> list[Action]:
    """New worker pods."""
    return [
        CreatePod(
            body=body,
            told=reasons.creating_worker(observed.key, Key(observed.key.namespace, body["metadata"]["name"])),
            marker=reasons.FAILED_CREATE_WORKER,
            slot=_slot_of_slice(body),
        )
        for body in bodies
    ]


def delete(pod: Pod, told: Told, *, because: str, slot: str = "") -> DeletePod:
    """One worker pod less."""
    return DeletePod(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        told=told,
        marker=reasons.FAILED_DELETE_WORKER,
        because=because,
        slot=slot,
    )


def slot_of(pod: Pod) -> str:
    """The slot of a worker, where its setbacks are counted; pods that do not tell theirs share one."""
    place = place_of(pod.metadata)
    group = pod.metadata.labels.get(GROUP, "")
    return slot(group, place.replica) if place else group


def slot(group: str, replica: int) -> str:
    """The slot of one worker of a group."""
    return f"{group}/{replica}"


def refusal_slot(group: str, replica: int) -> str:
    """Where refusals of a worker are counted: not with its failures, which have waited before it was deleted."""
    return f"{slot(group, replica)}/refused"


def free_replicas(used: Iterable[int], count: int) -> list[int]:
    """The lowest numbers that are not used."""
    taken = set(used)
    return [number for number in range(len(taken) + count) if number not in taken][:count]


def replica_of(pod: Pod) -> int | None:
    """Which worker of its group a pod is."""
    place = place_of(pod.metadata)
    return place.replica if place else None


def is_ready(pod: Pod) -> bool:
    """Whether the pod runs and is ready."""
    return is_running(pod) and ready_status(pod) == "True"


def most_dispensable(units: Iterable[Sequence[Pod]]) -> list[Sequence[Pod]]:
    """Units of pods, those first that are missed least: not ready ones, then the newest."""
    return sorted(units, key=_dispensable)


def key_of(pod: Pod) -> Key:
    """The pod's key."""
    return Key(pod.metadata.namespace, pod.metadata.name)


def _slot_of_slice(body: dict[str, Any]) -> str:
    """The slot of a worker with several hosts: a host that is refused is a setback for all of them."""
    found = body["metadata"]["labels"]
    return refusal_slot(found[GROUP], int(found[REPLICA_INDEX])) if REPLICA_NAME in found else ""


def _dispensable(unit: Sequence[Pod]) -> tuple[bool, float, int]:
    times = (pod.metadata.creation_timestamp for pod in unit)
    created = max((time.timestamp() for time in times if time), default=0.0)
    number = max((replica_of(pod) or 0 for pod in unit), default=0)
    return all(is_ready(pod) for pod in unit), -created, -number
