"""The reference tells every field once, with a meaning."""

import re

from manta_common.crd.definitions import KINDS, parts
from manta_common.crd.reference import reference, rows

TEXT = reference()


def test_every_field_has_a_meaning_of_one_line() -> None:
    for kind in KINDS:
        for row in rows("", parts(kind), home=kind.type):
            assert re.fullmatch(r"[^\n]{4,160}\.", row.field.description), f"{kind.name} {row.path}"


def test_each_kind_tells_its_own_fields() -> None:
    assert "| `spec.workerGroupSpecs[].maxReplicas` | int32 | yes | `2147483647` |" in TEXT
    assert "| `spec.rayClusterSpec` | as [RayCluster](#raycluster) `spec` |" in TEXT
    assert "`spec.rayClusterSpec.headGroupSpec`" not in TEXT
    assert "| `status.activeServiceStatus.applicationStatuses.*.serveDeploymentStatuses.*.status` |" in TEXT
    assert "| `spec.deletionStrategy.deletionRules[].condition.ttlSeconds` | int32, at least 0 |  | `0` |" in TEXT


def test_fields_beyond_kuberays_stand_in_one_table() -> None:
    table = TEXT.partition("## Fields beyond KubeRay's")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\w+) \| `([^`]+)`", table, re.MULTILINE) == [
        ("RayJob", "status.conditions[]"),
        ("RayCronJob", "spec.concurrencyPolicy"),
        ("RayCronJob", "spec.startingDeadlineSeconds"),
        ("RayCronJob", "spec.successfulJobsHistoryLimit"),
        ("RayCronJob", "spec.failedJobsHistoryLimit"),
    ]


def test_all_rules_are_told() -> None:
    assert "RayClusterSpec.managedBy | `self == oldSelf` | the managedBy field is immutable |" in TEXT
    assert TEXT.count("| DeletionCondition |") == 2
