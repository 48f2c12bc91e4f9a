"""Rules for what a RayJob deletes when it has ended."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.rayjob import DeletionCondition, DeletionPolicy, DeletionRule, DeletionStrategy, RayJobSpec
from manta_common.validation.problem import Problem, Rule, joined

TTL_WITHOUT_SHUTDOWN: Final = Rule(
    "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false cannot have "
    "TTLSecondsAfterFinished",
    "Set shutdownAfterJobFinishes to true, or leave ttlSecondsAfterFinished out.",
)
GATE: Final = Rule(
    "RayJobDeletionPolicy feature gate must be enabled to use DeletionStrategy",
    "Start the operator with the feature gate RayJobDeletionPolicy=true, or leave deletionStrategy out.",
)
RULES_WITH_SHUTDOWN: Final = Rule(
    "The RayJob spec is invalid: spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually "
    "exclusive",
    "Leave shutdownAfterJobFinishes out and say in deletionRules when the cluster goes.",
)
RULES_WITH_LEGACY: Final = Rule(
    "The RayJob spec is invalid: Cannot use both legacy onSuccess/onFailure fields and deletionRules simultaneously",
    "Say it all in deletionRules, and remove onSuccess and onFailure.",
)
LEGACY_HALF: Final = Rule(
    "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using the legacy deletion policy "
    "fields of DeletionStrategy",
    "Set both onSuccess and onFailure, or use deletionRules.",
)
LEGACY_UNSET: Final = Rule(
    "the DeletionPolicyType field of DeletionStrategy.{field} cannot be unset when DeletionStrategy is enabled",
    "Set a policy in {field}, DeleteNone if nothing is to be deleted.",
)
LEGACY_SELECTOR: Final = Rule(
    "the ClusterSelector mode doesn't support DeletionStrategy={policy} on {outcome}",
    "Use DeleteSelf or DeleteNone: a cluster that was there before the job stays.",
)
LEGACY_AUTOSCALING: Final = Rule(
    "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling enabled",
    "Use DeleteCluster, or set enableInTreeAutoscaling to false.",
)
LEGACY_SHUTDOWN_NONE: Final = Rule(
    "The RayJob spec is invalid: shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'",
    "Set shutdownAfterJobFinishes to false, or use another policy than DeleteNone.",
)
STRATEGY_EMPTY: Final = Rule(
    "The RayJob spec is invalid: DeletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules "
    "field (cannot be empty)",
    "Add deletionRules, or leave deletionStrategy out.",
)
CONDITION_BOTH: Final = Rule(
    "deletionRules[{index}]: cannot set both JobStatus and JobDeploymentStatus at the same time",
    "Make two rules of rule {index}.",
)
CONDITION_NEITHER: Final = Rule(
    "deletionRules[{index}]: exactly one of JobStatus and JobDeploymentStatus must be set",
    "Set jobStatus or jobDeploymentStatus in the condition of rule {index}.",
)
TTL_NEGATIVE: Final = Rule(
    "deletionRules[{index}]: TTLSeconds must be non-negative", "Set ttlSeconds of rule {index} to 0 or more."
)
RULE_SELECTOR: Final = Rule(
    "deletionRules[{index}]: DeletionPolicyType '{policy}' not supported when ClusterSelector is set",
    "Use DeleteSelf or DeleteNone in rule {index}: a cluster that was there before the job stays.",
)
RULE_AUTOSCALING: Final = Rule(
    "deletionRules[{index}]: DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled",
    "Use DeleteCluster in rule {index}, or set enableInTreeAutoscaling to false.",
)
RULE_TWICE: Final = Rule(
    "deletionRules[{index}]: duplicate rule for DeletionPolicyType '{policy}' and {kind} '{value}'",
    "Remove rule {index}.",
)
TTL_ORDER: Final = Rule(
    "for {kind} '{value}': {policy} TTL ({ttl}) must be >= {before} TTL ({ttl_before})",
    "Raise ttlSeconds of {policy} to {ttl_before} or more: workers go first, then the cluster, then the job.",
)

_ORDER: Final = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
_Ttls = dict[tuple[str, str], dict[str, int]]


class DeletionView(msgspec.Struct, frozen=True):
    """What the deletion rules look at."""

    spec: RayJobSpec
    strategy: DeletionStrategy
    path: str

    @property
    def selecting(self) -> bool:
        """Whether the job runs on a cluster that was there before."""
        return bool(self.spec.cluster_selector)

    @property
    def autoscaling(self) -> bool:
        """Whether the job's own cluster is autoscaled."""
        cluster = self.spec.ray_cluster_spec
        return cluster is not None and cluster.enable_in_tree_autoscaling is True


