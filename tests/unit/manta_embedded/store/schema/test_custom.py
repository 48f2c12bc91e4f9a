"""Our own kinds in the store: every rule of the CRDs at every place, in the API server's words."""

import pytest

from manta_embedded.store.objects import Obj
from tests.contract.crd.examples import Example, examples
from tests.contract.crd.server import LEAST, manifest
from tests.manifests.files import manifests
from tests.unit.manta_embedded.store.schema.reviews import admitted, causes, ray_kinds

EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_a_rule_lets_pass_and_refuses(example: Example) -> None:
    served = ray_kinds()[(example.kind, "v1")]
    before = admitted(served, manifest(example.kind, example.before))
    for spec in example.passing:
        assert causes(served, manifest(example.kind, spec), before) == []
    (found,) = causes(served, manifest(example.kind, example.failing), before)
    assert found.startswith(f"{example.field}: Invalid value")
    assert found.endswith(f": {example.rule.message}")


@pytest.mark.parametrize("name", manifests())
def test_a_manifest_is_admitted_and_admitting_it_again_changes_nothing(name: str) -> None:
    given = manifests()[name]
    stored = admitted(ray_kinds()[(given["kind"], "v1")], given)
    assert admitted(ray_kinds()[(given["kind"], "v1")], stored, stored) is stored


def test_the_old_version_loses_what_is_new() -> None:
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": {}, "labels": {"a": "b"}}}
    found = admitted(ray_kinds()[("RayCluster", "v1alpha1")], manifest("RayCluster", spec))
    assert "labels" not in found["spec"]["headGroupSpec"]


def test_without_cel_the_rules_are_not_asked() -> None:
    served = ray_kinds()[("RayCluster", "v1")]
    broken: Obj = manifest("RayCluster", LEAST["RayCluster"] | {"managedBy": "example.com/other"})
    assert causes(served, broken, cel=False) == []
    assert len(causes(served, broken)) == 1


def test_without_validation_only_the_shape_is_seen_to() -> None:
    served = ray_kinds()[("RayCluster", "v1")]
    broken = manifest("RayCluster", {"headGroupSpec": {"template": {}, "unknown": 1}, "suspend": "yes"})
    found = admitted(served, broken, validate=False)
    assert found["spec"]["suspend"] == "yes"
    assert "unknown" not in found["spec"]["headGroupSpec"]
