"""The CRDs say what the contract says: sizes, versions, columns, rules, defaults, list types."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from manta_common.crd import kubernetes
from manta_common.crd.columns import COLUMNS
from manta_common.crd.definitions import KINDS, definition
from manta_common.crd.rules import BACKEND, DELETION_CONDITION, DELETION_STRATEGY, MANAGED_BY

RULES = "x-kubernetes-validations"
INT32 = {"type": "integer", "format": "int32"}
NAMES = [kind.name for kind in KINDS]


@functools.cache
def crd(name: str) -> dict[str, Any]:
    return definition(next(kind for kind in KINDS if kind.name == name), kubernetes.load())


def schema(name: str, version: str = "v1") -> dict[str, Any]:
    found = next(one for one in crd(name)["spec"]["versions"] if one["name"] == version)
    return dict(found["schema"]["openAPIV3Schema"])


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        yield from nodes(node["additionalProperties"], f"{path}.*")


def own_nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The nodes that our types define; what they embed of Kubernetes is named but not entered."""
    yield path, node
    fields = node.get("properties", {})
    if any("description" in child for child in fields.values()):
        for name, child in fields.items():
            yield from own_nodes(child, f"{path}.{name}")
    for mark, word in (("[]", "items"), (".*", "additionalProperties")):
        if word in node:
            yield from own_nodes(node[word], f"{path}{mark}")


def bare(node: Any) -> Any:
    """A schema without its descriptions."""
    match node:
        case dict():
            return {
                name: {field: bare(child) for field, child in value.items()} if name == "properties" else bare(value)
                for name, value in node.items()
                if name != "description"
            }
        case list():
            return [bare(item) for item in node]
        case _:
            return node


def at(name: str, path: str) -> dict[str, Any]:
    return dict(nodes(schema(name)))[path]


# KubeRay 1.7.0's figures, with ours on top: RayJob's `status.conditions` (8 nodes) and four fields of RayCronJob.
@pytest.mark.parametrize(
    ("name", "version", "count", "size"),
    [
        ("RayCluster", "v1", 3060, 152_992),
        ("RayCluster", "v1alpha1", 2724, 135_416),
        ("RayJob", "v1", 4373 + 8, 219_096 + 722),
        ("RayJob", "v1alpha1", 4011, 198_883),
        ("RayService", "v1", 3212, 162_167),
        ("RayService", "v1alpha1", 2842, 141_901),
        ("RayCronJob", "v1", 4331 + 4, 216_136 + 298),
    ],
)
def test_a_schema_is_as_large_as_kuberays(name: str, version: str, count: int, size: int) -> None:
    found = schema(name, version)
    assert len(list(nodes(found))) == count
    assert len(json.dumps(bare(found), separators=(",", ":"))) == size


def test_the_pod_template_is_kuberays() -> None:
    template = at("RayCluster", ".spec.headGroupSpec.template")
    assert len(list(nodes(template))) == 1263
    assert len(json.dumps(bare(template), separators=(",", ":"))) == 62_462
    assert len(template["properties"]["spec"]["properties"]) == 42
    assert template["properties"]["spec"]["required"] == ["containers"]
    metadata = template["properties"]["metadata"]["properties"]
    assert sorted(metadata) == ["annotations", "finalizers", "labels", "name", "namespace"]
    quantities = [node for _, node in nodes(template) if "pattern" in node]
    assert all(node["x-kubernetes-int-or-string"] for node in quantities)
    assert not [path for path, node in nodes(template) if {"enum", "minimum", "maxLength"} & node.keys()]
    assert len(list(nodes(at("RayCluster", ".spec.headGroupSpec.headService")))) == 67


@pytest.mark.parametrize(
    ("name", "path", "same_as"),
    [
        ("RayJob", ".spec.rayClusterSpec", ("RayCluster", ".spec")),
        ("RayService", ".spec.rayClusterConfig", ("RayCluster", ".spec")),
        ("RayCronJob", ".spec.jobTemplate", ("RayJob", ".spec")),
        ("RayJob", ".status.rayClusterStatus", ("RayCluster", ".status")),
        ("RayService", ".status.activeServiceStatus.rayClusterStatus", ("RayCluster", ".status")),
    ],
)
def test_what_is_embedded_is_the_same(name: str, path: str, same_as: tuple[str, str]) -> None:
    assert bare(at(name, path)) == bare(at(*same_as))


