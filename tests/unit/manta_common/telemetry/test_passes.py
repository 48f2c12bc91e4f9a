"""Passes are counted, are in the trace of what caused them, and put key and partition on their log lines."""

import asyncio
import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from manta_common.errors import Unreachable
from manta_common.execute import execute
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.logs import JsonLines
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.passes import MOST_CAUSES, Passes, traced_actions
from manta_common.telemetry.tracing import Tracing
from manta_common.worker import Worker
from tests.unit.manta_common.telemetry.parse import samples
from tests.unit.manta_common.telemetry.spans import Kept, context
from tests.unit.manta_common.virtual import run


class CreatePod(msgspec.Struct, frozen=True):
    """An action."""

    because: str


class Scene:
    """A worker with its telemetry; the first pass of the key `bad` fails."""

    def __init__(self, tracing: Tracing) -> None:
        self.registry, self.tracing, self.fails = Registry("toy"), tracing, 1
        self.passes: Passes[str] = Passes(self.registry, tracing, worker="toys", partition=len)
        self.worker: Worker[str] = Worker(
            self.passes.traced(self.work), lambda: datetime(2026, 1, 1, tzinfo=UTC), tell=self.passes.tell
        )
        self.passes.watch(self.worker)

    async def work(self, key: str) -> None:
        if key == "bad" and self.fails:
            self.fails -= 1
            raise Unreachable("nobody there")
        actions = [CreatePod("one is missing")]
        await execute([actions], traced_actions(self.tracing, self.carry_out))

    async def carry_out(self, action: CreatePod) -> None:
        logging.getLogger("toy").warning("pod created")

    async def play(self, *keys: str) -> None:
        running = asyncio.create_task(self.worker.run())
        for key in keys:
            self.worker.mark(key)
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.wait([running])

    def number(self, name: str, **labels: str) -> float:
        place = (name, tuple(sorted({"component": "toy", "worker": "toys", **labels}.items())))
        return samples(exposition([self.registry]))[place]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    written = io.StringIO()
    to_text = logging.StreamHandler(written)
    to_text.setFormatter(JsonLines("toy"))
    logging.getLogger().addHandler(to_text)
    yield written
    logging.getLogger().removeHandler(to_text)


def lines(logged: io.StringIO) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in logged.getvalue().splitlines()]


def test_passes_are_counted_by_outcome() -> None:
    scene = Scene(Tracing())
    run(scene.play("good", "bad"))
    assert scene.number("manta_passes_total", outcome="done") == 2
    assert scene.number("manta_passes_total", outcome="retry") == 1
    assert scene.number("manta_passes_total", outcome="crashed") == 0
    assert scene.number("manta_pass_seconds_count") == scene.number("manta_pass_wait_seconds_count") == 3


def test_the_queue_is_shown() -> None:
    async def look() -> None:
        scene = Scene(Tracing())
        scene.worker.mark("a")
        await asyncio.sleep(5)
        assert scene.number("manta_queue_depth") == 1
        assert scene.number("manta_queue_oldest_wait_seconds") == 5

    run(look())


@pytest.mark.parametrize("tracing", [pytest.param(True, id="with traces"), pytest.param(False, id="without")])
def test_every_line_of_a_pass_has_its_key_and_partition(logged: io.StringIO, tracing: bool) -> None:
    scene = Scene(Kept().tracing if tracing else Tracing())
    run(scene.play("bad"))
    written = lines(logged)
    assert [line["message"] for line in written] == ["pass will be tried again", "pod created"]
    assert {(line["key"], line["partition"], line["worker"]) for line in written} == {("bad", 3, "toys")}
    assert all(("trace_id" in line) == tracing for line in written)


def test_a_pass_is_in_the_trace_of_its_first_cause_and_actions_are_below_it() -> None:
    kept = Kept()
    scene = Scene(kept.tracing)
    for name in ("watch", "again"):
        with kept.tracing.span(name):
            scene.passes.caused("good", kept.tracing.headers())
    run(scene.play("good"))
    assert kept.parent("pass") == "watch"
    assert kept.parent("action CreatePod") == "pass"
    assert len(kept.spans["pass"].links) == 1
    assert kept.spans["pass"].attributes == {"manta.key": "good", "manta.worker": "toys", "manta.partition": 4}
    assert kept.spans["action CreatePod"].attributes == {"manta.because": "one is missing"}


def test_a_pass_without_a_cause_is_a_trace_of_its_own() -> None:
    kept = Kept()
    scene = Scene(kept.tracing)
    scene.passes.caused("good", {})
    run(scene.play("good"))
    assert kept.spans["pass"].parent is None


def test_causes_are_few_and_forgotten_with_the_key() -> None:
    kept = Kept()
    scene = Scene(kept.tracing)
    for _ in range(3 * MOST_CAUSES):
        with kept.tracing.span("watch"):
            scene.passes.caused("good", kept.tracing.headers())
            scene.passes.caused("other", kept.tracing.headers())
    scene.passes.forget(lambda key: key == "other")
    run(scene.play("other", "good"))
    passes = {(span.attributes or {})["manta.key"]: span for span in kept.all if span.name == "pass"}
    assert len(passes["good"].links) == MOST_CAUSES - 1
    assert passes["other"].parent is None


def test_without_traces_actions_are_carried_out_by_the_very_function() -> None:
    scene = Scene(Tracing())
    carry_out = scene.carry_out
    assert traced_actions(scene.tracing, carry_out) is carry_out


def test_a_pass_that_is_tried_again_stays_in_the_trace_of_its_cause() -> None:
    kept = Kept()
    scene = Scene(kept.tracing)
    with kept.tracing.span("watch"):
        scene.passes.caused("bad", kept.tracing.headers())
    run(scene.play("bad"))
    passes = [span for span in kept.all if span.name == "pass"]
    assert len(passes) == 2
    assert {span.parent.span_id for span in passes if span.parent} == {context(kept.spans["watch"]).span_id}
    assert len(kept.traces()) == 1


def test_a_message_that_marks_a_key_twice_is_one_cause() -> None:
    kept = Kept()
    scene = Scene(kept.tracing)
    with kept.tracing.span("watch"):
        for _ in range(2):
            scene.passes.caused("good", kept.tracing.headers())
    run(scene.play("good"))
    assert not kept.spans["pass"].links
