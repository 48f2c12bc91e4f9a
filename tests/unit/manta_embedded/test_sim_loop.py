"""The virtual loop: waiting costs nothing, a seed chooses the order, and a run that cannot end says why."""

import asyncio
import itertools
import random
import time

import pytest

from manta_embedded.sim.errors import Deadlock, OutOfSteps, OutOfTime
from manta_embedded.sim.loop import LANE, Lane, Limits, VirtualLoop, run
from tests.parts.patience import patient


def loop() -> VirtualLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualLoop)
    return running


def test_waiting_costs_nothing() -> None:
    async def wait() -> float:
        await asyncio.sleep(3600)
        return loop().time()

    began = time.monotonic()
    assert run(wait()) == 3600
    assert time.monotonic() - began < patient(1)


def order_of(seed: int) -> list[int]:
    """In which order ten tasks that are all ready do their two steps."""
    done: list[int] = []

    async def work(number: int) -> None:
        done.append(number)
        await asyncio.sleep(0)
        done.append(number)

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(10)))

    run(main(), chance=random.Random(seed))
    return done


def test_a_seed_gives_the_same_order_again() -> None:
    assert order_of(1) == order_of(1)


def test_seeds_give_different_orders() -> None:
    assert len({tuple(order_of(seed)) for seed in range(20)}) == 20


def test_timers_of_one_moment_are_in_any_order_and_later_ones_later() -> None:
    orders = set()
    for seed in range(20):
        done: list[str] = []

        async def main(done: list[str] = done) -> None:
            for word, delay in (("a", 1), ("b", 1), ("late", 2)):
                loop().call_later(delay, done.append, word)
            await asyncio.sleep(3)

        run(main(), chance=random.Random(seed))
        assert done[-1] == "late"
        orders.add(tuple(done))
    assert len(orders) == 2


def test_the_tasks_of_a_group_are_cancelled_in_the_same_order_each_time() -> None:
    """Asyncio keeps them in a set; their hashes must not be addresses."""

    def ended() -> list[int]:
        ends: list[int] = []

        async def wait(number: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ends.append(number)

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(wait(number)) for number in range(50)]
                await asyncio.sleep(1)
                for task in set(tasks):
                    task.cancel()

        keep = [object() for _ in range(random.Random().randrange(1000))]  # other addresses each time
        run(main(), chance=random.Random(3))
        assert keep is not None
        return ends

    assert all(ended() == ended() for _ in range(5))


def test_a_deadlock_says_who_waits_where() -> None:
    async def stuck() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match=r"at 0\.000 s; waiting: task-\d+ in .*stuck, line \d+"):
        run(stuck())


def test_time_has_a_limit() -> None:
    async def tick() -> None:
        for _ in itertools.count():
            await asyncio.sleep(1)

    with pytest.raises(OutOfTime, match="after 60 s"):
        run(tick(), limits=Limits(seconds=60))


def test_steps_have_a_limit() -> None:
    async def spin() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    with pytest.raises(OutOfSteps, match="more than 1000 steps"):
        run(spin(), limits=Limits(steps=1000))


def test_a_time_limit_strikes_at_its_time() -> None:
    async def wait() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await asyncio.Event().wait()
        return loop().time()

    assert run(wait()) == 2.5


def test_a_held_lane_stands_still_and_goes_on() -> None:
    async def main() -> tuple[list[float], list[float]]:
        ticks: list[float] = []

        async def tick() -> None:
            for _ in range(4):
                await asyncio.sleep(1)
                ticks.append(loop().time())

        lane = Lane()
        token = LANE.set(lane)
        task = asyncio.create_task(tick())
        LANE.reset(token)
        await asyncio.sleep(1.5)
        loop().hold(lane)
        await asyncio.sleep(10)
        before = list(ticks)
        loop().release(lane)
        await task
        return before, ticks

    before, ticks = run(main())
    assert before == [1]
    assert ticks == [1, 11.5, 12.5, 13.5]


def test_threads_are_refused() -> None:
    async def main() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="no threads"):
        run(main())


def test_what_is_left_running_is_ended() -> None:
    ended = []

    async def wait() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(True)

    async def main() -> None:
        main.task = asyncio.create_task(wait())  # type: ignore[attr-defined]
        await asyncio.sleep(1)

    run(main())
    assert ended == [True]


def test_an_error_in_a_callback_ends_the_run() -> None:
    async def main() -> None:
        loop().call_later(1, lambda: 1 / 0)
        await asyncio.sleep(5)

    with pytest.raises(ZeroDivisionError):
        run(main())


def test_who_waits_by_spinning_gets_on() -> None:
    """A millionth of a second passes in the real world too while somebody asks again and again what time it is."""

    async def main() -> None:
        until = loop().time() + 2.5e-6
        for _ in itertools.count():
            if loop().time() >= until:
                return
            await asyncio.sleep(0)

    run(main(), limits=Limits(steps=10_000))
