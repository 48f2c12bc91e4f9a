"""Actions of a phase run together with a slow start; a failure stops what has not begun."""

import asyncio

import pytest

from manta_common.errors import Conflict
from manta_common.execute import concurrently, execute
from tests.unit.manta_common.virtual import run


class Scene:
    """Actions are numbers; each takes a second."""

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.begun: list[tuple[int, float]] = []
        self.ended: list[int] = []

    async def carry_out(self, action: int) -> None:
        self.begun.append((action, asyncio.get_running_loop().time()))
        await asyncio.sleep(1)
        if action in self.failing:
            raise Conflict(f"action {action}")
        self.ended.append(action)

    def begun_per_second(self) -> list[int]:
        return [sum(1 for _, at in self.begun if at == second) for second in range(int(self.begun[-1][1]) + 1)]


def test_twice_as_many_each_round_up_to_the_limit() -> None:
    scene = Scene()
    run(concurrently(range(25), scene.carry_out, at_most=6))
    assert scene.begun_per_second() == [1, 2, 4, 6, 6, 6]
    assert sorted(scene.ended) == list(range(25))


def test_a_phase_begins_with_what_those_before_have_earned() -> None:
    scene = Scene()
    run(execute([[0], [1], range(2, 12)], scene.carry_out, at_most=6))
    assert scene.begun_per_second() == [1, 1, 3, 6, 1]


def test_after_a_failure_nothing_more_is_begun_but_the_begun_ends() -> None:
    scene = Scene(1)
    with pytest.raises(Conflict, match="action 1"):
        run(concurrently(range(25), scene.carry_out))
    assert [action for action, _ in scene.begun] == [0, 1, 2]
    assert scene.ended == [0, 2]


def test_a_phase_with_a_failure_is_the_last() -> None:
    scene = Scene(2)
    with pytest.raises(Conflict):
        run(execute([[1], [2, 3], [4]], scene.carry_out))
    assert [action for action, _ in scene.begun] == [1, 2, 3]


def test_cancelling_cancels_what_runs() -> None:
    scene = Scene()

    async def main() -> None:
        task = asyncio.create_task(concurrently([1], scene.carry_out))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(5)
        assert task.cancelled()
        assert scene.ended == []

    run(main())


def test_nothing_to_do_is_done() -> None:
    run(execute([[], []], Scene().carry_out))
