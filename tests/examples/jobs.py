"""Examples of the rules for a job's spec; paths are within that spec."""

from typing import Any

from manta_common.validation import deletion, job
from tests.examples.example import NO_GATES, Example, Json
from tests.examples.manifests import both, head_pod

SHUTDOWN: Json = {"shutdownAfterJobFinishes": True}
SELECTOR: Json = {"clusterSelector": {"ray.io/cluster": "mine"}}
AUTOSCALED: Json = {"rayClusterSpec": {"enableInTreeAutoscaling": True}}


def legacy(success: Any, failure: Any) -> Json:
    """The old form: one policy for success, one for failure."""
    return {"deletionStrategy": {"onSuccess": {"policy": success}, "onFailure": {"policy": failure}}}


def rule(policy: str, seconds: int = 0, **condition: str) -> Json:
    """One deletion rule."""
    return {"policy": policy, "condition": {**condition, "ttlSeconds": seconds}}


def rules(*items: Json) -> Json:
    """The new form: rules."""
    return {"deletionStrategy": {"deletionRules": list(items)}}


CLEANUP = (
    Example(
        says="a job that can be suspended gives its cluster up at the end",
        rule=job.SUSPEND_WITHOUT_SHUTDOWN,
        good=both(SHUTDOWN, {"suspend": True}),
        bad={"suspend": True},
        path="suspend",
        message="The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not allowed to be "
        "suspended",
    ),
    Example(
        says="the time to live is not negative",
        rule=job.TTL_NEGATIVE,
        good=both(SHUTDOWN, {"ttlSecondsAfterFinished": 0}),
        bad=both(SHUTDOWN, {"ttlSecondsAfterFinished": -1}),
        path="ttlSecondsAfterFinished",
        message="The RayJob spec is invalid: TTLSecondsAfterFinished must be a non-negative integer",
    ),
    Example(
        says="a time to live needs an end of the cluster",
        rule=deletion.TTL_WITHOUT_SHUTDOWN,
        good=both(SHUTDOWN, {"ttlSecondsAfterFinished": 5}),
        bad={"ttlSecondsAfterFinished": 5},
        path="ttlSecondsAfterFinished",
        message="The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false cannot have "
        "TTLSecondsAfterFinished",
    ),
    Example(
        says="a deletion strategy needs its feature gate",
        rule=deletion.GATE,
        good={},
        bad=legacy("DeleteNone", "DeleteNone"),
        path="deletionStrategy",
        message="RayJobDeletionPolicy feature gate must be enabled to use DeletionStrategy",
        gates=NO_GATES,
    ),
    Example(
        says="rules take the place of a shutdown",
        rule=deletion.RULES_WITH_SHUTDOWN,
        good=rules(rule("DeleteCluster", jobStatus="SUCCEEDED")),
        bad=both(SHUTDOWN, rules(rule("DeleteCluster", jobStatus="SUCCEEDED"))),
        path="deletionStrategy.deletionRules",
        message="The RayJob spec is invalid: spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are "
        "mutually exclusive",
    ),
)

