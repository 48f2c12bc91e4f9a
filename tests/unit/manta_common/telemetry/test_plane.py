"""The recorders count under the right names."""

import pytest

from manta_common.errors import AlreadyExists, NotFound
from manta_common.kinds import POD
from manta_common.telemetry import names
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.plane import (
    ApiMetrics,
    BusMetrics,
    FeedMetrics,
    FenceMetrics,
    OwnershipMetrics,
    outcome_word,
)
from tests.unit.manta_common.telemetry.parse import samples


def counted(registry: Registry) -> dict[str, float]:
    """What is not zero, buckets left out."""
    found = samples(exposition([registry]))
    return {
        " ".join([name, *(value for _, value in labels)]): number
        for (name, labels), number in found.items()
        if number and not name.endswith(("_bucket", "_sum"))
    }


@pytest.mark.parametrize(
    ("error", "word"),
    [
        pytest.param(NotFound.__name__, "not_found", id="an error of two words"),
        pytest.param(AlreadyExists.__name__, "already_exists", id="another"),
        pytest.param("ok", "ok", id="no error"),
        pytest.param("Cancelled", "cancelled", id="cancelled"),
    ],
)
def test_an_error_becomes_a_label(error: str, word: str) -> None:
    assert outcome_word(error) == word
    assert word in names.CALL_OUTCOMES


def test_api_calls_are_counted_and_zero_before() -> None:
    registry = Registry()
    api = ApiMetrics(registry, [POD.name], ["create", "delete"])
    zeros = [labels for (name, labels) in samples(exposition([registry])) if name == "manta_api_calls_total"]
    assert len(zeros) == 2 * len(names.CALL_OUTCOMES)
    api.called("create", "pod", "ok", 0.01)
    api.called("create", "pod", "Conflict", 0.01)
    api.called("get", "version", "KindMissing", 0.01)
    assert counted(registry) == {
        "manta_api_calls_total pod ok create": 1,
        "manta_api_calls_total pod conflict create": 1,
        "manta_api_calls_total version kind_missing get": 1,
        "manta_api_call_seconds_count create": 2,
        "manta_api_call_seconds_count get": 1,
    }


def test_the_bus_is_counted() -> None:
    registry, connected = Registry(), [True]
    bus = BusMetrics(registry, lambda: connected[0])
    bus.published("ok", 0.001)
    bus.published("Conflict", 0.001)
    assert counted(registry) == {
        "manta_bus_connected": 1,
        "manta_bus_publishes_total ok": 1,
        "manta_bus_publishes_total conflict": 1,
        "manta_bus_publish_seconds_count": 2,
    }
    connected[0] = False
    assert "manta_bus_connected" not in counted(registry)


def test_the_feed_is_counted() -> None:
    registry = Registry()
    feed = FeedMetrics(registry, "w", ["pod", "job"])
    feed.took("pod")
    feed.left_out("job")
    feed.replayed()
    feed.lagged(0.2)
    feed.watch(replaying=lambda: 1, ready=lambda: 3)
    assert counted(registry) == {
        "manta_feed_messages_total pod w": 1,
        "manta_feed_poison_total job w": 1,
        "manta_feed_replays_total w": 1,
        "manta_feed_lag_seconds_count w": 1,
        "manta_feed_partitions replaying w": 1,
        "manta_feed_partitions ready w": 3,
    }


def test_fence_and_ownership_are_counted() -> None:
    registry = Registry()
    fence = FenceMetrics(registry, "w", lambda: 4)
    fence.waited(0.1)
    fence.verified("overdue")
    ownership = OwnershipMetrics(registry, "w", owned=lambda: 16, members=lambda: 2)
    ownership.moved("claimed", 16)
    ownership.moved("lost")
    ownership.drained_late()
    assert counted(registry) == {
        "manta_fence_held_keys w": 4,
        "manta_fence_wait_seconds_count w": 1,
        "manta_fence_verifications_total overdue w": 1,
        "manta_partitions_owned w": 16,
        "manta_members w": 2,
        "manta_partitions_moved_total claimed w": 16,
        "manta_partitions_moved_total lost w": 1,
        "manta_partitions_drained_late_total w": 1,
    }
