"""The connection to NATS, made again for ever, each time with a new client.

The client library could reconnect by itself, but it keeps what it had not sent and sends it after the reconnection,
closes for good on some errors, and leaves those alone who wait for an answer.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence

from manta_common.bus.client import Delivery
from manta_common.bus.dial import dial
from manta_common.bus.faults import NobodyThere
from manta_common.bus.life import Life
from manta_common.bus.settings import BusSettings, redacted
from manta_common.bus.waits import Waits
from manta_common.clock import Clock
from manta_common.errors import MantaError, Misconfigured, Retry, Unreachable

log = logging.getLogger(__name__)

Greeting = Callable[[Life], Awaitable[None]]


class Connection:
    """Whoever needs NATS asks here for the present life of the connection."""

    def __init__(self, settings: BusSettings, clock: Clock, chance: random.Random) -> None:
        self._settings, self._clock, self._chance = settings, clock, chance
        self._waits = self.waits()
        self._greetings: list[Greeting] = []
        self.missing: Callable[[str], None] = _ignore
        self._life: Life | None = None
        self._stopped = False
        self._made = asyncio.Event()
        self._next_url = chance.randrange(len(settings.urls))

    @property
    def current(self) -> Life | None:
        """The present life, or None while there is none."""
        return self._life if self._life and self._life.alive else None

    async def life(self, limit_seconds: float) -> Life:
        """The present life, or the next one when it comes in time; Unreachable otherwise."""
        try:
            async with asyncio.timeout(limit_seconds):
                while self.current is None:
                    self._made.clear()
                    await self._made.wait()
        except TimeoutError as error:
            raise Unreachable(f"no connection to NATS for {limit_seconds:g} s") from error
        assert self._life
        return self._life

    async def ask(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> Delivery:
        """Send, and wait for the answer. Waiting for a connection counts, and for someone to listen too.

        What nobody listened to may be sent again safely: a stream without a leader, a service about to start.
        """
        life = self.current
        deadline = self._clock.monotonic() + limit_seconds
        waits: Waits | None = None
        while True:
            try:
                life = life or await self.life(limit_seconds)
                return await life.mailbox.ask(subject, body, limit_seconds=limit_seconds, headers=headers)
            except NobodyThere:
                limit_seconds = deadline - self._clock.monotonic()
                if limit_seconds <= 0:
                    raise
                self.missing(subject)
            except Unreachable as error:
                denied = life.denied(subject) if life else None
                if denied:
                    raise denied from error
                raise
            waits = waits or self.waits()
            await waits.pause(at_most=limit_seconds)
            life = self.current

    def waits(self) -> Waits:
        """Pauses between tries, for one who tries again and again."""
        return Waits(self._clock, self._chance)

    def when_missing(self, told: Callable[[str], None]) -> None:
        """Have a function called when nobody listened on a subject, or its stream is not there."""
        self.missing = told

    def greet(self, greeting: Greeting) -> None:
        """Have every coming life greeted, before others can use it."""
        self._greetings.append(greeting)

    async def begin(self, greeting: Greeting) -> None:
        """Make the first connection; Misconfigured, or Unreachable when no server answered in time."""
        deadline = self._clock.monotonic() + self._settings.first_connect_seconds
        while True:
            try:
                return await self._make([greeting])
            except Retry as error:
                if self._clock.monotonic() > deadline:
                    raise
                log.warning("nats is not there yet", extra={"error": str(error)})
            await self._waits.pause()

    async def keep(self) -> None:
        """Make the connection again whenever it is lost, for ever."""
        while not self._stopped:
            if self._life is not None:
                await self._life.until_lost()
                log.log(logging.DEBUG if self._stopped else logging.WARNING, "lost the connection to nats")
                await self.close()
            await self._make_again()

    def stop(self) -> None:
        """Let `keep` return; to cancel it is not enough, for the client library may swallow that."""
        self._stopped = True
        if self._life is not None:
            self._life.end()

    async def close(self) -> None:
        """End the present life."""
        life, self._life = self._life, None
        if life is not None:
            await life.close()

    async def _make_again(self) -> None:
        while not self._stopped:
            await self._waits.pause()
            try:
                await self._make(self._greetings)
            except MantaError as error:
                # It worked before: one of several servers is wrong, or it will pass.
                level = logging.ERROR if isinstance(error, Misconfigured) else logging.WARNING
                log.log(level, "nats is still away", extra={"error": str(error)})
            else:
                log.info("connected to nats again")
                return

    async def _make(self, greetings: Sequence[Greeting]) -> None:
        url = self._settings.urls[self._next_url % len(self._settings.urls)]
        self._next_url += 1
        life = await dial(url, self._settings)
        try:
            for greeting in greetings:
                await greeting(life)
        except BaseException:
            await life.close()
            raise
        log.debug("connected to nats", extra={"url": redacted(url)})
        self._life = life
        self._waits.succeeded()
        self._made.set()


def _ignore(_subject: str) -> None:
    """Nobody wants to know."""
