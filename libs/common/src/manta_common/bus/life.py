"""One life of the connection to NATS, from its making to its loss."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable

import nats.errors

from manta_common.bus.client import Client
from manta_common.bus.mailbox import Mailbox
from manta_common.errors import Misconfigured

PING_SECONDS = 2.0
PONG_LIMIT_SECONDS = 4.0
CLOSE_LIMIT_SECONDS = 2.0
DENIALS_KEPT = 20

log = logging.getLogger(__name__)


class Life:
    """A connection that is never made again: when it is lost, everything under way on it fails at once."""

    def __init__(self) -> None:
        self.client = Client()
        self.mailbox = Mailbox(self.client)
        self._denials: deque[str] = deque(maxlen=DENIALS_KEPT)  # what the server said that we may not do
        self.last_error = ""
        self._lost = asyncio.Event()
        self._listeners: set[Callable[[], None]] = set()

    @property
    def alive(self) -> bool:
        """Whether it has not been lost, as far as we know; the client library tells us late."""
        return self.client.is_connected and not self._lost.is_set()

    def on_loss(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called when the connection is lost; the result takes that back."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def denied(self, subject: str) -> Misconfigured | None:
        """The error to raise when the server said that we may not use a subject, or may get no answers."""
        said = [text for text in self._denials if subject.lower() in text or "_inbox" in text]
        if not said:
            return None
        return Misconfigured(
            f"this NATS user has too few rights: {said[-1]}; allow it, or use the user that Manta's setup makes"
        )

    async def until_lost(self) -> None:
        """Return when the connection was closed, or the server does not answer any more."""
        while self.alive and await self._answers():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PING_SECONDS):
                    await self._lost.wait()

    async def close(self) -> None:
        """End it: whoever waits is told first; what was sent before goes out if that is possible in a short time."""
        self.end()
        try:
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_LIMIT_SECONDS):
                    await self.client.close()
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Close the socket, whatever the client library was waiting for when its time was up."""
        transport = self.client._transport
        if transport is not None:
            transport.close()  # type: ignore[no-untyped-call]

    def end(self) -> None:
        """Tell everyone who waits that the connection is lost."""
        self._lost.set()
        self.mailbox.end("the connection to NATS was lost")
        for listener in tuple(self._listeners):
            listener()

    async def on_closed(self) -> None:
        """The client library gave up."""
        self.end()

    async def on_error(self, error: Exception) -> None:
        """The client library met an error; most are told again to whoever asked."""
        if "permissions violation" in str(error):
            self._denials.append(str(error))
        self.last_error = str(error) or type(error).__name__
        log.debug("nats client error", extra={"error": self.last_error})

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PONG_LIMIT_SECONDS):
                await self.client.rtt(round(PONG_LIMIT_SECONDS))
        except (nats.errors.Error, OSError, TimeoutError):
            return False
        return True
