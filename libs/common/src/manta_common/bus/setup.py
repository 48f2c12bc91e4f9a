"""Seeing to it that the streams are there: at the start, after a reconnection, and when someone removed them."""

import logging

from manta_common.bus.life import Life
from manta_common.bus.stream import ensure_streams
from manta_common.clock import Clock
from manta_common.errors import MantaError

RESTORE_SECONDS = 2.0  # not more often than this

log = logging.getLogger(__name__)


class Setup:
    """Makes what is missing. What differs it changes at the start only: during an upgrade old and new would quarrel."""

    def __init__(self, replicas: int | None, clock: Clock) -> None:
        self._replicas, self._clock = replicas, clock
        self._restored_at: float | None = None

    async def begin(self, life: Life) -> None:
        """At the start; nothing can be done without it."""
        await ensure_streams(life, replicas=self._replicas, migrate=True)

    async def restore(self, life: Life) -> None:
        """Later, beside other things: while a stream has no leader there is no answer, and nothing needs to be done."""
        try:
            await ensure_streams(life, replicas=self._replicas, migrate=False)
        except MantaError as error:  # whoever writes or reads will meet it too
            log.warning("could not look after the streams", extra={"error": str(error)})

    def is_due(self) -> bool:
        """Whether the last time is long enough ago to look again; it counts as looking."""
        now = self._clock.monotonic()
        if self._restored_at is not None and now < self._restored_at + RESTORE_SECONDS:
            return False
        self._restored_at = now
        return True
