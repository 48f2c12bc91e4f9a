"""Why a job does not get on, in the words of what holds it up, and what it waits for in each state."""

from collections.abc import Iterable, Iterator
from typing import Final

from manta_common.api.core import ContainerStatus, Pod
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJobStatus
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import clusters, gangs
from manta_job_reconciler.step import find

CHARACTERS: Final = 1000
# Conditions of a cluster that tell of trouble, the most telling first, and the status that does.
_TELLING: Final = (("Valid", "False"), ("PodsFailing", "True"), ("ReplicaFailure", "True"))
# What a kubelet says of a container that will start in a moment.
_PATIENT: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


def trouble(observed: Observed) -> str:
    """What keeps the cluster or the submitter from running; empty when nothing is known to be wrong."""
    found = (*_of_cluster(observed.cluster), *_of_pods((*observed.pods, *observed.submitter_pods)))
    return next(iter(found), "")[:CHARACTERS]


def told(observed: Observed, message: str) -> str:
    """A message of a failure together with its cause, if one is known and Ray did not have the job yet."""
    cause = "" if observed.status.job_status else trouble(observed) or _refusal(observed)
    return f"{message}. Cause: {cause}" if cause else message


def _refusal(observed: Observed) -> str:
    """What the API server said, if something that the job needs could not be made."""
    found = find(observed.status, reasons.CONDITION_INITIALIZED)
    return found.message if found and found.message.startswith(reasons.REFUSED) else ""


def awaited(observed: Observed, status: RayJobStatus, settings: JobSettings) -> str:
    """What a job with this status waits for; empty where it waits for nothing but Ray."""
    match status.job_deployment_status:
        case reasons.INITIALIZING:
            return _cluster(observed, status, settings)
        case reasons.WAITING:
            name = status.ray_cluster_name
            return f"Submit a job to RayCluster {name} and write its id into spec.jobId."
        case reasons.RUNNING:
            return _ray_job(observed, status)
        case reasons.SUSPENDING | reasons.RETRYING:
            return f"Waits until RayCluster {status.ray_cluster_name} and the submitter of this attempt are gone."
        case reasons.SUSPENDED:
            return "Set spec.suspend to false to resume."
        case _:
            return ""


def _cluster(observed: Observed, status: RayJobStatus, settings: JobSettings) -> str:
    name, cluster = status.ray_cluster_name, observed.cluster
    refused = gangs.refusal(observed, settings)
    if refused:
        return refused
    if cluster and clusters.is_ready(cluster):
        return f"Waits for the head Service of RayCluster {name} with a port called dashboard."
    cause = trouble(observed) or (_suspension(cluster) if cluster else _absence(observed))
    return _because(f"Waits until RayCluster {name} is ready", cause)


def _suspension(cluster: RayCluster) -> str:
    return "it is suspended by its spec.suspend" if cluster.spec.suspend else ""


def _absence(observed: Observed) -> str:
    """A cluster that was looked for; a new job has not looked yet."""
    has_looked = observed.has_selector and bool(observed.status.ray_cluster_name)
    return "it is named by spec.clusterSelector and does not exist; create it" if has_looked else ""


def _ray_job(observed: Observed, status: RayJobStatus) -> str:
    report = observed.report
    if report and report.trouble and report.trouble.kind != "not_found":
        return _because("Waits for an answer of the dashboard", report.trouble.message)
    if observed.has_submitter:
        return _because("Waits for the submitter", trouble(observed))
    if observed.spec.submission_mode == reasons.HTTP_MODE:
        return _fault(status)
    if report is None or report.trouble is None:
        return ""
    return f"Ray does not know job {status.job_id}: submit it to RayCluster {status.ray_cluster_name} under this id."


def _fault(status: RayJobStatus) -> str:
    """What was said when Ray could not be given the job."""
    found = find(status, reasons.CONDITION_SUBMITTED)
    return found.message if found and found.status == "False" else ""


def _because(what: str, cause: str) -> str:
    return f"{what}: {cause}"[:CHARACTERS] if cause else f"{what}."


def _of_cluster(cluster: RayCluster | None) -> Iterator[str]:
    conditions = {condition.type: condition for condition in cluster.status.conditions} if cluster else {}
    for type_, status in _TELLING:
        condition = conditions.get(type_)
        if condition and condition.status == status:
            yield f"{condition.reason}: {condition.message}"


def _of_pods(pods: Iterable[Pod]) -> Iterator[str]:
    for pod in pods:
        if pod.metadata.deletion_timestamp is None:
            yield from (f"Pod {pod.metadata.name}: {story}" for story in _of_pod(pod))


def _of_pod(pod: Pod) -> Iterator[str]:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            yield f"{condition.reason}: {condition.message}"
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        yield from _of_container(container)


def _of_container(container: ContainerStatus) -> Iterator[str]:
    waiting, ended = container.state.waiting, container.state.terminated or container.last_state.terminated
    if waiting and waiting.reason not in _PATIENT:
        yield f"container {container.name} waits: {waiting.reason}: {waiting.message}"
    if ended and ended.exit_code:
        words = (f"exit code {ended.exit_code}", ended.reason, ended.message)
        yield f"container {container.name} ended with {', '.join(word for word in words if word)}"
