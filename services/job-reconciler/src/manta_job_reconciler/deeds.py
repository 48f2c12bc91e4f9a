"""The words of events about acts on a RayJob's children: what is said when it went well, and when it did not."""

from typing import Final

from manta_common.deeds import Words
from manta_common.kinds import JOB, RAYCLUSTER, SERVICE, Kind

CREATED: Final[dict[Kind, Words]] = {
    RAYCLUSTER: Words(
        "Create",
        "CreatedRayCluster",
        "Created RayCluster {place}",
        "FailedToCreateRayCluster",
        "Failed to create RayCluster {place}: {error}",
    ),
    JOB: Words(
        "Create",
        "CreatedRayJobSubmitter",
        "Created Kubernetes Job {place}",
        "FailedToCreateRayJobSubmitter",
        "Failed to create new Kubernetes Job {place}: {error}",
    ),
    SERVICE: Words(
        "Create",
        "CreatedService",
        "Created the service {place}",
        "FailedToCreateService",
        "Failed to create the service {place}, {error}",
    ),
}
DELETED: Final[dict[Kind, Words]] = {
    RAYCLUSTER: Words(
        "Delete",
        "DeletedRayCluster",
        "Deleted cluster {place}",
        "FailedToDeleteRayCluster",
        "Failed to delete cluster {place}: {error}",
    ),
    JOB: Words(
        "Delete",
        "DeletedRayJobSubmitter",
        "Deleted submitter K8s Job {place}",
        "FailedToDeleteRayJobSubmitter",
        "Failed to delete submitter K8s Job {place}: {error}",
    ),
}
MOVED: Final = Words(
    "Update",
    "UpdatedService",
    "Updated the service {place}",
    "FailedToUpdateService",
    "Failed to update the service {place}, {error}",
)
RELEASED: Final = Words(
    "Cleanup",
    "BatchSchedulerCleanedUp",
    "Cleaned up batch scheduler resources for RayJob {place}",
    "FailedToCleanupBatchScheduler",
    "Failed to cleanup batch scheduler resources for RayJob {place}: {error}",
)
