"""Which pods fit on the node."""

from typing import Any

import pytest

from manta_embedded.node import capacity

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "3"}
NODE: dict[str, Any] = {"metadata": {"labels": {"disk": "ssd"}}}


def pod(cpu: str = "0", memory: str = "0", *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod that asks for so much."""
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    metadata = {"name": "p", "namespace": "ns", "labels": labels or {}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "resources": resources}], **spec}}


@pytest.mark.parametrize(
    ("asked", "others", "wanted"),
    [
        pytest.param(pod("2", "4Gi"), [], "", id="all of it"),
        pytest.param(pod("1"), [pod("1")], "", id="beside another"),
        pytest.param(pod("1100m"), [pod("1")], "1 Insufficient cpu", id="too little left"),
        pytest.param(pod("3", "5Gi"), [], "1 Insufficient cpu, 1 Insufficient memory", id="too little of two"),
        pytest.param(pod(), [pod(), pod(), pod()], "1 Too many pods", id="too many"),
        pytest.param(
            pod(nodeSelector={"disk": "tape"}), [], "1 node(s) didn't match Pod's node affinity/selector", id="not here"
        ),
        pytest.param(pod(nodeSelector={"disk": "ssd"}), [], "", id="here"),
    ],
)
def test_room(asked: dict[str, Any], others: list[dict[str, Any]], wanted: str) -> None:
    found = capacity.complaint(asked, others, ROOM, NODE)
    assert found.removeprefix("0/1 nodes are available: ").partition(". ")[0] == wanted


def test_the_largest_init_container_counts() -> None:
    inits = [{"resources": {"requests": {"cpu": "1900m"}}}, {"resources": {"limits": {"cpu": "3"}}}]
    assert str(capacity.requests(pod("1", initContainers=inits))["cpu"]) == "3"


def test_one_ray_cluster_at_a_time_where_all_share_an_address() -> None:
    first = pod(labels={"ray.io/cluster": "a", "ray.io/node-type": "head"})
    second = pod(labels={"ray.io/cluster": "b", "ray.io/node-type": "head"})
    assert capacity.ray_complaint(first, [pod()]) == ""
    assert "run a node of Ray cluster ns/a already" in capacity.ray_complaint(first, [first])
    assert capacity.ray_complaint(pod(), [first]) == ""
    assert "run Ray cluster ns/a already" in capacity.ray_complaint(second, [first])
