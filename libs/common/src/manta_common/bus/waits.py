"""Pauses between tries, for whoever tries again and again."""

import random

from manta_common.clock import Clock
from manta_common.delays import delay_seconds

SHORTEST_SECONDS, LONGEST_SECONDS = 0.05, 2.0


class Waits:
    """Pauses that grow until something succeeded."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock, self._chance = clock, chance
        self._failures = 0

    async def pause(self, *, at_most: float = LONGEST_SECONDS) -> None:
        """Sleep, longer than last time."""
        failures, self._failures = self._failures, self._failures + 1
        chance = self._chance.random()
        seconds = delay_seconds(failures, shortest=SHORTEST_SECONDS, longest=LONGEST_SECONDS, chance=chance)
        await self._clock.sleep(min(seconds, at_most))

    def succeeded(self) -> None:
        """Begin with short pauses again."""
        self._failures = 0
