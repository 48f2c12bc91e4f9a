"""Seeing to it that the streams are there: at the start, after a reconnection, and when someone removed them."""

import contextlib

from manta_common.bus.connection import Connection
from manta_common.bus.life import Life
from manta_common.bus.stream import ensure_streams
from manta_common.clock import Clock
from manta_common.errors import MantaError

RESTORE_SECONDS = 2.0  # not more often than this


class Setup:
    """Makes what is missing. What differs it changes at the start only: during an upgrade old and new would quarrel."""

    def __init__(self, replicas: int | None, clock: Clock) -> None:
        self._replicas, self._clock = replicas, clock
        self._migrated = False
        self._restored_at: float | None = None

    async def greet(self, life: Life) -> None:
        """On a new connection."""
        await ensure_streams(life, replicas=self._replicas, migrate=not self._migrated)
        self._migrated = True

    async def restore(self, connection: Connection) -> None:
        """When nobody took a message: a stream may have been removed while we were connected."""
        now, life = self._clock.monotonic(), connection.current
        if life is None or (self._restored_at is not None and now < self._restored_at + RESTORE_SECONDS):
            return
        self._restored_at = now
        with contextlib.suppress(MantaError):  # whoever publishes will say that it cannot be done
            await self.greet(life)
