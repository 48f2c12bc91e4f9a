"""The cluster of a job: made when it is missing, deleted when an attempt is over, never anybody else's."""

from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Tell
from manta_job_reconciler.actions import Action, CreateCluster, DeleteCluster, DeleteSubmitter
from manta_job_reconciler.observed import Observed

READY = "ready"


def is_ready(cluster: RayCluster) -> bool:
    """Whether the cluster can take jobs."""
    return cluster.status.state == READY


def when_missing(observed: Observed) -> tuple[Action, ...]:
    """Make the cluster, or tell that the one that was selected is not there."""
    name = observed.status.ray_cluster_name
    if not observed.has_selector:
        return (CreateCluster(name),)
    place = f"{observed.job.metadata.namespace}/{name}"
    note = f"RayCluster {place} set in the clusterSelector is not found. It must be created manually"
    return (Tell("Warning", "RayClusterNotFound", "Validate", note),)


def has_own(observed: Observed) -> bool:
    """Whether the job has a cluster that was made for it."""
    cluster = observed.cluster
    return cluster is not None and observed.job.metadata.uid in {each.uid for each in cluster.metadata.owner_references}


def remains(observed: Observed) -> bool:
    """Whether anything of an attempt is still there."""
    return has_own(observed) or observed.submitter is not None


def removal(observed: Observed, because: str) -> tuple[Action, ...]:
    """Delete what an attempt leaves behind; what goes already is waited for."""
    found: list[Action] = []
    cluster, submitter = observed.cluster, observed.submitter
    if cluster and has_own(observed) and cluster.metadata.deletion_timestamp is None:
        found.append(DeleteCluster(cluster.metadata.name, cluster.metadata.uid, because))
    if submitter and submitter.metadata.deletion_timestamp is None:
        found.append(DeleteSubmitter(submitter.metadata.uid, because))
    return tuple(found)
