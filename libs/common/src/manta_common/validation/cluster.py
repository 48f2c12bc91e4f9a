"""All rules for a RayCluster, in KubeRay's order; the spec's rules serve the other kinds too."""

from collections.abc import Iterator
from typing import Final

from manta_common.api import labels
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.validation import auth, autoscaling, fault_tolerance, groups, history, metadata, network, tls
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.view import ClusterView, cluster_view

UPGRADE_TYPE: Final = Rule(
    "The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value {value} is invalid, "
    "valid options are Recreate or None",
    "Set upgradeStrategy.type to Recreate or None, or leave it out.",
)
UPGRADE_OF_CHILD: Final = Rule(
    "upgradeStrategy cannot be set when RayCluster is created by {kind}",
    "Leave upgradeStrategy out of the {kind}'s cluster.",
)
SUSPENDED_TWICE: Final = Rule(
    "invalid RayCluster State: rayv1.RayClusterSuspending and rayv1.RayClusterSuspended conditions should not be "
    "both true",
    "Remove one of the two conditions from the status.",
)
_SUSPEND_CONDITIONS: Final = {"RayClusterSuspending", "RayClusterSuspended"}


def validate_cluster(cluster: RayCluster, gates: Gates, *, cert_manager: bool = True) -> list[Problem]:
    """Return what is wrong with a RayCluster; the first message is the one that KubeRay would report."""
    view = _view(cluster, gates)
    return [
        *metadata_problems(cluster),
        *spec_problems(view),
        *tls.cert_manager_problems(view, installed=cert_manager),
        *upgrade_problems(cluster),
        *status_problems(cluster),
    ]


def cluster_warnings(cluster: RayCluster, gates: Gates) -> list[Problem]:
    """Return what a RayCluster should not have but works with: KubeRay warns of it, or refuses it in a webhook only."""
    view = _view(cluster, gates)
    return [*autoscaling.v1_warnings(view), *groups.duplicate_problems(view)]


def metadata_problems(cluster: RayCluster) -> Iterator[Problem]:
    """Yield what is wrong with a RayCluster's name."""
    yield from metadata.name_problems("RayCluster", cluster.metadata.name)


def spec_problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's spec, wherever it stands."""
    for problems in (
        groups.head_problems,
        groups.worker_problems,
        fault_tolerance.problems,
        autoscaling.problems,
        history.problems,
        auth.problems,
        network.problems,
        tls.problems,
    ):
        yield from problems(view)


def upgrade_problems(cluster: RayCluster) -> Iterator[Problem]:
    """Yield what is wrong with a RayCluster's upgrade strategy."""
    chosen: str | None = cluster.spec.upgrade_strategy.type if cluster.spec.upgrade_strategy else None
    if chosen is None:
        return
    path = "spec.upgradeStrategy.type"
    if chosen not in {"Recreate", "None"}:
        yield UPGRADE_TYPE.at(path, value=chosen)
    kind = labels.origin(cluster.metadata.labels.get(labels.ORIGINATED_FROM_KIND))
    if kind != "RayCluster":
        yield UPGRADE_OF_CHILD.at(path, kind=kind)


def status_problems(cluster: RayCluster) -> Iterator[Problem]:
    """Yield what cannot be true at once in a RayCluster's status."""
    true = {condition.type for condition in cluster.status.conditions if condition.status == "True"}
    if true >= _SUSPEND_CONDITIONS:
        yield SUSPENDED_TWICE.at("status.conditions")


def _view(cluster: RayCluster, gates: Gates) -> ClusterView:
    return cluster_view(cluster.spec, annotations=cluster.metadata.annotations, gates=gates, path="spec")
