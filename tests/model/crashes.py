"""A crash of one service at one of its writes, and whether there was such a write: a range of them leaves none out."""

from collections.abc import Callable, Coroutine
from typing import Any

from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World

Arm = Callable[[], None]
Scenario = Callable[[World, Arm], Coroutine[Any, Any, None]]


def crashes(scenario: Scenario, service: str, *, write: int, applied: bool) -> bool:
    """Play a scenario with a crash at the n-th write from when it arms it; False when there was no such write."""

    async def played(world: World) -> None:
        await scenario(world, lambda: world.service(service).crash_at(write=write, applied=applied))

    return simulate(played, seed=write).service(service).lives > 1
