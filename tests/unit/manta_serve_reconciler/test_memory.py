"""What a replica remembers of RayServices goes with them, and with their partition."""

from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_serve_reconciler.gauges import Gauges
from manta_serve_reconciler.memory import Memory
from manta_serve_reconciler.observed import Submitted
from tests.unit.manta_serve_reconciler.made import service

ITEM, OTHER = Item(1, Key("n", "a")), Item(2, Key("n", "b"))


def test_what_went_to_another_replica_is_forgotten() -> None:
    memory = Memory()
    for item in (ITEM, OTHER):
        memory.told(item, "u", Submitted())
    memory.lose(lambda item: item == ITEM)
    assert not memory.submitted(ITEM)
    assert memory.submitted(OTHER)


def test_what_went_to_another_replica_is_not_shown_again_when_its_partition_comes_back() -> None:
    registry = Registry()
    gauges = Gauges(registry, lambda item: True)
    gauges.saw(ITEM, service())
    gauges.lose(lambda item: item == OTHER)
    assert "kuberay_service_info{" in exposition([registry])
    gauges.lose(lambda item: item == ITEM)
    assert "kuberay_service_info{" not in exposition([registry])
