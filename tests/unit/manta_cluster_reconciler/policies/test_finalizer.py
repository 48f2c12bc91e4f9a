"""Clusters with Redis get their finalizer before anything else."""

from typing import Any

import pytest

from manta_cluster_reconciler.actions import AddFinalizer
from manta_cluster_reconciler.decide import decide
from manta_cluster_reconciler.policies import finalizer
from manta_cluster_reconciler.rules import Rules
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import NOW, RULES, cluster, scene

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
OPTIONS: Json = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
OFF = Rules(redis_cleanup=False)


@pytest.mark.parametrize(
    ("patch", "metadata", "rules", "added"),
    [
        pytest.param(OPTIONS, {}, RULES, True, id="by its options"),
        pytest.param({}, {"annotations": {"ray.io/ft-enabled": "True"}}, RULES, True, id="by its annotation"),
        pytest.param(OPTIONS, {"finalizers": ["x", FINALIZER]}, RULES, False, id="it is there"),
        pytest.param(OPTIONS, {}, OFF, False, id="cleaning up is turned off"),
        pytest.param({"gcsFaultToleranceOptions": {"backend": "rocksdb"}}, {}, RULES, False, id="without Redis"),
        pytest.param({}, {}, RULES, False, id="without fault tolerance"),
    ],
)
def test_who_gets_a_finalizer(patch: Json, metadata: dict[str, Any], rules: Rules, added: bool) -> None:
    found = finalizer.actions(scene(cluster(patch, **metadata)), rules)
    assert found == ([AddFinalizer(FINALIZER)] if added else [])


def test_nothing_else_is_done_before_it_is_there() -> None:
    assert decide(scene(cluster(OPTIONS)), RULES, NOW) == [[AddFinalizer(FINALIZER)]]