@pytest.mark.parametrize("name", NAMES)
def test_a_crd_is_small_enough_for_etcd_and_needs_nothing_new(name: str) -> None:
    assert len(json.dumps(crd(name), separators=(",", ":"))) < 500_000
    assert set(crd(name)["spec"]) == {"group", "names", "scope", "versions"}
    text = json.dumps(crd(name))
    for word in ("selectableFields", "optionalOldSelf", "messageExpression", 'fieldPath":', "preserve-unknown", "$ref"):
        assert word not in text.replace('"fieldPath": {', "")


@pytest.mark.parametrize("name", NAMES)
def test_names_and_versions(name: str) -> None:
    spec = crd(name)["spec"]
    assert spec["names"] == {
        "kind": name,
        "listKind": f"{name}List",
        "plural": f"{name.lower()}s",
        "singular": name.lower(),
        "categories": ["all"],
    }
    shown = [(one["name"], one["served"], one["storage"], one["subresources"]) for one in spec["versions"]]
    old: list[Any] = [] if name == "RayCronJob" else [("v1alpha1", True, False, {"status": {}})]
    assert shown == [("v1", True, True, {"status": {}}), *old]
    assert "required" not in schema(name)
    for version in spec["versions"][1:]:
        assert version["deprecationWarning"] == (
            f"ray.io/v1alpha1 {name} is deprecated; use ray.io/v1 {name}. "
            "v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
        )


RULED = {
    "RayCluster": {".spec.managedBy": MANAGED_BY, ".spec.gcsFaultToleranceOptions.backend": BACKEND},
    "RayJob": {
        ".spec.managedBy": MANAGED_BY,
        ".spec.rayClusterSpec.managedBy": MANAGED_BY,
        ".spec.rayClusterSpec.gcsFaultToleranceOptions.backend": BACKEND,
        ".spec.deletionStrategy": DELETION_STRATEGY,
        ".spec.deletionStrategy.deletionRules[].condition": DELETION_CONDITION,
    },
    "RayService": {
        ".spec.managedBy": MANAGED_BY,
        ".spec.rayClusterConfig.managedBy": MANAGED_BY,
        ".spec.rayClusterConfig.gcsFaultToleranceOptions.backend": BACKEND,
    },
    "RayCronJob": {
        ".spec.jobTemplate.managedBy": MANAGED_BY,
        ".spec.jobTemplate.rayClusterSpec.managedBy": MANAGED_BY,
        ".spec.jobTemplate.rayClusterSpec.gcsFaultToleranceOptions.backend": BACKEND,
        ".spec.jobTemplate.deletionStrategy": DELETION_STRATEGY,
        ".spec.jobTemplate.deletionStrategy.deletionRules[].condition": DELETION_CONDITION,
    },
}


def test_there_are_26_rules_on_15_nodes_and_none_in_the_old_version() -> None:
    found = {name: {path: node[RULES] for path, node in nodes(schema(name)) if RULES in node} for name in NAMES}
    assert found == RULED
    assert sum(len(rules) for paths in found.values() for rules in paths.values()) == 26
    assert sum(len(paths) for paths in found.values()) == 15
    assert not any(RULES in node for name in NAMES[:3] for _, node in nodes(schema(name, "v1alpha1")))


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("RayCluster", ".spec.workerGroupSpecs[].replicas", INT32 | {"default": 0}),
        ("RayCluster", ".spec.workerGroupSpecs[].maxReplicas", INT32 | {"default": 2147483647}),
        ("RayCluster", ".spec.workerGroupSpecs[].numOfHosts", INT32 | {"default": 1}),
        (
            "RayCluster",
            ".spec.networkPolicy.mode",
            {"type": "string", "enum": ["DenyAll", "DenyAllIngress", "DenyAllEgress"], "default": "DenyAll"},
        ),
        ("RayCluster", ".spec.upgradeStrategy.type", {"type": "string", "enum": ["Recreate", "None"]}),
        ("RayCluster", ".spec.authOptions.enableK8sTokenAuth", {"type": "boolean"}),
        ("RayCluster", ".status.lastUpdateTime", {"type": "string", "format": "date-time", "nullable": True}),
        ("RayJob", ".spec.submissionMode", {"type": "string", "default": "K8sJobMode"}),
        ("RayJob", ".spec.runtimeEnvYAML", {"type": "string"}),
        ("RayJob", ".spec.entrypointNumCpus", {"type": "number"}),
        ("RayJob", ".spec.preRunningDeadlineSeconds", INT32 | {"minimum": 1}),
        ("RayJob", ".status.dashboardURL", {"type": "string"}),
        ("RayService", ".status.lastUpdateTime", {"type": "string", "format": "date-time"}),
        ("RayService", ".spec.serveConfigV2", {"type": "string"}),
        ("RayCronJob", ".spec.timeZone", {"type": "string", "minLength": 1}),
        ("RayCronJob", ".spec.startingDeadlineSeconds", {"type": "integer", "format": "int64", "minimum": 0}),
    ],
)
def test_a_field_says(name: str, path: str, expected: dict[str, Any]) -> None:
    assert bare(at(name, path)) == expected


