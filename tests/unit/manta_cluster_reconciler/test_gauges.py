"""KubeRay's metrics of clusters, with KubeRay's labels and no others."""

from datetime import timedelta

from manta_cluster_reconciler.gauges import Gauges
from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from tests.unit.manta_cluster_reconciler.scenes import NOW, cluster, true

ITEM = Item(3, Key("ns", "demo"))
LABELS = 'name="demo",namespace="ns",uid="u-1"'


def shown(registry: Registry) -> set[str]:
    return {line for line in exposition([registry]).splitlines() if line.startswith("kuberay_cluster")}


def test_a_cluster_is_shown_while_it_is_there_and_ours() -> None:
    registry, ours = Registry("cluster-reconciler"), {3}
    gauges = Gauges(registry, lambda item: item.partition in ours)
    gauges.saw(ITEM, cluster(labels={"ray.io/originated-from-crd": "RayJob"}))
    assert shown(registry) == {
        f'kuberay_cluster_info{{{LABELS},owner_kind="RayJob"}} 1',
        f'kuberay_cluster_condition_provisioned{{{LABELS},condition="false"}} 1',
    }
    gauges.saw(ITEM, cluster(status=true("RayClusterProvisioned")))
    assert f'kuberay_cluster_info{{{LABELS},owner_kind="None"}} 1' in shown(registry)
    assert f'kuberay_cluster_condition_provisioned{{{LABELS},condition="true"}} 1' in shown(registry)
    ours.clear()
    assert shown(registry) == set()


def test_how_long_it_took_is_shown_until_the_cluster_is_gone() -> None:
    registry = Registry("cluster-reconciler")
    gauges = Gauges(registry, lambda item: True)
    of = cluster(creationTimestamp=NOW.isoformat())
    gauges.saw(ITEM, of)
    gauges.provisioned(of, NOW + timedelta(seconds=42))
    assert f"kuberay_cluster_provisioned_duration_seconds{{{LABELS}}} 42" in shown(registry)
    gauges.gone(ITEM)
    assert shown(registry) == set()


def test_a_cluster_that_went_to_another_replica_is_not_shown_again_when_its_partition_comes_back() -> None:
    registry = Registry("cluster-reconciler")
    gauges = Gauges(registry, lambda item: True)
    gauges.saw(ITEM, cluster())
    gauges.lose(lambda item: item.partition == 2)
    assert shown(registry)
    gauges.lose(lambda item: item.partition == 3)
    assert shown(registry) == set()
