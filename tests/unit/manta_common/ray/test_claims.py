"""The claim for embedded storage."""

from typing import Any

import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.ray.claims import claim_drift, gcs_claim, is_retained
from tests.unit.manta_common.ray.clusters import cluster


def stored(**storage: Any) -> RayCluster:
    return cluster({"spec.gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": storage}})


def test_the_usual_claim() -> None:
    made = gcs_claim(cluster({"spec.gcsFaultToleranceOptions": {"backend": "rocksdb"}}))
    assert (made["kind"], made["metadata"]["name"]) == ("PersistentVolumeClaim", "demo-gcs-pvc")
    assert made["metadata"]["labels"] == {"ray.io/cluster": "demo"}
    assert made["metadata"]["ownerReferences"][0]["controller"] is True
    assert made["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_one_of_the_user_s_choice() -> None:
    spec = gcs_claim(stored(size="5Gi", storageClassName="", accessModes=["ReadWriteMany"]))["spec"]
    assert spec == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "",
    }


@pytest.mark.parametrize(("policy", "retained"), [("Retain", True), ("DeleteWithCluster", False)])
def test_one_to_be_retained_belongs_to_nobody(policy: str, *, retained: bool) -> None:
    made = stored(deletionPolicy=policy)
    assert is_retained(made) is retained
    assert ("ownerReferences" not in gcs_claim(made)["metadata"]) is retained


def claim(**changes: Any) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1024Mi"}},
        "storageClassName": "chosen",
    }
    return {"spec": spec | changes}


@pytest.mark.parametrize(
    ("wanted", "found", "drift"),
    [
        pytest.param(
            stored(), claim(), [], id="the same amount, written otherwise, and a class of the cluster's choice"
        ),
        pytest.param(stored(size="2Gi"), claim(), ["size: want 2Gi, have 1Gi"], id="another size"),
        pytest.param(stored(), claim(resources={}), ["size: want 1Gi, have none"], id="no size"),
        pytest.param(
            stored(storageClassName="fast"),
            claim(),
            ["storageClassName: want 'fast', have 'chosen'"],
            id="another class",
        ),
        pytest.param(stored(storageClassName="chosen"), claim(), [], id="the class that was asked for"),
        pytest.param(
            stored(accessModes=["A", "B"]), claim(accessModes=["B", "A"]), [], id="modes in another order are the same"
        ),
        pytest.param(
            stored(accessModes=["A"]),
            claim(accessModes=["B"]),
            ["accessModes: want ['A'], have ['B']"],
            id="other modes",
        ),
    ],
)
def test_what_a_claim_has_otherwise(wanted: RayCluster, found: dict[str, Any], drift: list[str]) -> None:
    assert claim_drift(wanted, found) == drift