@pytest.mark.parametrize(
    ("name", "path", "required"),
    [
        ("RayCluster", ".spec", ["headGroupSpec"]),
        ("RayCluster", ".spec.headGroupSpec", ["template"]),
        ("RayCluster", ".spec.workerGroupSpecs[]", ["groupName", "maxReplicas", "minReplicas", "template"]),
        ("RayCluster", ".spec.networkPolicy.workerGroups[]", ["groupName"]),
        ("RayCluster", ".status", None),
        ("RayJob", ".spec", None),
        ("RayJob", ".spec.deletionStrategy.deletionRules[]", ["condition", "policy"]),
        ("RayService", ".spec", ["rayClusterConfig"]),
        (
            "RayService",
            ".spec.upgradeStrategy.clusterUpgradeOptions",
            ["gatewayClassName", "intervalSeconds", "stepSizePercent"],
        ),
        ("RayCronJob", ".spec", ["jobTemplate", "schedule"]),
    ],
)
def test_an_object_requires(name: str, path: str, required: list[str] | None) -> None:
    assert at(name, path).get("required") == required


def test_only_these_lists_of_ours_are_more_than_lists() -> None:
    found = {
        path: (node["x-kubernetes-list-type"], node.get("x-kubernetes-list-map-keys"))
        for name in NAMES
        for path, node in own_nodes(schema(name))
        if "x-kubernetes-list-type" in node
        if "rayCluster" not in path and "jobTemplate" not in path
    }
    assert found == {
        ".spec.networkPolicy.workerGroups": ("map", ["groupName"]),
        ".spec.deletionStrategy.deletionRules": ("atomic", None),
        ".status.conditions": ("map", ["type"]),
    }


def test_the_old_version_differs_as_told() -> None:
    worker = dict(nodes(schema("RayCluster", "v1alpha1")))[".spec.workerGroupSpecs[]"]
    assert worker["required"] == ["groupName", "maxReplicas", "minReplicas", "rayStartParams", "template"]
    assert "numOfHosts" not in worker["properties"]
    job = dict(nodes(schema("RayJob", "v1alpha1")))
    assert job[".spec"]["required"] == ["entrypoint"]
    assert "conditions" not in job[".status"]["properties"]
    service = dict(nodes(schema("RayService", "v1alpha1")))
    assert "required" not in service[".spec"]
    assert ".status.activeServiceStatus.applicationStatuses.*.healthLastUpdateTime" in service


def test_our_fields_explain_themselves() -> None:
    for name in NAMES:
        assert "description" in schema(name)
        silent = [path for path, node in own_nodes(schema(name)) if "description" not in node]
        assert [path for path in silent if not path.endswith(("[]", ".*"))] == [".apiVersion", ".kind", ".metadata"]


def test_kubernetes_fields_do_not_explain_themselves_and_the_old_version_nothing() -> None:
    template = at("RayCluster", ".spec.headGroupSpec.template")
    assert [path for path, node in nodes(template) if "description" in node] == [""]
    assert not [path for path, node in nodes(schema("RayJob", "v1alpha1")) if "description" in node]


def test_columns_are_those_of_v1_and_of_the_old_raycluster() -> None:
    shown = {
        (name, version["name"]): version.get("additionalPrinterColumns")
        for name in NAMES
        for version in crd(name)["spec"]["versions"]
    }
    assert {key: value for key, value in shown.items() if value} == COLUMNS
