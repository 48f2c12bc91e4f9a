"""The worker: one pass per key at a time, none lost, failing keys later and later, the others unharmed."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

import pytest
import uvloop

from manta_common.errors import Conflict, MantaError, NotCaughtUp, Refused, Rejected, Throttled
from manta_common.worker import LATE_SECONDS, Pace, PassEnded, Worker
from tests.unit.manta_common.virtual import run

START = datetime(2026, 1, 1, tzinfo=UTC)
Work = Callable[[str], Awaitable[None]]


def now() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Scene:
    """A worker with a script: what each key's pass raises, in order; then it succeeds."""

    def __init__(self, pace: Pace | None = None, **errors: list[Exception]) -> None:
        self.errors = errors
        self.passes: list[tuple[str, float]] = []
        self.ended: list[PassEnded[str]] = []
        self.at_once = self.most_at_once = 0
        self.took_seconds = 0.0
        self.worker: Worker[str] = Worker(self.work, now, pace=pace, tell=self.ended.append)

    async def work(self, key: str) -> None:
        self.passes.append((key, asyncio.get_running_loop().time()))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.took_seconds)
            if self.errors.get(key):
                raise self.errors[key].pop(0)
        finally:
            self.at_once -= 1

    async def play(self, *keys: str, seconds: float = 1000) -> None:
        running = asyncio.create_task(self.worker.run())
        for key in keys:
            self.worker.mark(key)
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.wait([running])

    def times(self, key: str) -> list[float]:
        return [at for name, at in self.passes if name == key]

    @property
    def outcomes(self) -> list[str]:
        return [ended.outcome for ended in self.ended]


def test_marks_before_a_pass_collapse_into_one() -> None:
    async def main() -> None:
        scene = Scene()
        await scene.play("a", "a", "b", "a")
        assert [key for key, _ in scene.passes] == ["a", "b"]

    run(main())


def test_a_mark_during_a_pass_runs_the_key_again_but_never_twice_at_once() -> None:
    async def main() -> None:
        scene = Scene()
        scene.took_seconds = 1
        playing = asyncio.create_task(scene.play("a"))
        await asyncio.sleep(0.5)
        scene.worker.mark("a")
        await playing
        assert scene.times("a") == [0, 1]
        assert scene.most_at_once == 1

    run(main())


def test_no_more_passes_at_once_than_allowed() -> None:
    async def main() -> None:
        scene = Scene(Pace(concurrency=3))
        scene.took_seconds = 1
        await scene.play(*"abcdefgh")
        assert scene.most_at_once == 3
        assert len(scene.passes) == 8

    run(main())


def test_a_key_that_is_marked_all_the_time_does_not_hold_up_the_others() -> None:
    async def main() -> None:
        scene = Scene(Pace(concurrency=1))
        plain = scene.work

        async def greedy(key: str) -> None:
            await plain(key)
            if key == "greedy" and len(scene.passes) < 50:
                scene.worker.mark("greedy")

        scene.worker = Worker(greedy, now, pace=Pace(concurrency=1))
        await scene.play("greedy", "a", "b")
        assert [key for key, _ in scene.passes][:4] == ["greedy", "a", "b", "greedy"]

    run(main())


@pytest.mark.parametrize(
    ("error", "outcome", "least", "most"),
    [
        pytest.param(Conflict("x"), "conflict", 0.003, 0.006, id="a conflict soon"),
        pytest.param(NotCaughtUp("x"), "not_caught_up", 0.003, 0.006, id="an old view soon"),
        pytest.param(Throttled("x", retry_after_seconds=7), "throttled", 7, 7.1, id="throttled when told"),
        pytest.param(Refused(403, "Forbidden", "x"), "retry", 0.003, 0.006, id="a refusal after a delay"),
        pytest.param(MantaError("x"), "retry", 0.003, 0.006, id="an error after a delay"),
        pytest.param(ValueError("a bug"), "crashed", 0.003, 0.006, id="a bug after a delay"),
    ],
)
def test_a_failed_pass_is_tried_again(error: Exception, outcome: str, least: float, most: float) -> None:
    async def main() -> None:
        scene = Scene(a=[error])
        await scene.play("a")
        assert scene.outcomes == [outcome, "done"]
        first, second = scene.times("a")
        assert least <= second - first <= most

    run(main())


