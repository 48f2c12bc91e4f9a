"""What a Job and its pods say, as the Job controller reads it."""

from datetime import datetime, timedelta
from typing import Any, Final

from manta_embedded.store.objects import Obj, at_path, is_terminating, metadata

CONTROLLER: Final = "kubernetes.io/job-controller"
TRACKING: Final = "batch.kubernetes.io/job-tracking"
BACKOFF_SECONDS, MOST_BACKOFF_SECONDS = 10, 600
_STAGES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase(pod: Obj) -> str:
    """The phase of a pod."""
    found: str = at_path(pod, "status.phase") or "Pending"
    return found


def is_active(pod: Obj) -> bool:
    """Whether a pod has not ended and is not told to."""
    return phase(pod) not in ("Succeeded", "Failed") and not is_terminating(pod)


def is_ending(pod: Obj) -> bool:
    """Whether a pod is told to end and has not."""
    return phase(pod) not in ("Succeeded", "Failed") and is_terminating(pod)


def is_tracked(pod: Obj) -> bool:
    """Whether the Job has yet to count a pod."""
    return TRACKING in metadata(pod).get("finalizers", ())


def is_ready(pod: Obj) -> bool:
    """Whether a pod is ready."""
    conditions = at_path(pod, "status.conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def has_failed(pod: Obj, job: Obj) -> bool:
    """Whether a pod counts as failed; one that is being deleted does, unless the Job waits for the real end."""
    if phase(pod) == "Failed":
        return True
    return is_ending(pod) and not waits_for_the_end(job)


def waits_for_the_end(job: Obj) -> bool:
    """Whether a pod is replaced only once it has failed for good."""
    return job["spec"].get("podReplacementPolicy") == "Failed" or "podFailurePolicy" in job["spec"]


def is_suspended(job: Obj) -> bool:
    """Whether a Job is to have no pods for now."""
    return bool(job["spec"].get("suspend"))


def is_external(job: Obj) -> bool:
    """Whether a Job is left to some other controller."""
    return bool(job["spec"].get("managedBy", CONTROLLER) != CONTROLLER)


def condition(job: Obj, *types: str) -> Obj | None:
    """The first condition of these types that is true."""
    found = (job.get("status") or {}).get("conditions", ())
    return next((one for one in found if one["type"] in types and one["status"] == "True"), None)


def is_finished(job: Obj) -> bool:
    """Whether a Job has ended, well or not."""
    return condition(job, "Complete", "Failed") is not None


def restarts(pods: list[Obj]) -> int:
    """How often containers of pods that have not ended were started again."""
    kinds = ("initContainerStatuses", "containerStatuses")
    living = [pod for pod in pods if phase(pod) in ("Pending", "Running")]
    statuses = (one for pod in living for kind in kinds for one in at_path(pod, f"status.{kind}") or ())
    return sum(status.get("restartCount", 0) for status in statuses)


def has_used_up_restarts(job: Obj, pods: list[Obj]) -> bool:
    """Whether restarts within pods have reached the Job's limit; only pods that restart on failure are looked at."""
    if at_path(job, "spec.template.spec.restartPolicy") != "OnFailure":
        return False
    limit = job["spec"]["backoffLimit"]
    return restarts(pods) > 0 if limit == 0 else restarts(pods) >= limit


def removal_order(pod: Obj) -> tuple[Any, ...]:
    """Pods that are least far come first."""
    return (bool(at_path(pod, "spec.nodeName")), _STAGES.get(phase(pod), 1), is_ready(pod))


def finished_at(pod: Obj) -> datetime:
    """When a pod ended: by its containers, else by its conditions, its deletion or, at last, its creation."""
    statuses = at_path(pod, "status.containerStatuses") or ()
    ends = [at_path(status, "state.terminated.finishedAt") for status in statuses]
    if ends and all(ends):
        return max(moment(end) for end in ends)
    conditions = at_path(pod, "status.conditions") or ()
    for one in conditions:
        if one["type"] == "Ready" and one["status"] == "False" and one.get("lastTransitionTime"):
            return moment(one["lastTransitionTime"])
    meta = metadata(pod)
    if "deletionTimestamp" in meta:
        grace = meta.get("deletionGracePeriodSeconds", 0)
        return moment(meta["deletionTimestamp"]) - timedelta(seconds=grace)
    return moment(meta["creationTimestamp"])


def moment(text: str) -> datetime:
    """A time that an object has."""
    return datetime.fromisoformat(text)


def backoff(failures: int) -> timedelta:
    """How long after a failure the next pod is created."""
    seconds = BACKOFF_SECONDS * 2 ** min(failures - 1, 10) if failures else 0
    return timedelta(seconds=min(seconds, MOST_BACKOFF_SECONDS))
