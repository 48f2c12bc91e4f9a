"""KubeRay's CRDs are replaced by ours in place, and back, while objects live on."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.crd.server import path
from tests.manifests.compare import lost
from tests.manifests.files import STATUSES, manifests
from tests.parts.cluster import Cluster
from tests.parts.crds import OURS, install
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

NEW_HERE = ("cluster-fenced", "cluster-rocksdb")  # they use what KubeRay 1.6.2 does not know
OLD = {name: one for name, one in manifests().items() if name not in NEW_HERE}


@pytest.fixture(scope="module")
def theirs() -> pathlib.Path:
    """The CRDs of the pinned KubeRay, from its own module."""
    ensure([TOOLS["kuberay"]])
    return TOOLS["kuberay"].path.parent / "config" / "crd" / "bases"


@pytest.fixture(autouse=True)
def _ours_again(cluster: Cluster) -> Iterator[None]:
    """Our CRDs are there again when a test is over."""
    yield
    install(cluster, OURS)


def test_objects_outlive_a_change_of_crds_and_back(cluster: Cluster, namespace: str, theirs: pathlib.Path) -> None:
    install(cluster, theirs)
    for one in OLD.values():
        made = cluster.request("POST", path(one["kind"], namespace), one)
        where = path(one["kind"], namespace, made["metadata"]["name"])
        patch = [{"op": "add", "path": "/status", "value": STATUSES[one["kind"]]}]
        cluster.request("PATCH", f"{where}/status", patch, "application/json-patch+json")
    before = everything(cluster, namespace)
    assert len(before) == len(OLD)
    assert "concurrencyPolicy" not in before["RayCronJob/careful"]["spec"]

    install(cluster, OURS)
    with_ours = everything(cluster, namespace)
    assert not list(lost(before, with_ours))
    assert {path.rpartition(".")[2] for path in lost(with_ours, before, zeros=())} == {"priority"}  # a new default
    touch(cluster, namespace)
    cluster.request(
        "PUT", path("RayCronJob", namespace, "careful"), cron(cluster, namespace, concurrencyPolicy="Forbid")
    )

    install(cluster, theirs)
    assert specs(everything(cluster, namespace)) == specs(before)
    touch(cluster, namespace)
    assert specs(everything(cluster, namespace)) == specs(before)


def cron(cluster: Cluster, namespace: str, **changes: Any) -> dict[str, Any]:
    """The stored RayCronJob with fields of its spec changed."""
    one: dict[str, Any] = cluster.request("GET", path("RayCronJob", namespace, "careful"))
    return one | {"spec": one["spec"] | changes}


def specs(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Uid and spec of each object."""
    return {name: (one["metadata"]["uid"], one.get("spec")) for name, one in objects.items()}


def everything(cluster: Cluster, namespace: str) -> dict[str, dict[str, Any]]:
    """Every object of the kinds, by kind and name, without what a server notes down for itself."""
    found = {}
    for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob"):
        for one in cluster.request("GET", path(kind, namespace))["items"]:
            one["metadata"].pop("managedFields", None)
            found[f"{kind}/{one['metadata']['name']}"] = one
    return found


def touch(cluster: Cluster, namespace: str) -> None:
    """Write every object anew, as any controller would."""
    for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob"):
        for one in cluster.request("GET", path(kind, namespace))["items"]:
            one["metadata"].setdefault("labels", {})["touched"] = str(len(one["metadata"].get("labels", {})))
            cluster.request(
                "PUT", path(kind, namespace, one["metadata"]["name"]), one | {"kind": kind, "apiVersion": "ray.io/v1"}
            )
