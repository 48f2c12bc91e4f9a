"""The order of policies: what is to be done about a cluster, phase by phase. Pure."""

from datetime import datetime

from manta_cluster_reconciler.actions import Phase
from manta_cluster_reconciler.observed import Observed
from manta_cluster_reconciler.policies import certificates, children, finalizer, network, pods, refusals
from manta_cluster_reconciler.rules import Rules


def decide(observed: Observed, rules: Rules, now: datetime) -> list[Phase]:
    """All that is to be done for a cluster that passed the gates, in phases of which each waits for the one before."""
    first = finalizer.actions(observed, rules)
    if first:
        return [first]  # it must be there before any child is
    found = [
        refusals.warnings(observed, rules),
        *children.phases(observed, rules),
        *certificates.phases(observed, rules, now),
        network.actions(observed, rules),
        *pods.phases(observed, rules, now),
    ]
    return [phase for phase in found if phase]


def is_left_alone(observed: Observed) -> bool:
    """Whether the cluster is somebody else's: another controller's, or the janitor's once it is being deleted."""
    return observed.foreign or observed.deleting
