"""The rules for a job's spec, in CEL."""

from typing import Final

from manta_common.api import labels
from manta_common.validation import deletion, fault_tolerance, job
from manta_common.validation.admission.cel import Refusal, retold, text
from manta_common.validation.admission.group_refusals import GROUP_REFUSALS
from manta_common.validation.admission.option_refusals import OPTION_REFUSALS

_SELECTING: Final = "variables.selecting"
_SHUTDOWN: Final = "variables.job.?shutdownAfterJobFinishes.orValue(false)"
_SUSPEND: Final = "variables.job.?suspend.orValue(false)"
_MODE: Final = "variables.job.?submissionMode.orValue('')"
_RETRIES: Final = "variables.job.?backoffLimit.orValue(0)"
_CLUSTER_POLICIES: Final = "['DeleteCluster', 'DeleteWorkers']"
_RULES: Final = "variables.deletionRules"
# More rules than there are pairs of policy and condition (12) hold a pair twice, so no index beyond that is needed.
_INDEXES: Final = f"{list(range(13))}.filter(i, i < size({_RULES}))"
_RULE: Final = f"{_RULES}[g]"
_CONDITIONS: Final = {"SUCCEEDED": "jobStatus", "FAILED": "jobStatus", "Failed": "jobDeploymentStatus"}


def _legacy() -> tuple[Refusal, ...]:
    success, failure = "variables.strategy.?onSuccess", "variables.strategy.?onFailure"
    policies = f"[{success}.?policy.orValue(''), {failure}.?policy.orValue('')]"
    half = f"{success}.hasValue() && {failure}.hasValue()"
    return (
        *(
            Refusal(deletion.LEGACY_UNSET, f"{half} && !{place}.?policy.hasValue()", holes={"field": text(field)})
            for field, place in (("OnSuccess", success), ("OnFailure", failure))
        ),
        *(
            Refusal(
                deletion.LEGACY_SELECTOR,
                f"{_SELECTING} && {place}.?policy.orValue('') in {_CLUSTER_POLICIES}",
                holes={"policy": f"{place}.?policy.orValue('')", "outcome": text(outcome)},
            )
            for outcome, place in (("success", success), ("failure", failure))
        ),
        Refusal(deletion.LEGACY_AUTOSCALING, f"variables.autoscaling && 'DeleteWorkers' in {policies}"),
        Refusal(deletion.LEGACY_SHUTDOWN_NONE, f"{_SHUTDOWN} && 'DeleteNone' in {policies}"),
    )


def _deletion_rules() -> tuple[Refusal, ...]:
    index, policy = {"index": "g"}, {"policy": f"{_RULE}.policy"}
    selector = f"{_SELECTING} && {_RULE}.policy in {_CLUSTER_POLICIES}"
    autoscaling = f"variables.autoscaling && {_RULE}.policy == 'DeleteWorkers'"
    return (
        Refusal(deletion.RULE_SELECTOR, selector, each=_INDEXES, holes={**index, **policy}),
        Refusal(deletion.RULE_AUTOSCALING, autoscaling, each=_INDEXES, holes=index),
        *(
            Refusal(
                deletion.RULE_TWICE,
                _seen_before(field),
                each=_INDEXES,
                holes={**index, **policy, "kind": text(kind), "value": f"{_RULE}.condition.{field}"},
            )
            for field, kind in (("jobStatus", "JobStatus"), ("jobDeploymentStatus", "JobDeploymentStatus"))
        ),
        *_ttl_order(),
    )


def _seen_before(field: str) -> str:
    other = f"{_RULES}[i]"
    same = f"{other}.policy == {_RULE}.policy && {other}.condition.?{field} == {_RULE}.condition.?{field}"
    return f"has({_RULE}.condition.{field}) && {_INDEXES}.exists(i, i < g && {same})"


def _ttl_order() -> tuple[Refusal, ...]:
    pairs = (("DeleteWorkers", "DeleteCluster"), ("DeleteCluster", "DeleteSelf"), ("DeleteWorkers", "DeleteSelf"))
    return tuple(
        _ttl_pair(value, field, before=before, policy=policy)
        for value, field in _CONDITIONS.items()
        for before, policy in pairs
    )


