"""What a batch scheduler has to do with a job: its PodGroup, and the modes that a scheduler does not take."""

from typing import Final

from manta_job_reconciler import reasons
from manta_job_reconciler.actions import Action, FitGang
from manta_job_reconciler.observed import JobSettings, Observed

_KAI: Final = (
    "KAI-Scheduler does not support RayJob with K8sJobMode: set spec.submissionMode to HTTPMode or SidecarMode."
)
_PLUGINS: Final = (
    "The batch scheduler scheduler-plugins takes RayClusters only: create one and name it in spec.clusterSelector."
)


def refusal(observed: Observed, settings: JobSettings) -> str:
    """Why the batch scheduler cannot take the job; empty when it can."""
    if settings.gates.workload_scheduling or observed.has_selector:
        return ""
    match settings.ray.batch_scheduler:
        case "kai-scheduler" if observed.spec.submission_mode == reasons.K8S_JOB_MODE:
            return _KAI
        case "scheduler-plugins":
            return _PLUGINS
        case _:
            return ""


def beginning(observed: Observed, settings: JobSettings) -> tuple[Action, ...]:
    """What must be there before the cluster is made."""
    return (FitGang(),) if _has_pod_group(observed, settings) else ()


def ending(observed: Observed, settings: JobSettings) -> tuple[Action, ...]:
    """What no longer needs to wait for the whole gang when an attempt is over."""
    named = observed.status.ray_cluster_name
    return (FitGang(ending=True),) if named and _has_pod_group(observed, settings) else ()


def _has_pod_group(observed: Observed, settings: JobSettings) -> bool:
    is_volcano = settings.ray.batch_scheduler == "volcano" and not settings.gates.workload_scheduling
    return is_volcano and not observed.has_selector and observed.spec.ray_cluster_spec is not None
