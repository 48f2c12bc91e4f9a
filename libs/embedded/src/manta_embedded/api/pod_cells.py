"""The cells of a pod, worked out from its containers as the API server does."""

from datetime import datetime
from typing import Any

from manta_embedded.api.ages import age
from manta_embedded.store.objects import EMPTY, Obj, at_path


def ready(pod: Obj) -> str:
    """How many of its containers are ready."""
    spec = pod["spec"]
    total = len(spec.get("containers") or ()) + sum(_is_sidecar(one) for one in spec.get("initContainers") or ())
    return f"{_ready_count(pod)}/{total}"


def status(pod: Obj) -> str:
    """What is to be known of it in one word."""
    state = pod.get("status") or EMPTY
    reason = state.get("reason") or state.get("phase", "")
    if any(one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in _conditions(pod)):
        reason = "SchedulingGated"
    initial = _init_reason(pod)
    reason = _main_reason(pod, reason) if not initial or _is_true(pod, "Initialized") else initial
    if "deletionTimestamp" not in pod["metadata"]:
        return reason
    if state.get("reason") == "NodeLost":
        return "Unknown"
    return reason if state.get("phase") in ("Succeeded", "Failed") else "Terminating"


def restarts(pod: Obj, now: datetime) -> str:
    """How often its containers were started again, and when last."""
    statuses = _statuses(pod, "containerStatuses")
    initial = _statuses(pod, "initContainerStatuses")
    if _init_reason(pod) and not _is_true(pod, "Initialized"):
        statuses = initial
    else:
        sidecars = {one["name"] for one in pod["spec"].get("initContainers") or () if _is_sidecar(one)}
        statuses = [*(one for one in initial if one.get("name") in sidecars), *statuses]
    count = sum(one.get("restartCount", 0) for one in statuses)
    ends = [found for one in statuses if (found := at_path(one, "lastState.terminated.finishedAt"))]
    return f"{count} ({age(max(ends), now)} ago)" if count and ends else str(count)


def gates(pod: Obj) -> str:
    """How many of its readiness gates are open."""
    wanted = [one.get("conditionType") for one in pod["spec"].get("readinessGates") or ()]
    return f"{sum(_is_true(pod, one) for one in wanted)}/{len(wanted)}" if wanted else "<none>"


def _init_reason(pod: Obj) -> str:
    """Why its initialisation has not ended; empty when it has."""
    known = {one["name"]: one for one in pod["spec"].get("initContainers") or ()}
    for number, one in enumerate(_statuses(pod, "initContainerStatuses")):
        state = one.get("state") or EMPTY
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if _is_sidecar(known.get(one.get("name", ""), EMPTY)) and one.get("started"):
            continue
        if ended is not None:
            return f"Init:{_ending(ended)}"
        if waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{number}/{len(known)}"
    return ""


def _main_reason(pod: Obj, reason: str) -> str:
    is_running = False
    for one in reversed(_statuses(pod, "containerStatuses")):
        state = one.get("state") or EMPTY
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ending(ended)
        elif one.get("ready") and state.get("running") is not None:
            is_running = True
    if reason == "Completed" and is_running:
        return "Running" if _is_true(pod, "Ready") else "NotReady"
    return reason


def _ready_count(pod: Obj) -> int:
    sidecars = {one["name"] for one in pod["spec"].get("initContainers") or () if _is_sidecar(one)}
    initial = _statuses(pod, "initContainerStatuses")
    count = sum(bool(one.get("ready") and one.get("started")) for one in initial if one.get("name") in sidecars)
    if _init_reason(pod) and not _is_true(pod, "Initialized"):
        return count
    main = _statuses(pod, "containerStatuses")
    return count + sum(bool(one.get("ready") and at_path(one, "state.running") is not None) for one in main)


def _ending(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _is_sidecar(container: Obj) -> bool:
    return container.get("restartPolicy") == "Always"


def _is_true(pod: Obj, condition: Any) -> bool:
    return any(one.get("type") == condition and one.get("status") == "True" for one in _conditions(pod))


def _conditions(pod: Obj) -> list[Obj]:
    return at_path(pod, "status.conditions") or []


def _statuses(pod: Obj, field: str) -> list[Obj]:
    return at_path(pod, f"status.{field}") or []
