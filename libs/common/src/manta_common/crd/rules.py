"""The rules that the API server itself checks (CEL), by type and field; an empty field means the whole object."""

from typing import Final

from manta_common.api.raycluster import RayClusterSpec
from manta_common.api.rayjob import DeletionCondition, DeletionStrategy, RayJobSpec
from manta_common.api.rayoptions import GcsFaultToleranceOptions
from manta_common.api.rayservice import RayServiceSpec

Rule = dict[str, str]

MANAGED_BY: Final[list[Rule]] = [
    {"rule": "self == oldSelf", "message": "the managedBy field is immutable"},
    {
        "rule": "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
        "message": "the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'",
    },
]
BACKEND: Final[list[Rule]] = [
    {"rule": "self == oldSelf", "message": "gcsFaultToleranceOptions.backend is immutable"},
]
DELETION_STRATEGY: Final[list[Rule]] = [
    {
        "rule": "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
        "message": "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same "
        "deletionStrategy",
    },
    {
        "rule": "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
        "message": "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field "
        "(cannot be empty)",
    },
]
DELETION_CONDITION: Final[list[Rule]] = [
    {
        "rule": "!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
        "message": "JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition.",
    },
    {
        "rule": "has(self.jobStatus) || has(self.jobDeploymentStatus)",
        "message": "the deletion condition requires either the JobStatus or the JobDeploymentStatus field.",
    },
]

RULES: Final[dict[tuple[type, str], list[Rule]]] = {
    (RayClusterSpec, "managed_by"): MANAGED_BY,
    (RayJobSpec, "managed_by"): MANAGED_BY,
    (RayServiceSpec, "managed_by"): MANAGED_BY,
    (GcsFaultToleranceOptions, "backend"): BACKEND,
    (DeletionStrategy, ""): DELETION_STRATEGY,
    (DeletionCondition, ""): DELETION_CONDITION,
}
