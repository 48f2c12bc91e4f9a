"""Reasons and messages of events and conditions: KubeRay's to the letter, then ours."""

from typing import Final, Literal

from manta_cluster_reconciler.actions import Told
from manta_cluster_reconciler.observed import ray_container_ended
from manta_common.api.core import Pod, StateOfContainer
from manta_common.keys import Key
from manta_common.kube.series import Notice

CONTROLLER: Final = "raycluster-controller"

FAILED_DELETE_ALL: Final = "FailedDeleteAllPods"
FAILED_DELETE_HEAD: Final = "FailedDeleteHeadPod"
FAILED_CREATE_HEAD: Final = "FailedCreateHeadPod"
FAILED_DELETE_WORKER: Final = "FailedDeleteWorkerPod"
FAILED_CREATE_WORKER: Final = "FailedCreateWorkerPod"

INVALID_METADATA: Final = "InvalidRayClusterMetadata"
INVALID_SPEC: Final = "InvalidRayClusterSpec"
INVALID_STATUS: Final = "InvalidRayClusterStatus"

HEAD_READY: Final = "HeadPodReady"
PROVISIONED: Final = "RayClusterProvisioned"
SUSPENDING: Final = "RayClusterSuspending"
SUSPENDED: Final = "RayClusterSuspended"
REPLICA_FAILURE: Final = "ReplicaFailure"
# Ours: shown only while there is something to tell, since every further condition would be a difference.
VALID: Final = "Valid"
PODS_FAILING: Final = "PodsFailing"


def normal(reason: str, action: str, note: str) -> Notice:
    """Something was done."""
    return Notice(controller=CONTROLLER, type="Normal", reason=reason, action=action, note=note)


def warning(reason: str, action: str, note: str) -> Notice:
    """Something is wrong."""
    return Notice(controller=CONTROLLER, type="Warning", reason=reason, action=action, note=note)


def creating(what: str, spoken: str, key: Key, *, trying: Literal["creating", "to create"] = "creating") -> Told:
    """What is told of a child: `Created<what>`, or `FailedToCreate<what>` with the error."""
    return Told(
        done=normal(f"Created{what}", "Create", f"Created {spoken} {key}"),
        failed=warning(f"FailedToCreate{what}", "Create", f"Failed {trying} {spoken} {key}"),
    )


def updating(what: str, spoken: str, key: Key) -> Told:
    """What is told of a child that is changed."""
    return Told(
        done=normal(f"Updated{what}", "Update", f"Updated {spoken} {key}"),
        failed=warning(f"FailedToUpdate{what}", "Update", f"Failed updating {spoken} {key}"),
    )


def creating_worker(cluster: Key, pod: Key) -> Told:
    """What is told of a new worker pod."""
    return Told(
        done=normal("CreatedWorkerPod", "Create", f"Created worker Pod {pod}"),
        failed=warning("FailedToCreateWorkerPod", "Create", f"Failed to create worker Pod for the cluster {cluster}"),
    )


def deleting_failed(pod: Pod, node: Literal["head", "worker"]) -> Told:
    """What is told of a pod that is deleted because it failed."""
    what = node.capitalize()
    key = Key(pod.metadata.namespace, pod.metadata.name)
    told = (
        f"{node} Pod {key}; Pod status: {pod.status.phase}; Pod restart policy: {pod.spec.restart_policy}; "
        f"Ray container terminated status: {_ended(ray_container_ended(pod))}"
    )
    return Told(
        done=normal(f"Deleted{what}Pod", "Delete", f"Deleted {told}"),
        failed=warning(f"FailedToDelete{what}Pod", "Delete", f"Failed deleting {told}"),
    )


def why_failed(pod: Pod) -> str:
    """Why a failed pod is deleted together with the other hosts of its worker."""
    ended = ray_container_ended(pod)
    how = (
        f"its Ray container has ended ({_ended(ended)})" if pod.status.phase == "Running" else f"is {pod.status.phase}"
    )
    return f"Pod {pod.metadata.name} {how} and will not be restarted"


def deleting_worker(spoken: str, *, because: str = "") -> Told:
    """What is told of a worker pod that is not wanted any more."""
    return Told(
        done=normal("DeletedWorkerPod", "Delete", f"Deleted {spoken}{because}"),
        failed=warning("FailedToDeleteWorkerPod", "Delete", f"Failed deleting {spoken}{because}"),
    )


def deleting_group(cluster: Key, group: str) -> Told:
    """What is told of the pods of a suspended group."""
    return Told(
        done=normal(
            "DeletedWorkerPod", "Delete", f"Deleted all pods for suspended worker group {group} in RayCluster {cluster}"
        ),
        failed=warning(
            "FailedToDeleteWorkerPodCollection",
            "Delete",
            f"Failed deleting worker Pods for suspended group {group} in RayCluster {cluster}",
        ),
    )


def deleting_all(cluster: Key, *, every: str, cause: str) -> Told:
    """What is told when all pods of a cluster go: `every` is what they are called, `cause` why."""
    return Told(
        done=normal("DeletedPod", "Delete", f"Deleted {every} for RayCluster {cluster} due to {cause}"),
        failed=warning(
            "FailedToDeletePodCollection", "Delete", f"Failed deleting Pods due to {cause} for RayCluster {cluster}"
        ),
    )


def _ended(state: StateOfContainer | None) -> str:
    """As Go prints such a state."""
    if state is None:
        return "nil"
    return f"&ContainerStateTerminated{{ExitCode:{state.exit_code},Reason:{state.reason},Message:{state.message},}}"