def problems(spec: RayJobSpec, gates: Gates, path: str) -> Iterator[Problem]:
    """Yield what is wrong with a job's clean-up."""
    if spec.ttl_seconds_after_finished > 0 and not spec.shutdown_after_job_finishes:
        yield TTL_WITHOUT_SHUTDOWN.at(f"{path}.ttlSecondsAfterFinished")
    if spec.deletion_strategy is not None:
        if not gates.deletion_policy:
            yield GATE.at(f"{path}.deletionStrategy")
        yield from _strategy(DeletionView(spec, spec.deletion_strategy, f"{path}.deletionStrategy"))


def _strategy(view: DeletionView) -> Iterator[Problem]:
    strategy, rules = view.strategy, view.strategy.deletion_rules or ()
    legacy = strategy.on_success is not None or strategy.on_failure is not None
    if rules and view.spec.shutdown_after_job_finishes:
        yield RULES_WITH_SHUTDOWN.at(f"{view.path}.deletionRules")
    if rules and legacy:
        yield RULES_WITH_LEGACY.at(f"{view.path}.deletionRules")
    if legacy:
        yield from _legacy(view)
    elif rules:
        yield from joined(list(_rules(view, rules)), f"{view.path}.deletionRules", "\n")
    else:
        yield STRATEGY_EMPTY.at(view.path)


def _legacy(view: DeletionView) -> Iterator[Problem]:
    success, failure = view.strategy.on_success, view.strategy.on_failure
    if success is None or failure is None:
        yield LEGACY_HALF.at(view.path)
        return
    for field, policy in (("OnSuccess", success), ("OnFailure", failure)):
        if policy.policy is None:
            yield LEGACY_UNSET.at(f"{view.path}.{field[0].lower()}{field[1:]}.policy", field=field)
    yield from _legacy_selector(view, success, failure)
    chosen = {success.policy, failure.policy}
    if "DeleteWorkers" in chosen and view.autoscaling:
        yield LEGACY_AUTOSCALING.at(view.path)
    if "DeleteNone" in chosen and view.spec.shutdown_after_job_finishes:
        yield LEGACY_SHUTDOWN_NONE.at(view.path)


def _legacy_selector(view: DeletionView, success: DeletionPolicy, failure: DeletionPolicy) -> Iterator[Problem]:
    for field, policy, outcome in (("onSuccess", success.policy, "success"), ("onFailure", failure.policy, "failure")):
        if view.selecting and policy in {"DeleteCluster", "DeleteWorkers"}:
            yield LEGACY_SELECTOR.at(f"{view.path}.{field}.policy", policy=policy, outcome=outcome)


def _rules(view: DeletionView, rules: tuple[DeletionRule, ...]) -> Iterator[Problem]:
    ttls: _Ttls = {}
    for index, rule in enumerate(rules):
        problem = next(_rule(view, rule, index=index, ttls=ttls), None)
        if problem:
            yield problem
        else:
            ttls.setdefault(_when(rule.condition), {})[rule.policy] = rule.condition.ttl_seconds
    for kind in ("JobStatus", "JobDeploymentStatus"):
        for condition in (found for found in ttls if found[0] == kind):
            yield from _ttl_order(view, condition, ttls[condition])


def _rule(view: DeletionView, rule: DeletionRule, *, index: int, ttls: _Ttls) -> Iterator[Problem]:
    condition, path = rule.condition, f"{view.path}.deletionRules[{index}]"
    if condition.job_status is not None and condition.job_deployment_status is not None:
        yield CONDITION_BOTH.at(f"{path}.condition", index=index)
    if condition.job_status is None and condition.job_deployment_status is None:
        yield CONDITION_NEITHER.at(f"{path}.condition", index=index)
    if condition.ttl_seconds < 0:
        yield TTL_NEGATIVE.at(f"{path}.condition.ttlSeconds", index=index)
    if view.selecting and rule.policy in {"DeleteCluster", "DeleteWorkers"}:
        yield RULE_SELECTOR.at(f"{path}.policy", index=index, policy=rule.policy)
    if view.autoscaling and rule.policy == "DeleteWorkers":
        yield RULE_AUTOSCALING.at(f"{path}.policy", index=index)
    kind, value = _when(condition)
    if rule.policy in ttls.get((kind, value), {}):
        yield RULE_TWICE.at(path, index=index, policy=rule.policy, kind=kind, value=value)


def _when(condition: DeletionCondition) -> tuple[str, str]:
    if condition.job_status is not None:
        return "JobStatus", condition.job_status
    return "JobDeploymentStatus", condition.job_deployment_status or ""


def _ttl_order(view: DeletionView, condition: tuple[str, str], ttls: dict[str, int]) -> Iterator[Problem]:
    kind, value = condition
    present = [policy for policy in _ORDER if policy in ttls]
    for before, policy in pairwise(present):
        if ttls[policy] < ttls[before]:
            holes = {"before": before, "ttl": ttls[policy], "ttl_before": ttls[before]}
            yield TTL_ORDER.at(f"{view.path}.deletionRules", kind=kind, value=value, policy=policy, **holes)
