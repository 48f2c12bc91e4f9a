"""What a node makes of a pod's status, as kubelet would write it; pure."""

from typing import Any

from manta_embedded.store.objects import Obj

READY_TYPES = ("Ready", "ContainersReady")
TYPES = ("PodReadyToStartContainers", "Initialized", *READY_TYPES, "PodScheduled")


def unschedulable(pod: Obj, message: str, now: str) -> Obj:
    """No node takes it."""
    changed = _conditions(pod, {"PodScheduled": ("False", "Unschedulable")}, now)
    changed = [{**one, "message": message} if one["type"] == "PodScheduled" else one for one in changed]
    return {**pod, "status": {**pod["status"], "conditions": changed}}


def waiting(pod: Obj, reason: str, now: str) -> Obj:
    """On its node, but its containers cannot be started."""
    states = [_container(one, {"waiting": {"reason": reason}}) for one in pod["spec"]["containers"]]
    found = {"PodScheduled": ("True", ""), "Initialized": ("True", ""), "Ready": ("False", "ContainersNotReady")}
    status = {**pod["status"], "startTime": now, "containerStatuses": states}
    return {**pod, "status": {**status, "conditions": _conditions(pod, found, now)}}


def running(pod: Obj, addresses: tuple[str, str], now: str, *, ready: bool) -> Obj:
    """Its containers run; `addresses` are the host's and the pod's."""
    before = {one["name"]: one for one in pod["status"].get("containerStatuses") or ()}
    states = [
        _container(one, {"running": {"startedAt": now}}, before.get(one["name"]), ready=ready)
        for one in pod["spec"]["containers"]
    ]
    host, own = addresses
    inits = [_ended(one, 0, "Completed", now) for one in pod["spec"].get("initContainers") or ()]
    return {
        **pod,
        "status": {
            **pod["status"],
            "phase": "Running",
            "startTime": pod["status"].get("startTime", now),
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": own,
            "podIPs": [{"ip": own}],
            "containerStatuses": states,
            **({"initContainerStatuses": inits} if inits else {}),
            "conditions": _readiness(pod, now, ready=ready),
        },
    }


def readiness(pod: Obj, now: str, *, ready: bool) -> Obj:
    """It passes its probes, or does so no more."""
    states = [{**one, "ready": ready and not _is_over(one)} for one in pod["status"].get("containerStatuses") or ()]
    conditions = _readiness(pod, now, ready=ready)
    return {**pod, "status": {**pod["status"], "containerStatuses": states, "conditions": conditions}}


def restarted(pod: Obj, exit_code: int, reason: str, now: str) -> Obj:
    """Its containers ended and were started again."""
    states = [
        {
            **one,
            "ready": False,
            "restartCount": one["restartCount"] + 1,
            "lastState": {"terminated": _termination(exit_code, reason, now)},
            "state": {"running": {"startedAt": now}},
        }
        for one in pod["status"].get("containerStatuses") or ()
    ]
    status = {**pod["status"], "containerStatuses": states, "conditions": _readiness(pod, now, ready=False)}
    return {**pod, "status": status}


def ended(pod: Obj, exit_code: int, reason: str, now: str) -> Obj:
    """Its containers ended for good."""
    word = "PodCompleted" if exit_code == 0 else "PodFailed"
    found = dict.fromkeys(READY_TYPES, ("False", word)) | {"Initialized": ("True", "" if exit_code else word)}
    return {
        **pod,
        "status": {
            **pod["status"],
            "phase": "Succeeded" if exit_code == 0 else "Failed",
            "containerStatuses": [_ended(one, exit_code, reason, now) for one in pod["spec"]["containers"]],
            "conditions": _conditions(pod, found, now),
        },
    }


def partly_ended(pod: Obj, name: str, exit_code: int, now: str) -> Obj:
    """One of its containers ended for good; the pod runs on with the others, and is not ready any more."""
    [container] = [one for one in pod["spec"]["containers"] if one["name"] == name]
    over = _ended(container, exit_code, "Error" if exit_code else "Completed", now)
    states = [over if one["name"] == name else one for one in pod["status"]["containerStatuses"]]
    conditions = _readiness(pod, now, ready=False)
    return {**pod, "status": {**pod["status"], "containerStatuses": states, "conditions": conditions}}


def evicted(pod: Obj, reason: str, message: str, now: str) -> Obj:
    """The node threw it out."""
    gone = ended(pod, 137, reason, now)
    return {**gone, "status": {**gone["status"], "reason": reason, "message": message}}


def is_ready(pod: Obj) -> bool:
    """Whether its condition Ready is True."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def is_whole(pod: Obj) -> bool:
    """Whether none of its containers has ended for good."""
    return not any(map(_is_over, pod["status"].get("containerStatuses") or ()))


def answers(pod: Obj) -> bool:
    """Whether its first container passes its probes, whatever became of the others."""
    states = pod.get("status", {}).get("containerStatuses") or ()
    return any(one["name"] == pod["spec"]["containers"][0]["name"] and one["ready"] for one in states)


def owner_kind(pod: Obj) -> str:
    """The kind of the object that controls it."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(owner["kind"]) for owner in owners if owner.get("controller")), "")


def _readiness(pod: Obj, now: str, *, ready: bool) -> list[Obj]:
    word = ("True", "") if ready else ("False", "ContainersNotReady")
    found = dict.fromkeys(READY_TYPES, word)
    found |= {kind: ("True", "") for kind in TYPES if kind not in READY_TYPES}
    return _conditions(pod, found, now)


def _conditions(pod: Obj, wanted: dict[str, tuple[str, str]], now: str) -> list[Obj]:
    """The conditions with some of them changed; their times move only when their status does."""
    before: dict[str, Obj] = {one["type"]: one for one in pod["status"].get("conditions") or ()}
    found = dict(before)
    for kind, (status, reason) in wanted.items():
        same = kind in before and before[kind]["status"] == status
        moved_at = before[kind]["lastTransitionTime"] if same else now
        made = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": moved_at}
        found[kind] = {**made, "reason": reason} if reason else made
    return [found[kind] for kind in TYPES if kind in found]


def _container(container: Obj, state: Obj, before: Obj | None = None, *, ready: bool = False) -> Obj:
    name = container["name"]
    is_running = "running" in state
    return {
        "name": name,
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": is_running,
        "restartCount": before["restartCount"] if before else 0,
        "lastState": {},
        "state": state,
        **({"containerID": f"containerd://{name}"} if is_running else {}),
    }


def _is_over(status: Obj) -> bool:
    return "terminated" in status["state"]


def _ended(container: Obj, exit_code: int, reason: str, now: str) -> Obj:
    return {**_container(container, {"terminated": _termination(exit_code, reason, now)}), "started": False}


def _termination(exit_code: int, reason: str, now: str) -> dict[str, Any]:
    return {"exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now}