def test_failures_wait_twice_as_long_each_time_up_to_the_limit() -> None:
    async def main() -> None:
        scene = Scene(a=[MantaError("x") for _ in range(20)])
        await scene.play("a", seconds=5000)
        times = scene.times("a")
        delays = [after - before for before, after in itertools.pairwise(times)]
        assert len(delays) == 20
        for number, delay in enumerate(delays):
            full = min(300, 0.005 * 2**number)
            assert full * 2 / 3 - 1e-6 <= delay <= full + LATE_SECONDS + 1e-6

    run(main())


def test_quiet_failures_never_wait_longer_than_a_second() -> None:
    async def main() -> None:
        scene = Scene(a=[NotCaughtUp("x") for _ in range(30)])
        await scene.play("a")
        times = scene.times("a")
        assert max(after - before for before, after in itertools.pairwise(times)) < 1 + 2 * LATE_SECONDS

    run(main())


def test_quiet_failures_do_not_make_the_next_real_one_wait_longer() -> None:
    async def main() -> None:
        scene = Scene(a=[*(NotCaughtUp("x") for _ in range(20)), MantaError("y")])
        await scene.play("a")
        before, after = scene.times("a")[-2:]
        assert after - before <= 0.006

    run(main())


def test_success_forgets_the_failures() -> None:
    async def main() -> None:
        scene = Scene(a=[MantaError("x") for _ in range(10)])
        await scene.play("a")
        scene.errors["a"] = [MantaError("again")]
        await scene.play("a")
        before, after = scene.times("a")[-2:]
        assert after - before <= 0.006

    run(main())


def test_a_rejected_object_waits_for_its_next_change() -> None:
    async def main() -> None:
        scene = Scene(a=[Rejected("BadSpec", "x")])
        await scene.play("a")
        assert scene.outcomes == ["rejected"]

    run(main())


def test_a_pass_that_takes_too_long_is_ended_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        scene = Scene(Pace(deadline_seconds=5))
        scene.took_seconds = 60
        playing = asyncio.create_task(scene.play("a", seconds=20))
        await asyncio.sleep(5.001)
        scene.took_seconds = 0
        await playing
        assert scene.outcomes == ["late", "done"]

    with caplog.at_level(logging.WARNING):
        run(main())
    assert [record.message for record in caplog.records] == ["pass will be tried again"]


def test_a_recheck_comes_at_its_time_and_the_earliest_counts() -> None:
    async def main() -> None:
        scene = Scene()
        scene.worker.recheck("a", START + timedelta(seconds=90))
        scene.worker.recheck("a", START + timedelta(seconds=30))
        scene.worker.recheck("a", START + timedelta(seconds=60))
        await scene.play()
        assert scene.times("a") == pytest.approx([30], abs=0.001)
        assert scene.times("a") > [30], "not before its time"

    run(main())


def test_a_pass_overtakes_the_recheck_that_waited() -> None:
    async def main() -> None:
        scene = Scene()
        scene.worker.recheck("a", START + timedelta(seconds=30))
        await scene.play("a")
        assert scene.times("a") == [0]

    run(main())


def test_keys_that_are_not_accepted_finish_and_start_no_more() -> None:
    async def main() -> None:
        scene, accepted = Scene(), {"a", "b"}
        scene.worker.accept(lambda key: key in accepted)
        scene.took_seconds = 1
        playing = asyncio.create_task(scene.play("a", "b"))
        await asyncio.sleep(0.5)
        accepted.remove("a")
        assert await scene.worker.drain(lambda key: key == "a", limit_seconds=5)
        scene.worker.mark("a")
        await asyncio.sleep(5)
        assert scene.times("a") == [0]
        accepted.add("a")
        scene.worker.mark("a")
        await playing
        assert scene.times("a") == [0, 6]

    run(main())


def test_a_forgotten_key_is_neither_dirty_nor_due() -> None:
    async def main() -> None:
        scene = Scene()
        scene.worker.mark("a")
        scene.worker.mark("b")
        scene.worker.recheck("c", START + timedelta(seconds=5))
        scene.worker.forget(lambda key: key != "b")
        await scene.play()
        assert (scene.times("a"), scene.times("b"), scene.times("c")) == ([], [0], [])

    run(main())


def test_keys_may_come_and_go_thousands_of_times() -> None:
    async def main() -> None:
        scene = Scene()
        for _ in range(3000):
            assert await scene.worker.drain(lambda key: key == "a", limit_seconds=5)
            scene.worker.forget(lambda key: key == "a")
        await scene.play("a")
        assert scene.times("a") == [0]

    run(main())


def test_drain_tells_when_a_pass_did_not_end_in_time() -> None:
    async def main() -> None:
        scene = Scene()
        scene.took_seconds = 100
        playing = asyncio.create_task(scene.play("a"))
        await asyncio.sleep(1)
        assert not await scene.worker.drain(lambda _: True, limit_seconds=5)
        await playing

    run(main())


