"""The ValidatingAdmissionPolicies, one a kind, that refuse at `kubectl apply` what the operator would refuse later."""

from typing import Any, Final

from manta_common.api import annotations, env, names
from manta_common.validation.admission.cel import text, texts
from manta_common.validation.admission.kind_refusals import KIND_REFUSALS

API_VERSION: Final = "admissionregistration.k8s.io/v1"
PLURALS: Final = {
    "RayCluster": "rayclusters",
    "RayJob": "rayjobs",
    "RayService": "rayservices",
    "RayCronJob": "raycronjobs",
}
_READ_ANNOTATIONS: Final = (
    annotations.FT_ENABLED,
    annotations.EXTERNAL_STORAGE_NAMESPACE,
    annotations.INITIALIZING_TIMEOUT,
)
_CLUSTERS: Final = {
    "RayCluster": "object.?spec",
    "RayJob": "object.?spec.?rayClusterSpec",
    "RayService": "object.?spec.?rayClusterConfig",
    "RayCronJob": "object.?spec.?jobTemplate.?rayClusterSpec",
}
_JOBS: Final = {"RayJob": "object.?spec", "RayCronJob": "object.?spec.?jobTemplate"}


def _value(variables: str, name: str) -> str:
    return f"{variables}.filter(e, e.name == {text(name)})[?0].?value.orValue('')"


_COLLECTOR: Final = "variables.cluster.?historyServerOptions.?collectorOptions"
_CLUSTER_VARIABLES: Final = {
    "head": "variables.cluster.?headGroupSpec.orValue(dyn({}))",
    "headParams": "variables.head.?rayStartParams.orValue(dyn({}))",
    "headPod": "variables.head.?template.?spec.orValue(dyn({}))",
    "rayContainer": "variables.headPod.?containers[?0].orValue(dyn({}))",
    "headEnv": "variables.rayContainer.?env.orValue(dyn([]))",
    "groups": "variables.cluster.?workerGroupSpecs.orValue(dyn([]))",
    "autoscaling": "variables.cluster.?enableInTreeAutoscaling.orValue(false)",
    "autoscaler": "variables.cluster.?autoscalerOptions.orValue(dyn({}))",
    "v2ByEnv": f"{_value('variables.headEnv', env.ENABLE_AUTOSCALER_V2)} in ['1', 'true']",
    "v2": "variables.autoscaler.?version.orValue('') == 'v2' || variables.v2ByEnv",
    "hasFt": "has(variables.cluster.gcsFaultToleranceOptions)",
    "ft": "variables.cluster.?gcsFaultToleranceOptions.orValue(dyn({}))",
    "rocksdb": "variables.ft.?backend.orValue('') == 'rocksdb'",
    "tls": "variables.cluster.?tlsOptions.?enabled.orValue(false)",
    "hasHistory": "has(variables.cluster.historyServerOptions)",
    "hasCollector": f"{_COLLECTOR}.hasValue()",
    "collector": f"{_COLLECTOR}.orValue(dyn({{}}))",
    "collectorEnv": "variables.collector.?env.orValue(dyn([]))",
    "storageBackend": f"{_value('variables.collectorEnv', env.STORAGE_BACKEND)}.upperAscii()",
    "azureMode": f"{_value('variables.collectorEnv', env.AZURE_AUTH_MODE)}.trim().lowerAscii()",
    "tokenAuth": "variables.cluster.?authOptions.?mode.orValue('') == 'token'",
    "k8sTokenAuth": "variables.cluster.?authOptions.?enableK8sTokenAuth.orValue(false)",
    "rayVersion": "variables.cluster.?rayVersion.orValue('')",
    "rayVersionFault": (
        "!variables.rayVersion.matches('^\\\\s*v?[0-9]')"
        " ? 'could not parse \"' + variables.rayVersion + '\" as version'"
        " : !variables.rayVersion.matches('^\\\\s*v?[0-9]+[.][0-9]')"
        " ? 'illegal version string \"' + variables.rayVersion + '\"'"
        " : variables.rayVersion.matches('^\\\\s*v?0[0-9]') ? 'illegal zero-prefixed version component \"'"
        " + variables.rayVersion.find('[0-9]+') + '\" in \"' + variables.rayVersion + '\"' : ''"
    ),
    "rayVersionNumbers": "variables.rayVersion.find('[0-9]+[.][0-9]+').split('.').map(n, int(n))",
}
_JOB_VARIABLES: Final = {
    "selecting": "size(variables.job.?clusterSelector.orValue(dyn({}))) > 0",
    "strategy": "variables.job.?deletionStrategy.orValue(dyn({}))",
    "deletionRules": "variables.strategy.?deletionRules.orValue(dyn([]))",
}


def documents(kind: str) -> list[dict[str, Any]]:
    """Return the policy of a kind and the binding that puts it into force."""
    name = f"manta-{PLURALS[kind]}"
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": _spec(kind),
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


def _spec(kind: str) -> dict[str, Any]:
    return {
        # What cannot be decided here is let through: the operator checks everything again.
        "failurePolicy": "Ignore",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [names.API_GROUP],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": [PLURALS[kind]],
                }
            ]
        },
        "matchConditions": _named(_conditions(kind)),
        "variables": _named(_variables(kind)),
        "validations": [refusal.validation() for refusal in KIND_REFUSALS[kind]],
    }


def _conditions(kind: str) -> dict[str, str]:
    # An object from before the policy must still get and lose finalizers and labels, so only what is new is judged.
    annotation = "object.metadata.?annotations[?a] != oldObject.metadata.?annotations[?a]"
    changed = f"object.?spec != oldObject.?spec || {texts(_READ_ANNOTATIONS)}.exists(a, {annotation})"
    ours = f"object.?spec.?managedBy.orValue({text(names.MANAGED_BY_KUBERAY)}) == {text(names.MANAGED_BY_KUBERAY)}"
    return {
        "is-not-being-deleted": "!has(object.metadata.deletionTimestamp)",
        "is-new-or-changed": f"request.operation == 'CREATE' || {changed}",
        **({} if kind == "RayCronJob" else {"is-managed-by-the-operator": ours}),
    }


def _variables(kind: str) -> dict[str, str]:
    of_cron = kind == "RayCronJob"
    cluster = _CLUSTERS[kind]
    return {
        "annotations": "dyn({})" if of_cron else "object.metadata.?annotations.orValue(dyn({}))",
        "hasCluster": f"{cluster}.hasValue()" if kind in _JOBS else "true",
        "cluster": f"{cluster}.orValue(dyn({{}}))",
        **_CLUSTER_VARIABLES,
        **({"job": f"{_JOBS[kind]}.orValue(dyn({{}}))", **_JOB_VARIABLES} if kind in _JOBS else {}),
    }


def _named(expressions: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]