def _ttl_pair(value: str, field: str, *, before: str, policy: str) -> Refusal:
    earlier, later = _found(value, field, before), _found(value, field, policy)
    ttl, ttl_before = f"{later}[0].condition.?ttlSeconds.orValue(0)", f"{earlier}[0].condition.?ttlSeconds.orValue(0)"
    between = f" && size({_found(value, field, 'DeleteCluster')}) == 0" if "Cluster" not in before + policy else ""
    bad = f"size({earlier}) > 0 && size({later}) > 0{between} && {ttl} < {ttl_before}"
    names = {"value": value, "before": before, "policy": policy, "kind": f"{field[0].upper()}{field[1:]}"}
    holes = {**{hole: text(name) for hole, name in names.items()}, "ttl": ttl, "ttl_before": ttl_before}
    return Refusal(deletion.TTL_ORDER, bad, holes=holes)


def _found(value: str, field: str, policy: str) -> str:
    return f"{_RULES}.filter(r, r.policy == {text(policy)} && r.condition.?{field}.orValue('') == {text(value)})"


def _cleanup() -> tuple[Refusal, ...]:
    ttl = "variables.job.?ttlSecondsAfterFinished.orValue(0)"
    return (
        Refusal(job.SUSPEND_WITHOUT_SHUTDOWN, f"{_SUSPEND} && !{_SHUTDOWN}"),
        Refusal(job.TTL_NEGATIVE, f"{ttl} < 0"),
        Refusal(deletion.TTL_WITHOUT_SHUTDOWN, f"{ttl} > 0 && !{_SHUTDOWN}"),
        Refusal(deletion.RULES_WITH_SHUTDOWN, f"size({_RULES}) > 0 && {_SHUTDOWN}"),
        *_legacy(),
        *_deletion_rules(),
    )


def _submission() -> tuple[Refusal, ...]:
    name = f"variables.job.clusterSelector[?{text(labels.CLUSTER)}].orValue('')"
    sidecar = f"{_MODE} == 'SidecarMode'"
    restarts = "!(variables.headPod.?restartPolicy.orValue('') in ['', 'Never'])"
    rules = {
        job.SUSPEND_WITH_SELECTOR: f"{_SUSPEND} && {_SELECTING}",
        job.NO_CLUSTER: f"!{_SELECTING} && !variables.hasCluster",
        job.SELECTOR_WITHOUT_NAME: f"{_SELECTING} && {name} == ''",
        job.SELECTOR_WITH_SIDECAR: f"{_SELECTING} && {sidecar}",
        job.SELECTOR_WITH_RETRIES: f"{_SELECTING} && {_RETRIES} > 0",
        job.INTERACTIVE_WITH_RETRIES: f"{_MODE} == 'InteractiveMode' && {_RETRIES} > 0",
        job.SIDECAR_WITH_TEMPLATE: f"{sidecar} && has(variables.job.submitterPodTemplate)",
        job.SIDECAR_WITH_CONFIG: f"{sidecar} && has(variables.job.submitterConfig)",
        job.SIDECAR_RESTARTS: f"{sidecar} && {restarts}",
        job.K8S_TOKENS: "variables.k8sTokenAuth",
    }
    return tuple(Refusal(rule, bad) for rule, bad in rules.items())


# A template's cluster is judged without annotations.
_BY_ANNOTATION: Final = (fault_tolerance.FT_TWICE, fault_tolerance.NAMESPACE_IN_ANNOTATION)
JOB_REFUSALS: Final = (
    *_cleanup(),
    *_submission(),
    *retold((*GROUP_REFUSALS, *OPTION_REFUSALS), job.SPEC_PREFIX),
    Refusal(job.DEADLINE, "variables.job.?activeDeadlineSeconds.orValue(1) <= 0"),
    Refusal(job.RETRIES_NEGATIVE, f"{_RETRIES} < 0"),
)
TEMPLATE_REFUSALS: Final = tuple(refusal for refusal in JOB_REFUSALS if refusal.rule not in _BY_ANNOTATION)