def test_depth_and_wait_are_those_of_the_queue() -> None:
    async def main() -> None:
        scene = Scene()
        scene.worker.mark("a")
        scene.worker.mark("b")
        await asyncio.sleep(3)
        assert scene.worker.depth == 2
        assert scene.worker.oldest_wait_seconds == 3
        assert not scene.worker.idle
        await scene.play()
        assert scene.worker.idle

    run(main())


def test_a_held_key_is_left_alone_until_it_is_marked_again_or_its_time_has_come() -> None:
    async def main() -> None:
        scene, held = Scene(), {"a": 5.0, "b": 5.0}
        scene.worker.hold(held.get)
        playing = asyncio.create_task(scene.play("a", "b", "c"))
        await asyncio.sleep(2)
        assert scene.worker.idle
        held.clear()
        scene.worker.mark("a")
        await playing
        assert scene.times("c") == [0]
        assert scene.times("a") == [2]
        assert scene.times("b") == pytest.approx([5], abs=0.001)

    run(main())


def test_a_mark_during_a_pass_waits_too_when_the_key_is_held_at_its_end() -> None:
    async def main() -> None:
        scene = Scene()
        scene.took_seconds = 1
        scene.worker.hold(lambda _: 5.0 if scene.passes and not scene.at_once and len(scene.passes) < 2 else None)
        playing = asyncio.create_task(scene.play("a"))
        await asyncio.sleep(0.5)
        scene.worker.mark("a")
        await asyncio.sleep(4)
        assert scene.times("a") == [0]
        scene.worker.hold(lambda _: None)
        await playing
        assert scene.times("a") == pytest.approx([0, 6], abs=0.001)

    run(main())


def test_a_pass_has_nothing_of_whoever_marked_its_key() -> None:
    """Else its log lines and spans would belong to the pass or message before it."""
    around: ContextVar[str] = ContextVar("around")
    found: list[str] = []

    async def work(key: str) -> None:
        found.append(around.get())
        around.set("a pass")
        if key == "a":
            worker.mark("b")
            worker.recheck("c", now())

    worker: Worker[str] = Worker(work, now)

    async def main() -> None:
        around.set("the worker")
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(1)
        around.set("somebody")
        worker.mark("a")
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.wait([running])

    run(main())
    assert found == ["the worker"] * 3


def test_when_telling_of_a_pass_fails_the_worker_ends_with_that_and_starts_no_other() -> None:
    begun: list[str] = []

    async def work(key: str) -> None:
        begun.append(key)
        await asyncio.sleep(1 if key == "a" else 60)

    def tell(_: PassEnded[str]) -> None:
        raise LookupError("a bug")

    async def main() -> None:
        worker: Worker[str] = Worker(work, now, pace=Pace(concurrency=2), tell=tell)
        for key in "abcd":
            worker.mark(key)
        with pytest.raises(ExceptionGroup) as ended:
            await worker.run()
        assert [type(error) for error in ended.value.exceptions] == [LookupError]

    run(main())
    assert begun[:2] == ["a", "b"]
    assert "d" not in begun


def test_a_key_that_ran_when_the_worker_was_stopped_runs_again_with_the_next() -> None:
    async def main() -> None:
        scene = Scene()
        scene.took_seconds = 10
        await scene.play("a", "b", seconds=1)
        scene.took_seconds = 0
        await scene.play("a")
        assert scene.times("a") == [0, 1]

    run(main())


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_rechecks_of_real_time_come_in_time_and_wake_nobody_for_nothing(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timers of uvloop are whole milliseconds, and its handle of a moment that is over does not know when."""
    rings = 0
    plain = Worker._ring

    def ring(worker: Worker[int]) -> None:
        nonlocal rings
        rings += 1
        plain(worker)

    monkeypatch.setattr(Worker, "_ring", ring)

    async def main() -> None:
        left, over = set(range(20)), asyncio.Event()

        async def work(key: int) -> None:
            left.discard(key)
            if not left:
                over.set()

        worker: Worker[int] = Worker(work, lambda: START + timedelta(seconds=time.monotonic()))
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(0)
        for key in range(20):
            moment = START + timedelta(seconds=time.monotonic() + key * 0.0013 - 0.002)
            worker.recheck(key, moment)
        async with asyncio.timeout(10):
            await over.wait()
        running.cancel()
        await asyncio.wait([running])

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())
    assert rings <= 45  # one for the start, one for each, and as many that others overtook
