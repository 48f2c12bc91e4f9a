"""Pods' names: the look of KubeRay's, but the same each time they are computed."""

import re
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from manta_common.api.meta import ObjectMeta, OwnerReference
from manta_common.api.names import SUFFIX_ALPHABET
from manta_common.ray.names import (
    UNKNOWN_LIFE,
    Place,
    head_pod_name,
    is_same_pod,
    place_of,
    replica_name,
    worker_pod_name,
    worker_record,
)
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import HEAD, SETTINGS, cluster, worker

TAIL = f"[{SUFFIX_ALPHABET}]{{5}}"


def test_names_look_like_kuberay_s() -> None:
    assert re.fullmatch(f"demo-head-{TAIL}", head_pod_name(cluster(), 0, SETTINGS))
    assert re.fullmatch(f"demo-small-worker-{TAIL}", worker_pod_name(cluster(), "small", Place(0)))
    assert re.fullmatch(f"small-{TAIL}", replica_name(cluster(), "small", Place(0)))


def test_a_name_is_the_same_each_time() -> None:
    assert worker_pod_name(cluster(), "small", Place(3, 1, 2)) == worker_pod_name(cluster(), "small", Place(3, 1, 2))
    assert head_pod_name(cluster(), 4, SETTINGS) == head_pod_name(cluster(), 4, SETTINGS)


def test_places_lives_groups_and_clusters_have_names_of_their_own() -> None:
    places = [Place(replica, host, life) for replica in range(5) for host in range(5) for life in range(5)]
    other = cluster({"metadata.uid": "another"})
    made = [worker_pod_name(one, group, place) for one in (cluster(), other) for group in "ab" for place in places]
    assert len(set(made)) == len(made)
    assert head_pod_name(cluster(), 0, SETTINGS) != head_pod_name(cluster(), 1, SETTINGS)


def test_hosts_of_one_worker_share_their_replica_name() -> None:
    assert replica_name(cluster(), "g", Place(1, 0)) == replica_name(cluster(), "g", Place(1, 1))
    assert replica_name(cluster(), "g", Place(1, 0)) != replica_name(cluster(), "g", Place(1, 0, 1))


def test_a_head_may_have_a_name_of_its_own_or_a_fixed_one() -> None:
    named = cluster({f"{HEAD}.template.metadata": {"name": "mine"}})
    assert head_pod_name(named, 7, SETTINGS) == "mine"
    assert head_pod_name(cluster(), 7, RaySettings(fixed_head_name=True)) == "demo-head"


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        pytest.param(
            ObjectMeta(generate_name=worker_record(cluster(), "a-1", Place(12, 3, 4))),
            Place(12, 3, 4),
            id="one of ours",
        ),
        pytest.param(
            ObjectMeta(generate_name="c-g-worker-", labels={"ray.io/worker-group-replica-index": "2"}),
            Place(2, 0, UNKNOWN_LIFE),
            id="one of KubeRay's",
        ),
        pytest.param(
            ObjectMeta(
                generate_name="c-1-2-3-worker-",
                labels={"ray.io/worker-group-replica-index": "2", "ray.io/replica-host-index": "1"},
            ),
            Place(2, 1, UNKNOWN_LIFE),
            id="one of KubeRay's with several hosts",
        ),
        pytest.param(ObjectMeta(generate_name="c-g-worker-"), None, id="one of KubeRay's without the gate"),
        pytest.param(
            ObjectMeta(labels={"ray.io/worker-group-replica-index": "x"}), None, id="a label that is no number"
        ),
    ],
)
def test_a_pod_tells_its_place(metadata: ObjectMeta, place: Place | None) -> None:
    assert place_of(metadata) == place


def existing(**changes: Any) -> ObjectMeta:
    made = worker()["metadata"]
    owner = OwnerReference(api_version="ray.io/v1", kind="RayCluster", name="demo", uid="12345678-uid", controller=True)
    found = ObjectMeta(name=made["name"], generate_name=made["generateName"], owner_references=(owner,))
    return msgspec.structs.replace(found, **changes)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({}, True, id="made by us a moment ago"),
        pytest.param({"generate_name": worker_record(cluster(), "small", Place(0, 0, 1))}, False, id="another life"),
        pytest.param({"generate_name": worker_record(cluster(), "small", Place(1))}, False, id="another place"),
        pytest.param({"generate_name": ""}, False, id="made by hand"),
        pytest.param({"owner_references": ()}, False, id="of nobody"),
        pytest.param(
            {"owner_references": (OwnerReference(api_version="v1", kind="X", name="x", uid="other", controller=True),)},
            False,
            id="of somebody else",
        ),
        pytest.param({"deletion_timestamp": datetime(2026, 1, 1, tzinfo=UTC)}, False, id="on its way out"),
    ],
)
def test_a_taken_name_is_success_only_for_the_very_same_pod(changes: dict[str, Any], *, same: bool) -> None:
    assert is_same_pod(existing(**changes), worker()) is same
