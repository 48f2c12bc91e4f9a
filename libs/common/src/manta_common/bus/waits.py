"""Pauses between tries: longer and longer, and never the same for two who were disturbed at the same time."""

import random

from manta_common.clock import Clock

FIRST_SECONDS, LONGEST_SECONDS = 0.05, 2.0


class Waits:
    """Growing pauses with jitter between tries."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock, self._chance = clock, chance
        self._seconds = FIRST_SECONDS

    async def pause(self, *, at_most: float = 2 * LONGEST_SECONDS) -> None:
        """Sleep, longer than last time."""
        seconds, self._seconds = self._seconds, min(2 * self._seconds, LONGEST_SECONDS)
        await self._clock.sleep(min(seconds * self._chance.uniform(0.5, 1.5), at_most))

    def succeeded(self) -> None:
        """Begin with short pauses again."""
        self._seconds = FIRST_SECONDS
