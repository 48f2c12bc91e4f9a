"""For every CEL rule of every kind: something it lets pass, and something it refuses with its very words."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.contract.crd.server import LEAST

OPERATOR, KUEUE = "ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"
RULES = [{"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED"}}]
BOTH: dict[str, Any] = {"onSuccess": {}, "onFailure": {}}
M1 = "the managedBy field is immutable"
M2 = f"the managedBy field value must be either '{OPERATOR}' or '{KUEUE}'"
B1 = "gcsFaultToleranceOptions.backend is immutable"
D1 = "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same deletionStrategy"
D2 = "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be empty)"
C1 = "JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition."
C2 = "the deletion condition requires either the JobStatus or the JobDeploymentStatus field."


class Rule(NamedTuple):
    """A rule by example: what was stored before, what passes, what fails and the answer; `ABSENT` is no field."""

    name: str
    before: Any
    passing: tuple[Any, ...]
    failing: Any
    message: str


class Example(NamedTuple):
    """A rule at one of its places: whole specs of one kind, and the field that the API server complains of."""

    kind: str
    field: str
    rule: Rule
    before: dict[str, Any]
    passing: tuple[dict[str, Any], ...]
    failing: dict[str, Any]

    @property
    def title(self) -> str:
        """What a test run calls it."""
        return f"{self.kind} {self.field} {self.rule.name}"


ABSENT = object()
MANAGED_BY = (
    Rule("M1", OPERATOR, (OPERATOR, ABSENT), KUEUE, M1),
    Rule("M2", ABSENT, (OPERATOR, KUEUE, ABSENT), "example.com/other", M2),
)
BACKEND = (Rule("B1", "redis", ("redis", ABSENT), "rocksdb", B1),)
STRATEGY = (
    Rule("D1", ABSENT, ({"deletionRules": RULES}, BOTH), {"onSuccess": {}, "deletionRules": RULES}, D1),
    Rule("D2", ABSENT, ({"deletionRules": RULES}, BOTH, ABSENT), {"onSuccess": {"policy": "DeleteNone"}}, D2),
)
CONDITION = (
    Rule("C1", ABSENT, ({"jobStatus": "FAILED"},), {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}, C1),
    Rule("C2", ABSENT, ({"jobDeploymentStatus": "Failed"},), {"ttlSeconds": 5}, C2),
)
CLUSTER = {"managedBy": MANAGED_BY, "gcsFaultToleranceOptions.backend": BACKEND}
JOB = {
    "managedBy": MANAGED_BY,
    **{f"rayClusterSpec.{field}": rules for field, rules in CLUSTER.items()},
    "deletionStrategy": STRATEGY,
    "deletionStrategy.deletionRules[0].condition": CONDITION,
}
PLACES = {
    "RayCluster": CLUSTER,
    "RayJob": JOB,
    "RayService": {"managedBy": MANAGED_BY, **{f"rayClusterConfig.{field}": rules for field, rules in CLUSTER.items()}},
    "RayCronJob": {f"jobTemplate.{field}": rules for field, rules in JOB.items()},
}


def examples() -> Iterator[Example]:
    """All 26 rules at their 15 places."""
    for kind, places in PLACES.items():
        for field, rules in places.items():
            for rule in rules:
                yield Example(
                    kind,
                    f"spec.{field}",
                    rule,
                    _spec(kind, field, rule.before),
                    tuple(_spec(kind, field, value) for value in rule.passing),
                    _spec(kind, field, rule.failing),
                )


def _spec(kind: str, field: str, value: Any) -> dict[str, Any]:
    """The least spec of a kind with a field put to a value."""
    spec = copy.deepcopy(LEAST[kind])
    if value is not ABSENT:
        _put(spec, field.replace("[0]", ".0").split("."), value)
    return spec


def _put(holder: Any, path: list[str], value: Any) -> None:
    name, *rest = path
    if not rest:
        holder[name] = value
    elif name == "rayClusterSpec":
        _put(holder.setdefault(name, copy.deepcopy(LEAST["RayCluster"])), rest, value)
    elif name == "deletionRules":
        holder[name] = [{"policy": "DeleteNone", rest[1]: value}]
    else:
        _put(holder.setdefault(name, {}), rest, value)
