"""The window: a bound on messages and bytes, first come first served, and nobody is forgotten."""

import asyncio

from manta_common.bus.window import Window
from tests.unit.manta_common.virtual import run


async def _entered(window: Window, *sizes: int) -> list[asyncio.Task[None]]:
    """Tasks that want room, in order; those that got it are done."""
    tasks = [asyncio.create_task(window.enter(size)) for size in sizes]
    await asyncio.sleep(0.01)
    return tasks


def test_as_many_as_the_bound_enter_at_once() -> None:
    async def case() -> None:
        tasks = await _entered(Window(messages=2, size=100), 1, 1, 1)
        assert [task.done() for task in tasks] == [True, True, False]
        tasks[2].cancel()

    run(case())


def test_bytes_are_bound_too() -> None:
    async def case() -> None:
        tasks = await _entered(Window(messages=9, size=100), 60, 40, 1)
        assert [task.done() for task in tasks] == [True, True, False]
        tasks[2].cancel()

    run(case())


def test_room_that_is_given_back_goes_to_whoever_waited_longest() -> None:
    async def case() -> None:
        window = Window(messages=1, size=100)
        tasks = await _entered(window, 10, 10, 10)
        window.leave(10)
        await asyncio.sleep(0.01)
        assert [task.done() for task in tasks] == [True, True, False]
        window.leave(10)
        await asyncio.gather(*tasks)

    run(case())


def test_a_small_one_does_not_overtake_a_large_one() -> None:
    async def case() -> None:
        window = Window(messages=9, size=100)
        tasks = await _entered(window, 60, 80, 1)
        assert [task.done() for task in tasks] == [True, False, False]
        window.leave(60)
        await asyncio.gather(*tasks)

    run(case())


def test_one_that_is_larger_than_the_bound_goes_alone() -> None:
    async def case() -> None:
        window = Window(messages=9, size=100)
        tasks = await _entered(window, 500, 1)
        assert [task.done() for task in tasks] == [True, False]
        window.leave(500)
        await asyncio.gather(*tasks)

    run(case())


def test_who_gives_up_waiting_does_not_keep_others_out() -> None:
    async def case() -> None:
        window = Window(messages=9, size=100)
        tasks = await _entered(window, 60, 80, 30)
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        assert tasks[2].done()

    run(case())


def test_who_is_cancelled_when_its_turn_has_come_gives_the_room_back() -> None:
    async def case() -> None:
        window = Window(messages=1, size=100)
        tasks = await _entered(window, 1, 1, 1)
        window.leave(1)
        tasks[1].cancel()  # its turn has come, but it has not run yet
        await asyncio.sleep(0.01)
        assert tasks[2].done()

    run(case())
