"""Which pods keep failing, and why, in the words of the pods themselves. Pure."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from manta_cluster_reconciler.observed import (
    TERMINAL,
    Observed,
    is_failed,
    is_terminating,
    ray_container_ended,
    ready_status,
)
from manta_cluster_reconciler.policies import deeds, head, setbacks
from manta_common.api.core import ContainerStatus, Pod, StateOfContainer
from manta_common.api.labels import HEAD, NODE_TYPE
from manta_common.api.meta import CONDITION_REASON_PATTERN

# What a kubelet says of a container that it tries to start again and again.
STUCK: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
_REASON: Final = re.compile(CONDITION_REASON_PATTERN)
MESSAGE_CHARACTERS: Final = 1000


class Trouble(msgspec.Struct, frozen=True):
    """One CamelCase word, and the whole story for people."""

    reason: str
    message: str


def trouble(observed: Observed, now: datetime) -> Trouble | None:
    """What keeps the pods of a cluster from running, if they have tried more than once."""
    found = [(pod, one) for pod in observed.pods if not is_terminating(pod) for one in _troubles(observed, pod, now)]
    if not found:
        return None
    pod, first = found[0]
    others = f" ({len(found) - 1} more pods are in trouble)" if len(found) > 1 else ""
    return Trouble(first.reason, f"Pod {pod.metadata.name}: {first.message}{others}"[:MESSAGE_CHARACTERS])


def _troubles(observed: Observed, pod: Pod, now: datetime) -> Iterator[Trouble]:
    """At most one trouble of a pod."""
    if ready_status(pod) == "True" and not is_failed(pod):
        return
    setback = observed.memory.setbacks.get(_slot(pod)) if is_failed(pod) else None
    if setback and setbacks.due_at(setback, now) > now:
        cause = _cause_of_end(pod)
        times = f"{setback.count + 1} times in a row; the next try waits longer each time"
        yield Trouble(cause.reason, f"failed {times}: {cause.message}")
    elif pod.status.phase not in TERMINAL:
        yield from list(_stuck_containers(pod))[:1]


def _slot(pod: Pod) -> str:
    return head.SLOT if pod.metadata.labels.get(NODE_TYPE) == HEAD else deeds.slot_of(pod)


def _stuck_containers(pod: Pod) -> Iterator[Trouble]:
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = container.state.waiting
        if waiting and waiting.reason in STUCK:
            told = f"{waiting.reason}: {waiting.message}{_last_end(container)}"
            yield Trouble(waiting.reason, f"container {container.name} waits: {told}")


def _last_end(container: ContainerStatus) -> str:
    ended = container.last_state.terminated
    return f"; it last ended with {_end(ended)}" if ended else ""


def _cause_of_end(pod: Pod) -> Trouble:
    """From the Ray container, from an init container, or from the pod itself."""
    ended = ray_container_ended(pod) or next(_failed_init_containers(pod), None)
    if ended:
        return Trouble(_word(ended.reason), _end(ended))
    reason = pod.status.reason or pod.status.phase
    return Trouble(_word(reason), f"{reason}: {pod.status.message}" if pod.status.message else reason)


def _failed_init_containers(pod: Pod) -> Iterator[StateOfContainer]:
    ended = (container.state.terminated for container in pod.status.init_container_statuses)
    return (state for state in ended if state and state.exit_code)


def _end(state: StateOfContainer) -> str:
    told = f"exit code {state.exit_code}"
    return ", ".join(part for part in (told, state.reason, state.message) if part)


def _word(reason: str) -> str:
    """A reason that a condition may bear."""
    return reason if _REASON.match(reason) else "Failed"