LEGACY = (
    Example(
        says="success has a policy",
        rule=deletion.LEGACY_UNSET,
        good=legacy("DeleteNone", "DeleteSelf"),
        bad={"deletionStrategy": {"onSuccess": {}, "onFailure": {"policy": "DeleteNone"}}},
        path="deletionStrategy.onSuccess.policy",
        message="the DeletionPolicyType field of DeletionStrategy.OnSuccess cannot be unset when DeletionStrategy is "
        "enabled",
    ),
    Example(
        says="failure has a policy",
        rule=deletion.LEGACY_UNSET,
        good=legacy("DeleteSelf", "DeleteNone"),
        bad={"deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {}}},
        path="deletionStrategy.onFailure.policy",
        message="the DeletionPolicyType field of DeletionStrategy.OnFailure cannot be unset when DeletionStrategy is "
        "enabled",
    ),
    Example(
        says="a cluster that was there before the job is not deleted after its success",
        rule=deletion.LEGACY_SELECTOR,
        good=both(SELECTOR, legacy("DeleteSelf", "DeleteNone")),
        bad=both(SELECTOR, legacy("DeleteCluster", "DeleteNone")),
        path="deletionStrategy.onSuccess.policy",
        message="the ClusterSelector mode doesn't support DeletionStrategy=DeleteCluster on success",
    ),
    Example(
        says="workers that were there before the job are not deleted after its failure",
        rule=deletion.LEGACY_SELECTOR,
        good=legacy("DeleteSelf", "DeleteWorkers"),
        bad=both(SELECTOR, legacy("DeleteSelf", "DeleteWorkers")),
        path="deletionStrategy.onFailure.policy",
        message="the ClusterSelector mode doesn't support DeletionStrategy=DeleteWorkers on failure",
    ),
    Example(
        says="workers alone are not deleted under the autoscaler",
        rule=deletion.LEGACY_AUTOSCALING,
        good=both(AUTOSCALED, legacy("DeleteCluster", "DeleteNone")),
        bad=both(AUTOSCALED, legacy("DeleteNone", "DeleteWorkers")),
        path="deletionStrategy",
        message="DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling enabled",
    ),
    Example(
        says="a shutdown is more than nothing",
        rule=deletion.LEGACY_SHUTDOWN_NONE,
        good=both(SHUTDOWN, legacy("DeleteCluster", "DeleteSelf")),
        bad=both(SHUTDOWN, legacy("DeleteCluster", "DeleteNone")),
        path="deletionStrategy",
        message="The RayJob spec is invalid: shutdownAfterJobFinshes is set to 'true' while deletion policy is "
        "'DeleteNone'",
    ),
)

RULES = (
    Example(
        says="no rule deletes a cluster that was there before the job",
        rule=deletion.RULE_SELECTOR,
        good=both(SELECTOR, rules(rule("DeleteSelf", jobStatus="SUCCEEDED"))),
        bad=both(SELECTOR, rules(rule("DeleteNone", jobStatus="FAILED"), rule("DeleteCluster", jobStatus="FAILED"))),
        path="deletionStrategy.deletionRules[1].policy",
        message="deletionRules[1]: DeletionPolicyType 'DeleteCluster' not supported when ClusterSelector is set",
    ),
    Example(
        says="no rule deletes workers alone under the autoscaler",
        rule=deletion.RULE_AUTOSCALING,
        good=both(AUTOSCALED, rules(rule("DeleteCluster", jobStatus="FAILED"))),
        bad=both(AUTOSCALED, rules(rule("DeleteWorkers", jobStatus="FAILED"))),
        path="deletionStrategy.deletionRules[0].policy",
        message="deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled",
    ),
    Example(
        says="a policy has one rule for a job's state",
        rule=deletion.RULE_TWICE,
        good=rules(rule("DeleteSelf", jobStatus="FAILED"), rule("DeleteSelf", jobDeploymentStatus="Failed")),
        bad=rules(
            rule("DeleteSelf", jobStatus="FAILED"),
            rule("DeleteSelf", jobStatus="SUCCEEDED"),
            rule("DeleteSelf", 5, jobStatus="FAILED"),
        ),
        path="deletionStrategy.deletionRules[2]",
        message="deletionRules[2]: duplicate rule for DeletionPolicyType 'DeleteSelf' and JobStatus 'FAILED'",
    ),
    Example(
        says="a policy has one rule for a deployment's state",
        rule=deletion.RULE_TWICE,
        good=rules(rule("DeleteSelf", jobDeploymentStatus="Failed"), rule("DeleteNone", jobDeploymentStatus="Failed")),
        bad=rules(rule("DeleteSelf", jobDeploymentStatus="Failed"), rule("DeleteSelf", jobDeploymentStatus="Failed")),
        path="deletionStrategy.deletionRules[1]",
        message="deletionRules[1]: duplicate rule for DeletionPolicyType 'DeleteSelf' and JobDeploymentStatus 'Failed'",
    ),
    Example(
        says="the cluster does not go before its workers",
        rule=deletion.TTL_ORDER,
        good=rules(rule("DeleteCluster", 10, jobStatus="FAILED"), rule("DeleteWorkers", 10, jobStatus="FAILED")),
        bad=rules(rule("DeleteCluster", 9, jobStatus="FAILED"), rule("DeleteWorkers", 10, jobStatus="FAILED")),
        path="deletionStrategy.deletionRules",
        message="for JobStatus 'FAILED': DeleteCluster TTL (9) must be >= DeleteWorkers TTL (10)",
    ),
    Example(
        says="the job does not go before its cluster",
        rule=deletion.TTL_ORDER,
        good=rules(rule("DeleteCluster", 10, jobStatus="SUCCEEDED"), rule("DeleteSelf", 9, jobStatus="FAILED")),
        bad=rules(rule("DeleteCluster", 10, jobStatus="SUCCEEDED"), rule("DeleteSelf", 9, jobStatus="SUCCEEDED")),
        path="deletionStrategy.deletionRules",
        message="for JobStatus 'SUCCEEDED': DeleteSelf TTL (9) must be >= DeleteCluster TTL (10)",
    ),
    Example(
        says="the job does not go before its workers",
        rule=deletion.TTL_ORDER,
        good=rules(
            rule("DeleteWorkers", 1, jobDeploymentStatus="Failed"),
            rule("DeleteSelf", 1, jobDeploymentStatus="Failed"),
            rule("DeleteNone", 9, jobDeploymentStatus="Failed"),
        ),
        bad=rules(
            rule("DeleteWorkers", 1, jobDeploymentStatus="Failed"), rule("DeleteSelf", jobDeploymentStatus="Failed")
        ),
        path="deletionStrategy.deletionRules",
        message="for JobDeploymentStatus 'Failed': DeleteSelf TTL (0) must be >= DeleteWorkers TTL (1)",
    ),
)

SUBMISSION = (
    Example(
        says="a job on a cluster of somebody else's is not suspended",
        rule=job.SUSPEND_WITH_SELECTOR,
        good=both(SELECTOR, SHUTDOWN),
        bad=both(SELECTOR, SHUTDOWN, {"suspend": True}),
        path="suspend",
        message="The RayJob spec is invalid: the ClusterSelector mode doesn't support the suspend operation",
    ),
    Example(
        says="a job has a cluster, its own or a chosen one",
        rule=job.NO_CLUSTER,
        good=SELECTOR,
        bad={"clusterSelector": {}},
        path="rayClusterSpec",
        message="The RayJob spec is invalid: one of RayClusterSpec or ClusterSelector must be set",
    ),
    Example(
        says="a chosen cluster has a name",
        rule=job.SELECTOR_WITHOUT_NAME,
        good={"clusterSelector": {"ray.io/cluster": "mine", "a": "b"}},
        bad={"clusterSelector": {"a": "b"}},
        path="clusterSelector[ray.io/cluster]",
        message="cluster name in ClusterSelector should not be empty",
    ),
    Example(
        says="a sidecar does not submit to a chosen cluster",
        rule=job.SELECTOR_WITH_SIDECAR,
        good=both(SELECTOR, {"submissionMode": "HTTPMode"}),
        bad=both(SELECTOR, {"submissionMode": "SidecarMode"}),
        path="clusterSelector",
        message="ClusterSelector is not supported in SidecarMode",
    ),
    Example(
        says="a job on a chosen cluster is not tried again",
        rule=job.SELECTOR_WITH_RETRIES,
        good=both(SELECTOR, {"backoffLimit": 0}),
        bad=both(SELECTOR, {"backoffLimit": 1}),
        path="backoffLimit",
        message="The RayJob spec is invalid: BackoffLimit is incompatible with ClusterSelector mode",
    ),
    Example(
        says="an interactive job is not tried again",
        rule=job.INTERACTIVE_WITH_RETRIES,
        good={"submissionMode": "HTTPMode", "backoffLimit": 2},
        bad={"submissionMode": "InteractiveMode", "backoffLimit": 2},
        path="backoffLimit",
        message="The RayJob spec is invalid: BackoffLimit is incompatible with InteractiveMode",
    ),
    Example(
        says="a sidecar has no pod template",
        rule=job.SIDECAR_WITH_TEMPLATE,
        good={"submissionMode": "SidecarMode"},
        bad={"submissionMode": "SidecarMode", "submitterPodTemplate": {}},
        path="submitterPodTemplate",
        message="Currently, SidecarMode doesn't support SubmitterPodTemplate",
    ),
    Example(
        says="a sidecar has no submitting Job",
        rule=job.SIDECAR_WITH_CONFIG,
        good={"submissionMode": "K8sJobMode", "submitterConfig": {}},
        bad={"submissionMode": "SidecarMode", "submitterConfig": {}},
        path="submitterConfig",
        message="Currently, SidecarMode doesn't support SubmitterConfig",
    ),
    Example(
        says="a head with a sidecar does not restart in place",
        rule=job.SIDECAR_RESTARTS,
        good={"submissionMode": "SidecarMode", "rayClusterSpec": head_pod(restartPolicy="Never")},
        bad={"submissionMode": "SidecarMode", "rayClusterSpec": head_pod(restartPolicy="OnFailure")},
        path="rayClusterSpec.headGroupSpec.template.spec.restartPolicy",
        message="restartPolicy for head Pod should be Never or unset when using SidecarMode",
    ),
    Example(
        says="a job's cluster does not take Kubernetes' tokens",
        rule=job.K8S_TOKENS,
        good={"rayClusterSpec": {"authOptions": {"mode": "token"}}},
        bad={"rayClusterSpec": {"authOptions": {"mode": "token", "enableK8sTokenAuth": True}}},
        path="rayClusterSpec.authOptions.enableK8sTokenAuth",
        message="The RayJob spec is invalid: K8s token auth mode is currently not supported for RayJob",
    ),
    Example(
        says="a job's deadline is in the future",
        rule=job.DEADLINE,
        good={"activeDeadlineSeconds": 1},
        bad={"activeDeadlineSeconds": 0},
        path="activeDeadlineSeconds",
        message="The RayJob spec is invalid: activeDeadlineSeconds must be a positive integer",
    ),
    Example(
        says="a job is not tried fewer times than once",
        rule=job.RETRIES_NEGATIVE,
        good={"backoffLimit": 3},
        bad={"backoffLimit": -1},
        path="backoffLimit",
        message="The RayJob spec is invalid: backoffLimit must be a positive integer",
    ),
)

# The API server cannot read YAML within a text.
RUNTIME_ENV = (
    Example(
        says="a runtime environment is YAML",
        rule=job.RUNTIME_ENV,
        good={"runtimeEnvYAML": "pip: [requests]\nenv_vars:\n  A: b\n"},
        bad={"runtimeEnvYAML": "a: ["},
        path="runtimeEnvYAML",
        message="failed to unmarshal RuntimeEnvYAML: a: [: error converting YAML to JSON: yaml: line 1: did not find "
        "expected node content",
    ),
    Example(
        says="a runtime environment is a mapping",
        rule=job.RUNTIME_ENV,
        good={"runtimeEnvYAML": "null"},
        bad={"runtimeEnvYAML": "- a"},
        path="runtimeEnvYAML",
        message="failed to unmarshal RuntimeEnvYAML: - a: error unmarshaling JSON: while decoding JSON: json: cannot "
        "unmarshal array into Go value of type types.RuntimeEnvType",
    ),
)

EXAMPLES = (*CLEANUP, *LEGACY, *RULES, *SUBMISSION)
