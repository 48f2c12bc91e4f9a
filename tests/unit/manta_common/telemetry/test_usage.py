"""What a process uses is shown, and a blocked event loop is noticed."""

import asyncio
import logging

import pytest

from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.usage import sample_loop_delay, watch_usage
from tests.unit.manta_common.telemetry.parse import samples
from tests.unit.manta_common.virtual import VirtualLoop, run


def test_usage_is_shown() -> None:
    registry = Registry("x")
    watch_usage(registry, "0.1.0")
    found = {name: value for (name, _), value in samples(exposition([registry])).items()}
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_resident_memory_bytes"] > 1_000_000
    assert 0 < found["process_open_fds"] < found["process_max_fds"]
    assert found["process_start_time_seconds"] > 1_700_000_000
    assert found["manta_build_info"] == 1


def test_a_blocked_loop_is_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()

    async def block() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        sampling = asyncio.create_task(sample_loop_delay(registry, loop.time))
        await asyncio.sleep(10)
        loop.advance(3)  # somebody computes for three seconds
        await asyncio.sleep(10)
        sampling.cancel()

    with caplog.at_level(logging.WARNING):
        run(block())
    found = {(name, dict(labels).get("le")): value for (name, labels), value in samples(exposition([registry])).items()}
    total = found["manta_event_loop_delay_seconds_count", None]
    assert total >= 198
    assert found["manta_event_loop_delay_seconds_bucket", "0.01"] == total - 1
    assert found["manta_event_loop_delay_seconds_bucket", "2.5"] == total - 1
    assert found["manta_event_loop_delay_seconds_bucket", "5"] == total
    assert [record.getMessage() for record in caplog.records] == ["event loop was blocked"]
