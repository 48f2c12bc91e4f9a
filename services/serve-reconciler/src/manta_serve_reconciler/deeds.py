"""The words of events about acts for a RayService: what is said when it went well, and when it did not."""

from typing import Final, Literal

from manta_common.deeds import Words
from manta_serve_reconciler.actions import Routing

CREATED_CLUSTER: Final = Words(
    "Create",
    "CreatedRayCluster",
    "Created the RayCluster {place}",
    "FailedToCreateRayCluster",
    "Failed to create the RayCluster {place}: {error}",
)
DELETED_CLUSTER: Final = Words(
    "Delete",
    "DeletedRayCluster",
    "Deleted the RayCluster {place}",
    "FailedToDeleteRayCluster",
    "Failed to delete the RayCluster {place}: {error}",
)
SUSPENDED_CLUSTER: Final = Words(
    "Delete",
    "DeletedRayCluster",
    "Deleted the RayCluster {place} during suspend",
    "FailedToDeleteRayCluster",
    "Failed to delete the RayCluster {place} during suspend: {error}",
)
CREATED_SERVICE: Final = Words(
    "Create",
    "CreatedService",
    "Created the service {place}",
    "FailedToCreateService",
    "Failed to create the service {place}, {error}",
)
MOVED_SERVICE: Final = Words(
    "Update",
    "UpdatedService",
    "Updated the service {place}",
    "FailedToUpdateService",
    "Failed to update the service {place}, {error}",
)
DELETED_SERVICE: Final = Words(
    "Delete",
    "DeletedService",
    "Deleted the Service {place} during suspend",
    "FailedToDeleteService",
    "Failed to delete the Service {place} during suspend: {error}",
)
SUBMITTED: Final = Words(
    "Update",
    "UpdatedServeApplications",
    "Updated serve applications to the RayCluster {place}",
    "FailedToUpdateServeApplications",
    "Failed to update serve applications to the RayCluster {place}: {error}",
)


CAPACITY: Final = Words(
    "Update",
    "UpdatedServeTargetCapacity",
    "Updated target_capacity of serve applications to to the RayCluster {place}",  # twice, as in KubeRay
    "FailedToUpdateTargetCapacity",
    "Failed to update target_capacity of serve applications to the RayCluster {place}: {error}",
)
CREATED_ROUTING: Final[dict[Routing, Words]] = {
    "gateway": Words(
        "Create",
        "CreatedGateway",
        "Created Gateway for RayService {place}",
        "FailedToCreateGateway",
        "Failed to create Gateway for RayService {place}: {error}",
    ),
    "httproute": Words(
        "Create",
        "CreatedHTTPRoute",
        "Created HTTPRoute for RayService {place}",
        "FailedToCreateHTTPRoute",
        "Failed to create the HTTPRoute for RayService {place}: {error}",
    ),
}
_KINDS: Final[dict[Routing, str]] = {"gateway": "Gateway", "httproute": "HTTPRoute"}


def updated_routing(which: Routing) -> Words:
    """The Gateway or the HTTPRoute was changed."""
    kind = _KINDS[which]
    return Words(
        "Update",
        f"Updated{kind}",
        f"Updated the {kind} {{place}}",
        f"FailedToUpdate{kind}",
        f"Failed to update the {kind} {{place}}: {{error}}",
    )


def deleted_routing(which: Routing) -> Words:
    """The Gateway or the HTTPRoute was deleted."""
    kind = _KINDS[which]
    return Words(
        "Delete",
        f"Deleted{kind}",
        f"Deleted the {kind} {{place}} during suspend",
        f"FailedToDelete{kind}",
        f"Failed to delete the {kind} {{place}} during suspend: {{error}}",
    )


def updated_cluster(role: Literal["active", "pending"]) -> Words:
    """A cluster was changed in place."""
    return Words(
        "Update",
        "UpdatedRayCluster",
        f"Updated the {role} RayCluster {{place}}",
        "FailedToUpdateRayCluster",
        f"Failed to update the {role} RayCluster {{place}}: {{error}}",
    )


def labelled_head(value: str) -> Words:
    """The serve label of a head was changed."""
    return Words(
        "Update",
        "UpdatedHeadPodServeLabel",
        f'Updated the serve label to "{value}" for the Head Pod {{place}}',
        "FailedToUpdateHeadPodServeLabel",
        f'Failed to update the serve label to "{value}" for the Head Pod {{place}}: {{error}}',
    )
