"""One connection to the simulated NATS: how long its ways are, and whether it is there at all."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from manta_common.clock import Clock
from manta_common.errors import Unreachable
from manta_embedded.sim.stream import Stream

T = TypeVar("T")
PATIENCE_SECONDS = 5.0  # how long what is asked without a connection waits for one


class Ways(Protocol):
    """How long a message is under way, and how much of a replay comes at once."""

    async def there(self) -> None:
        """To the server."""

    async def back(self) -> None:
        """From the server."""

    async def lag(self) -> None:
        """From the server to a reader: one that is told late finds the last words only."""

    def portion(self) -> int:
        """How many messages the next batch of a replay may have."""


class ShortWays:
    """No time passes, but others may run meanwhile."""

    async def there(self) -> None:
        """To the server."""
        await asyncio.sleep(0)

    async def back(self) -> None:
        """From the server."""
        await asyncio.sleep(0)

    async def lag(self) -> None:
        """To a reader."""

    def portion(self) -> int:
        """As many as a pull from the real one brings."""
        return 500


class Link:
    """A connection that can be lost and made again; `life` is another one after each loss."""

    def __init__(self, clock: Clock, ways: Ways | None = None) -> None:
        self.clock, self.ways = clock, ways or ShortWays()
        self.life = 0
        self.closed = False
        self.deceived = False  # its buckets lie to it: see `SimulatedBucket`
        self.leases: dict[tuple[Stream, str], None] = {}  # the keys that it keeps alive
        self._up = asyncio.Event()
        self._up.set()
        self._listeners: dict[Callable[[], None], None] = {}

    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""
        return self._up.is_set()

    def cut(self) -> None:
        """Lose the connection."""
        self._up.clear()
        self.life += 1

    def mend(self) -> None:
        """Have it again, unless it was closed."""
        if not self.closed:
            self._up.set()
            self.wake()

    def blink(self) -> None:
        """Lose the connection, and have another one at once."""
        self.life += 1
        self.wake()

    def deceive(self) -> None:
        """Lose every lease without being told: it goes on to believe that it has them."""
        self.deceived = True
        for stream, key in self.leases:
            stream.remove(key)
            stream.notify(key)

    def undeceive(self) -> None:
        """See the truth again."""
        self.deceived = False
        self.wake()

    def wake(self) -> None:
        """Let every reader look again."""
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a function called when the connection is there again."""
        self._listeners[listener] = None

    def ignore(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._listeners.pop(listener, None)

    async def until_connected(self) -> None:
        """Wait for the connection, however long it takes."""
        await self._up.wait()

    async def ask(self, act: Callable[[], T]) -> T:
        """Have something done at the server; Unreachable, done or not, when the connection is lost meanwhile."""
        if not self.connected:
            await self._patiently()
        life = self.life
        await self.ways.there()
        self._require(life)
        try:
            return act()
        finally:
            await self.ways.back()
            self._require(life)

    async def _patiently(self) -> None:
        try:
            async with self.clock.timeout(PATIENCE_SECONDS):
                await self._up.wait()
        except TimeoutError as error:
            raise Unreachable(f"no connection to NATS for {PATIENCE_SECONDS:g} s") from error

    def _require(self, life: int) -> None:
        if self.life != life:
            raise Unreachable("the connection to NATS was lost")
