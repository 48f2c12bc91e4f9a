"""How long it takes from a service to the API server and to NATS, and back: short, with chance, longer when told to."""

import asyncio
import random

import msgspec


class Latency(msgspec.Struct, frozen=True):
    """The shortest and the longest time of one way; with zeros no time passes, but others may run meanwhile."""

    shortest_seconds: float = 0.0005
    longest_seconds: float = 0.003


class SimulatedWays:
    """The ways of one service; implements `Ways`. What it is told to change counts from then on."""

    def __init__(self, chance: random.Random, latency: Latency) -> None:
        self._chance, self._latency = chance, latency
        self.recover()

    def recover(self) -> None:
        """Be as usual."""
        self.feed_lag_seconds = 0.0  # what readers of the stream are told comes so late, collapsed to the last words
        self.extra_seconds = 0.0  # every way takes so much longer
        self.most_at_once = 500

    async def there(self) -> None:
        """To the server."""
        await asyncio.sleep(self._seconds())

    async def back(self) -> None:
        """From the server."""
        await asyncio.sleep(self._seconds())

    async def down(self) -> None:
        """From the server along a watch. Where no time passes it need not wait: others may have run before."""
        seconds = self._seconds()
        if seconds:
            await asyncio.sleep(seconds)

    async def lag(self) -> None:
        """To a reader. Where no time passes it need not wait: others may have run before it was woken."""
        seconds = self._seconds() + self.feed_lag_seconds
        if seconds:
            await asyncio.sleep(seconds)

    def portion(self) -> int:
        """How much of a replay comes at once."""
        return self.most_at_once

    def _seconds(self) -> float:
        latency = self._latency
        if not latency.longest_seconds:
            return self.extra_seconds
        return self.extra_seconds + self._chance.uniform(latency.shortest_seconds, latency.longest_seconds)
