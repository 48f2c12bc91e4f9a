"""The status of a pod, from what is known of its containers, as a kubelet writes it. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec

from manta_embedded.node.records import Record
from manta_embedded.store.objects import Obj

TYPES = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
Word = tuple[str, str, str]  # status, reason, message


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a pod as a whole."""

    started_at: str
    host: str
    address: str = ""
    sandboxed: bool = False
    reason: str = ""  # why it was ended by the node
    message: str = ""


def status(pod: Obj, records: Sequence[Record], facts: Facts, now: str) -> Obj:
    """The fields of a pod's status that a node writes; None removes one."""
    inits = [one for one in records if one.init]
    mains = [one for one in records if not one.init]
    found: Obj = {
        "phase": phase(pod, records, facts),
        "startTime": facts.started_at,
        "hostIP": facts.host,
        "hostIPs": [{"ip": facts.host}],
        "conditions": _conditions(pod, records, facts, now),
        "containerStatuses": [container_status(one) for one in mains],
    }
    if facts.address:
        found |= {"podIP": facts.address, "podIPs": [{"ip": facts.address}]}
    if inits:
        found["initContainerStatuses"] = [container_status(one) for one in inits]
    if facts.reason:
        found |= {"reason": facts.reason, "message": facts.message}
    return found


def phase(pod: Obj, records: Sequence[Record], facts: Facts) -> str:
    """Pending, Running, Succeeded or Failed, by a kubelet's rules."""
    if facts.reason:
        return "Failed"
    policy = pod["spec"].get("restartPolicy", "Always")
    inits = [one for one in records if one.init and not one.sidecar]
    if policy == "Never" and any(one.ended and not one.succeeded for one in inits):
        return "Failed"
    if not is_initialized(records):
        return "Pending"
    found = _main_phase(policy, [one for one in records if not one.init])
    # A pod has not ended before its last process has, a sidecar's too.
    return "Running" if found in ("Succeeded", "Failed") and any(one.running for one in records) else found


def is_initialized(records: Sequence[Record]) -> bool:
    """Whether the containers proper may start: init containers have ended well, sidecars among them have started."""
    return all(one.started if one.sidecar else one.succeeded for one in records if one.init) or any(
        one.running or one.ended or one.last_state for one in records if not one.init
    )


def is_ready(records: Sequence[Record]) -> bool:
    """Whether all containers are."""
    return all(one.ready for one in records if not one.init or one.sidecar)


def container_status(record: Record) -> Obj:
    """The status of one container."""
    found: Obj = {
        "name": record.name,
        "image": record.container.get("image", ""),
        "imageID": "",
        "ready": record.succeeded if record.init and not record.sidecar else record.ready,
        "started": record.started,
        "restartCount": record.restarts,
        "state": record.state,
        "lastState": record.last_state,
    }
    return {**found, "containerID": record.container_id} if record.container_id else found


def exit_code(code: int) -> int:
    """As it is shown: 128 and the signal for a process that was killed."""
    return code if code >= 0 else 128 - code


def _main_phase(policy: str, mains: list[Record]) -> str:
    if any("waiting" in one.state and not one.last_state for one in mains):
        return "Pending"
    if any(one.running for one in mains) or policy == "Always":
        return "Running"
    ended = [one for one in mains if one.ended]
    if len(ended) == len(mains) and all(one.succeeded for one in ended):
        return "Succeeded"
    return "Failed" if policy == "Never" and len(ended) == len(mains) else "Running"


def _conditions(pod: Obj, records: Sequence[Record], facts: Facts, now: str) -> list[Obj]:
    phase_ = phase(pod, records, facts)
    words: dict[str, Word] = {
        "PodReadyToStartContainers": ("True" if facts.sandboxed else "False", "", ""),
        "Initialized": _initialized(records, phase_),
        "Ready": _readiness(records, phase_),
        "ContainersReady": _readiness(records, phase_),
        "PodScheduled": ("True", "", ""),
    }
    before: dict[str, Obj] = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    others = [one for kind, one in before.items() if kind not in TYPES]
    return [*(_condition(kind, words[kind], before.get(kind), now) for kind in TYPES), *others]


def _initialized(records: Sequence[Record], phase_: str) -> Word:
    if phase_ == "Succeeded":
        return "True", "PodCompleted", ""
    if is_initialized(records):
        return "True", "", ""
    names = " ".join(one.name for one in records if one.init and not (one.started if one.sidecar else one.succeeded))
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


def _readiness(records: Sequence[Record], phase_: str) -> Word:
    if phase_ in ("Succeeded", "Failed"):
        return "False", {"Succeeded": "PodCompleted", "Failed": "PodFailed"}[phase_], ""
    if is_ready(records) and phase_ == "Running":
        return "True", "", ""
    names = " ".join(one.name for one in records if not one.ready and (not one.init or one.sidecar))
    return "False", "ContainersNotReady", f"containers with unready status: [{names}]"


def _condition(kind: str, word: Word, before: Obj | None, now: str) -> Obj:
    value, reason, message = word
    same = before is not None and before["status"] == value
    moved_at: Any = before["lastTransitionTime"] if before is not None and same else now
    found: Obj = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": moved_at}
    return {**found, **({"reason": reason} if reason else {}), **({"message": message} if message else {})}
