"""Whether a cluster can be served at all, and what is only warned of."""

from collections.abc import Iterable
from itertools import chain

import msgspec

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Tell
from manta_cluster_reconciler.observed import Observed
from manta_cluster_reconciler.rules import Rules
from manta_common.keys import Key
from manta_common.kube.series import Notice
from manta_common.validation import autoscaling, beyond, cluster, groups, tls
from manta_common.validation.problem import Problem
from manta_common.validation.view import ClusterView, cluster_view


class Refusal(msgspec.Struct, frozen=True):
    """Why a cluster is not served: the event's reason, KubeRay's message, and how to mend it."""

    reason: str
    note: str
    fix: str

    @property
    def notice(self) -> Notice:
        """The event."""
        return reasons.warning(self.reason, "Validate", self.note)


def refusal(observed: Observed, rules: Rules) -> Refusal | None:
    """The first thing that is wrong with a cluster, in KubeRay's order."""
    found, view, name = observed.cluster, _view(observed, rules), observed.key
    by_spec = chain(
        cluster.spec_problems(view),
        tls.cert_manager_problems(view, installed=rules.ray.cert_manager),
        beyond.size_problems(view.spec, view.path),
    )
    return (
        _first(
            cluster.metadata_problems(found), reasons.INVALID_METADATA, f"The RayCluster metadata is invalid {name}: "
        )
        or _first(by_spec, reasons.INVALID_SPEC, f"The RayCluster spec is invalid {name}: ")
        or _first(
            cluster.upgrade_problems(found), reasons.INVALID_SPEC, f"The RayCluster UpgradeStrategy is invalid {name}: "
        )
        or _first(cluster.status_problems(found), reasons.INVALID_STATUS, f"The RayCluster status is invalid {name}, ")
    )


def warnings(observed: Observed, rules: Rules) -> list[Tell]:
    """What works but should not be; told when the cluster is first seen as it is."""
    if not observed.fetched.fresh:
        return []
    view = _view(observed, rules)
    found = chain(autoscaling.v1_warnings(view), groups.duplicate_problems(view))
    return [Tell(_spec_warning(observed.key, problem)) for problem in found]


def _spec_warning(name: Key, problem: Problem) -> Notice:
    return reasons.warning(reasons.INVALID_SPEC, "Validate", f"RayCluster spec warning {name}: {problem.message}")


def _first(problems: Iterable[Problem], reason: str, prefix: str) -> Refusal | None:
    problem = next(iter(problems), None)
    return Refusal(reason, prefix + problem.message, problem.fix) if problem else None


def _view(observed: Observed, rules: Rules) -> ClusterView:
    spec, metadata = observed.cluster.spec, observed.cluster.metadata
    return cluster_view(spec, annotations=metadata.annotations, gates=rules.ray.gates, path="spec")
