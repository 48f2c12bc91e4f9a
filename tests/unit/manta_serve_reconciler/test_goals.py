"""When a cluster is kept, changed in place or replaced."""

from typing import Any

import msgspec
import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService, RayServiceStatuses
from manta_serve_reconciler.actions import CreateCluster, UpdateCluster
from manta_serve_reconciler.observed import ServeSettings
from manta_serve_reconciler.policies import clusters, goals
from tests.examples import manifests as examples
from tests.examples.example import Json
from tests.unit.manta_serve_reconciler import made

GROUP = examples.GROUP
MORE: Json = {**GROUP, "groupName": "large"}


def changed(**config: Any) -> RayService:
    """The RayService after an edit of its cluster."""
    return made.service({"rayClusterConfig": config}, meta={"generation": 2})


@pytest.mark.parametrize(
    ("edit", "is_new", "is_updated"),
    [
        pytest.param({}, False, False, id="nothing"),
        pytest.param({"rayVersion": "2.57.0"}, True, False, id="another version of Ray"),
        pytest.param({"workerGroupSpecs": [{**GROUP, "replicas": 3}]}, False, False, id="only the number of workers"),
        pytest.param({"workerGroupSpecs": [GROUP, MORE]}, False, True, id="one more group at the end"),
        pytest.param({"workerGroupSpecs": [MORE, GROUP]}, True, False, id="one more group in front"),
        pytest.param({"workerGroupSpecs": []}, True, False, id="a group less"),
        pytest.param({"suspend": True}, False, False, id="suspension of the cluster"),
        pytest.param({"upgradeStrategy": {"type": "Recreate"}}, False, False, id="what clusters of ours must not have"),
    ],
)
def test_an_edit_means_another_cluster_or_a_change_in_place(edit: Json, is_new: bool, is_updated: bool) -> None:
    found = made.observed(changed(**edit), active=made.side("active", "old", cluster=made.cluster("old")))
    assert goals.needs_new_cluster(found, ServeSettings()) == is_new
    assert goals.is_active_outdated(found) == is_updated


@pytest.mark.parametrize(
    ("chosen", "settings", "is_new"),
    [
        pytest.param(None, ServeSettings(), True, id="by default"),
        pytest.param(None, ServeSettings(zero_downtime=False), False, id="not if the installation says so"),
        pytest.param("NewCluster", ServeSettings(zero_downtime=False), True, id="the type wins"),
        pytest.param("None", ServeSettings(), False, id="never with None"),
    ],
)
def test_the_type_decides_whether_there_is_another_cluster(
    chosen: str | None, settings: ServeSettings, is_new: bool
) -> None:
    patch = {"rayClusterConfig": {"rayVersion": "2.57.0"}, "upgradeStrategy": {"type": chosen} if chosen else {}}
    active = made.side("active", "old", cluster=made.cluster("old"))
    assert goals.needs_new_cluster(made.observed(made.service(patch), active=active), settings) == is_new


def test_without_any_cluster_there_is_one_to_make_whatever_the_type() -> None:
    lonely = made.observed(made.service({"upgradeStrategy": {"type": "None"}}), active=made.side("active", "old"))
    assert goals.needs_new_cluster(lonely, ServeSettings())


def test_a_cluster_of_kuberay_is_taken_over_in_place_but_not_during_an_upgrade() -> None:
    foreign = _annotated(made.cluster("old"), {"ray.io/kuberay-version": "v1.7.0"})
    active = made.side("active", "old", cluster=foreign)
    assert clusters.actions(made.observed(active=active)) == (UpdateCluster("old", "active"),)
    upgrading = RayServiceStatuses(conditions=(made.condition("UpgradeInProgress", "True"),))
    assert clusters.actions(made.observed(made.service(status=upgrading), active=active)) == ()


def test_without_a_count_of_groups_every_spec_counts_as_an_extension() -> None:
    unknown = _annotated(made.cluster("old"), {"ray.io/num-worker-groups": "x"})
    assert goals.is_extended(unknown, changed(rayVersion="2.57.0").spec.ray_cluster_config)


def test_a_cluster_to_come_is_made_under_its_name_before_anything_is_changed() -> None:
    active = made.side("active", "old", cluster=_annotated(made.cluster("old"), {"ray.io/kuberay-version": "v1"}))
    found = made.observed(active=active, pending=made.side("pending", "new"))
    assert clusters.actions(found) == (CreateCluster("new"),)


def test_names_are_the_same_for_everybody_and_never_used_twice() -> None:
    found = made.observed(active=made.side("active", "old", cluster=made.cluster("old")))
    first = clusters.new_name(found)
    assert first == clusters.new_name(found)
    assert first.startswith("demo-")
    standing = msgspec.structs.replace(found, clusters=(*found.clusters, made.cluster(first)))
    assert clusters.new_name(standing) != first


def _annotated(cluster: RayCluster, notes: dict[str, str]) -> RayCluster:
    about = msgspec.structs.replace(cluster.metadata, annotations={**cluster.metadata.annotations, **notes})
    return msgspec.structs.replace(cluster, metadata=about)
