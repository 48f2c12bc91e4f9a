"""Runs scenarios: one by its seed, or many until one fails. A run that failed is run again by its seed."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any

from manta_embedded.sim.history import History
from manta_embedded.sim.loop import VirtualLoop
from manta_embedded.sim.world import Climate, World

Scenario = Callable[[World], Coroutine[Any, Any, None]]
SHOWN_LINES = 200


class ScenarioFailed(AssertionError):
    """A scenario did not go as it should; the message has the seed and the history."""

    def __init__(self, seed: int, error: BaseException, history: History) -> None:
        self.seed, self.error, self.history = seed, error, history
        super().__init__(f"seed {seed}: {type(error).__name__}: {error}\n{history.text(SHOWN_LINES)}")


def simulate(scenario: Scenario, *, seed: int = 0, climate: Climate | None = None) -> World:
    """Play a scenario; the world as it is at the end. ScenarioFailed tells what went wrong, and how it came to that."""
    climate = climate or Climate()
    loop = VirtualLoop(random.Random(f"{seed}/loop"), climate.limits)
    try:
        world = loop.run_until_complete(_made(loop, seed, climate))
        with _Reported(world):
            loop.run_until_complete(_play(scenario, world))
    finally:
        loop.end()
    return world


def explore(scenario: Scenario, seeds: Iterable[int], *, climate: Climate | None = None) -> int:
    """Play a scenario with many seeds; how many. The first that fails ends it."""
    played = 0
    for seed in seeds:
        simulate(scenario, seed=seed, climate=climate)
        played += 1
    return played


async def _made(loop: VirtualLoop, seed: int, climate: Climate) -> World:
    return World(loop, seed, climate)


async def _play(scenario: Scenario, world: World) -> None:
    """Until the scenario has ended, or something else has failed."""
    playing = asyncio.create_task(scenario(world), name="scenario")
    await asyncio.wait([playing, world.failed], return_when=asyncio.FIRST_COMPLETED)
    world.end()
    playing.cancel()
    await asyncio.wait([playing])
    if world.failed.done():
        world.failed.result()
    playing.result()


class _Reported:
    """Errors of a block become ScenarioFailed."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise ScenarioFailed(self._world.seed, error, self._world.history) from error
