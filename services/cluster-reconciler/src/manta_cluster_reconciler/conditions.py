"""The conditions of a cluster: KubeRay's, in KubeRay's order, and ours while there is something to tell. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.observed import Observed, is_running, ready_status
from manta_cluster_reconciler.rules import Rules
from manta_cluster_reconciler.troubles import trouble
from manta_common.api.core import Pod
from manta_common.api.meta import Condition

Status = Literal["True", "False", "Unknown"]


class Failure(msgspec.Struct, frozen=True):
    """Why a pass could not do all that it had decided; with a marker where the users are to see it in the status."""

    message: str
    marker: str = ""


class Conditions:
    """A list of conditions that is being brought up to date; a type that is there keeps its place."""

    def __init__(self, known: Sequence[Condition], now: datetime) -> None:
        self._known, self._now = {condition.type: condition for condition in known}, now

    def put(self, type_: str, status: Status, reason: str, message: str = "", *, generation: int = 0) -> None:
        """Say what holds now; the time of transition moves only when the status does."""
        before = self._known.get(type_)
        since = before.last_transition_time if before and before.status == status else self._now
        self._known[type_] = Condition(
            type=type_,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=since,
            observed_generation=generation,
        )

    def drop(self, type_: str) -> None:
        """There is nothing to tell of this type any more."""
        self._known.pop(type_, None)

    def is_true(self, type_: str) -> bool:
        """Whether a condition holds."""
        found = self._known.get(type_)
        return found is not None and found.status == "True"

    @property
    def all(self) -> tuple[Condition, ...]:
        """All of them, in order."""
        return tuple(self._known.values())


def conditions(observed: Observed, rules: Rules, failure: Failure | None, now: datetime) -> tuple[Condition, ...]:
    """The conditions after a pass over a cluster that can be served."""
    known = Conditions(observed.cluster.status.conditions, now)
    known.drop(reasons.VALID)
    if not rules.ray.gates.status_conditions:
        return known.all
    suspension = _suspension(observed)
    _put_failure(known, failure)
    known.put(reasons.HEAD_READY, *head_ready(observed.heads))
    _put_provisioned(known, observed, suspension)
    _put_suspension(known, observed, suspension)
    _put_trouble(known, observed, now)
    return known.all


def refused(observed: Observed, reason: str, message: str, now: datetime) -> tuple[Condition, ...]:
    """The conditions of a cluster that cannot be served as it is."""
    known = Conditions(observed.cluster.status.conditions, now)
    known.put(reasons.VALID, "False", reason, message, generation=observed.cluster.metadata.generation)
    return known.all


def accepted(observed: Observed, now: datetime) -> tuple[Condition, ...]:
    """The conditions of a cluster that can be served again, of which nothing else can be told yet."""
    known = Conditions(observed.cluster.status.conditions, now)
    known.drop(reasons.VALID)
    return known.all


def all_running(pods: Sequence[Pod]) -> bool:
    """Whether there are pods, all run, and none says that it is not ready."""
    return bool(pods) and all(is_running(pod) and ready_status(pod) in {None, "True"} for pod in pods)


def head_ready(heads: Sequence[Pod]) -> tuple[Status, str, str]:
    """Status, reason and message of HeadPodReady."""
    if not heads:
        return "False", "HeadPodNotFound", "Head Pod not found"
    pod = heads[0]
    ready = next((condition for condition in pod.status.conditions if condition.type == "Ready"), None)
    if ready is None:
        return "False", "Unknown", ""
    status: Status = "True" if ready.status == "True" else "Unknown" if ready.status == "Unknown" else "False"
    if ready.reason == "ContainersNotReady":
        return status, *_unready_container(pod, ready.message)
    return status, ready.reason or ("HeadPodRunningAndReady" if status == "True" else "Unknown"), ready.message


def _unready_container(pod: Pod, message: str) -> tuple[str, str]:
    """Reason and message of the first container that waits or has ended."""
    for container in pod.status.container_statuses:
        state = container.state.waiting or container.state.terminated
        if state:
            before = f"{message}; " if message else ""
            return state.reason or "ContainersNotReady", f"{before}{container.name}: {state.message}"
    return "ContainersNotReady", message


def _suspension(observed: Observed) -> str:
    """Which of the two conditions of suspension is stored as True."""
    both = (reasons.SUSPENDING, reasons.SUSPENDED)
    found = (known.type for known in observed.cluster.status.conditions if known.status == "True")
    return next((type_ for type_ in found if type_ in both), "")


def _put_failure(known: Conditions, failure: Failure | None) -> None:
    if failure is None:
        known.drop(reasons.REPLICA_FAILURE)
    elif failure.marker:
        known.put(reasons.REPLICA_FAILURE, "True", failure.marker, f"{failure.marker}\n{failure.message}")


def _put_provisioned(known: Conditions, observed: Observed, suspension: str) -> None:
    if known.is_true(reasons.PROVISIONED) or suspension == reasons.SUSPENDED:
        return
    if all_running(observed.pods):
        reason, message = "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time"
        known.put(reasons.PROVISIONED, "True", reason, message)
    else:
        message = "RayCluster Pods are being provisioned for first time"
        known.put(reasons.PROVISIONED, "False", "RayClusterPodsProvisioning", message)


def _put_suspension(known: Conditions, observed: Observed, suspension: str) -> None:
    """One step of the way into suspension and out of it; once begun it is not broken off."""
    wanted = observed.cluster.spec.suspend
    if suspension == reasons.SUSPENDING:
        if not observed.pods:
            known.put(reasons.PROVISIONED, "False", "RayClusterPodsProvisioning", "RayCluster has been suspended")
            known.put(reasons.SUSPENDING, "False", reasons.SUSPENDING)
            known.put(reasons.SUSPENDED, "True", reasons.SUSPENDED)
    elif suspension == reasons.SUSPENDED:
        if wanted is False:
            known.put(reasons.SUSPENDED, "False", reasons.SUSPENDED)
    else:
        known.put(reasons.SUSPENDED, "False", reasons.SUSPENDED)
        known.put(reasons.SUSPENDING, "True" if wanted else "False", reasons.SUSPENDING)


def _put_trouble(known: Conditions, observed: Observed, now: datetime) -> None:
    found = trouble(observed, now)
    if found is None:
        known.drop(reasons.PODS_FAILING)
    else:
        known.put(reasons.PODS_FAILING, "True", found.reason, found.message)
