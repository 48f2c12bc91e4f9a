"""The Service under the job's own name, which leads to the head of whatever cluster the job has at the moment."""

from manta_common.api import labels
from manta_job_reconciler.actions import Action, CreateService, MoveService
from manta_job_reconciler.observed import Observed


def actions(observed: Observed) -> tuple[Action, ...]:
    """Make the Service or let it lead to the present cluster."""
    if observed.has_selector:
        return ()
    service = observed.own_service
    if service is None:
        return (CreateService(),)
    if service.spec.selector.get(labels.CLUSTER) != observed.status.ray_cluster_name:
        return (MoveService(service.metadata.resource_version),)
    return ()
