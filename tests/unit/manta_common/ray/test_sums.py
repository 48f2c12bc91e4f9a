"""What a cluster asks for in all."""

from typing import Any

import msgspec
import pytest

from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.ray.sums import (
    Totals,
    desired_workers,
    group_replicas,
    max_workers,
    min_resources,
    min_workers,
    resource_totals,
)
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, cluster


def group(**fields: Any) -> WorkerGroupSpec:
    return msgspec.json.decode(msgspec.json.encode({"groupName": "g", "template": {}, **fields}), type=WorkerGroupSpec)


@pytest.mark.parametrize(
    ("fields", "replicas"),
    [
        pytest.param({"replicas": 2, "minReplicas": 1, "maxReplicas": 3}, 2, id="within the bounds"),
        pytest.param({"replicas": 0, "minReplicas": 1, "maxReplicas": 3}, 1, id="too few"),
        pytest.param({"replicas": 9, "minReplicas": 1, "maxReplicas": 3}, 3, id="too many"),
        pytest.param({"minReplicas": 1, "maxReplicas": 3}, 1, id="no number is the fewest"),
        pytest.param({}, 0, id="no bounds either"),
        pytest.param({"replicas": 2**31 - 1}, 2**31 - 1, id="no upper bound"),
        pytest.param({"replicas": 2, "minReplicas": 1, "suspend": True}, 0, id="suspended"),
        pytest.param({"replicas": 2, "suspend": False}, 2, id="explicitly not suspended"),
    ],
)
def test_replicas_of_a_group(fields: dict[str, Any], replicas: int) -> None:
    assert group_replicas(group(**fields)) == replicas


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        pytest.param({}, (1, 0, 3), id="one group"),
        pytest.param({f"{GROUP}.numOfHosts": 4}, (4, 0, 12), id="several hosts"),
        pytest.param({f"{GROUP}.numOfHosts": 0}, (0, 0, 0), id="no hosts at all"),
        pytest.param({f"{GROUP}.suspend": True}, (0, 0, 0), id="suspended"),
        pytest.param({f"{GROUP}.minReplicas": 2}, (2, 2, 3), id="at least two"),
        pytest.param(
            {f"{GROUP}.maxReplicas": 2**31 - 1, f"{GROUP}.numOfHosts": 2}, (2, 0, 2**31 - 1), id="more than fits"
        ),
        pytest.param({f"{GROUP}.numOfHosts": -1}, (0, 0, 0), id="fewer hosts than none"),
        pytest.param(
            {f"{GROUP}.minReplicas": 2, f"{GROUP}.numOfHosts": 2**31 - 1}, (2**31 - 1,) * 3, id="far more than fits"
        ),
        pytest.param({"spec.workerGroupSpecs": []}, (0, 0, 0), id="no groups"),
    ],
)
def test_numbers_of_workers(changes: dict[str, Any], counts: tuple[int, int, int]) -> None:
    spec = cluster(changes).spec
    assert (desired_workers(spec), min_workers(spec), max_workers(spec)) == counts


def amounts(**kinds: dict[str, str]) -> dict[str, Any]:
    return {"name": "c", "image": "x", "resources": kinds}


@pytest.mark.parametrize(
    ("changes", "totals"),
    [
        pytest.param({}, Totals("0", "0", "0", "0"), id="nothing asked for"),
        pytest.param(
            {
                f"{HEAD}.{RAY}.resources": {"requests": {"cpu": "500m", "memory": "200Mi"}},
                f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "1", "memory": "2Gi"}},
            },
            Totals("1500m", "2248Mi", "0", "0"),
            id="requests, and limits where there are none",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}}, f"{GROUP}.replicas": 9},
            Totals("9", "0", "0", "0"),
            id="the bounds are not heeded",
        ),
        pytest.param(
            {
                f"{GROUP}.{RAY}.resources": {
                    "limits": {"nvidia.com/gpu": "2", "amd.com/gpu": "1", "google.com/tpu": "4"}
                }
            },
            Totals("0", "0", "3", "4"),
            id="all kinds of GPUs, and TPUs",
        ),
        pytest.param(
            {f"{HEAD}.template.spec.containers": [amounts(requests={"cpu": "1"}), amounts(limits={"cpu": "2"})]},
            Totals("3", "0", "0", "0"),
            id="all containers of a template",
        ),
        pytest.param(
            {f"{HEAD}.template.spec.initContainers": [amounts(requests={"cpu": "1"})]},
            Totals("0", "0", "0", "0"),
            id="but no init containers",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "1"}}, f"{GROUP}.numOfHosts": 3, f"{GROUP}.replicas": 2},
            Totals("6", "0", "0", "0"),
            id="each host",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "1"}}, f"{GROUP}.suspend": True},
            Totals("0", "0", "0", "0"),
            id="not a suspended group",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "1"}}, f"{GROUP}.replicas": -3},
            Totals("0", "0", "0", "0"),
            id="fewer than no workers are none",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"limits": {"memory": "840G"}}},
            Totals("0", "840G", "0", "0"),
            id="in the notation of what is there",
        ),
    ],
)
def test_totals(changes: dict[str, Any], totals: Totals) -> None:
    assert resource_totals(cluster(changes).spec) == totals


def test_the_fewest_workers_ask_for_less() -> None:
    spec = cluster(
        {f"{GROUP}.{RAY}.resources": {"limits": {"cpu": "1"}}, f"{GROUP}.minReplicas": 2, f"{GROUP}.replicas": 3}
    ).spec
    assert {name: str(amount) for name, amount in min_resources(spec).items()} == {"cpu": "2"}


def test_of_two_groups_with_one_name_the_first_counts() -> None:
    spec = cluster({}).spec
    twice = msgspec.structs.replace(spec, worker_group_specs=spec.worker_group_specs * 2)
    assert (desired_workers(twice), max_workers(twice)) == (desired_workers(spec), max_workers(spec))
    assert resource_totals(twice) == resource_totals(spec)
