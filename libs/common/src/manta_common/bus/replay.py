"""Reading a stream for as long as one likes: when a reading ends in doubt, a fresh one begins."""

import logging
from collections.abc import Sequence

from manta_common.bus.connection import Connection
from manta_common.bus.protocol import Batch
from manta_common.bus.reading import PULL_SUBJECT, Reading
from manta_common.errors import NotFound, Retry, Throttled, Unreachable

CONNECT_LIMIT_SECONDS = 10.0
FOR_EVER_SECONDS = 3600.0

log = logging.getLogger(__name__)


class Replay:
    """Batches of some subjects of a stream, for ever."""

    def __init__(self, connection: Connection, stream: str, subjects: Sequence[str]) -> None:
        self._connection, self._stream, self._subjects = connection, stream, subjects
        self._waits = connection.waits()
        self._reading: Reading | None = None

    def __aiter__(self) -> "Replay":
        return self

    async def __anext__(self) -> Batch:
        while True:
            batch = await self.next(FOR_EVER_SECONDS)
            if batch is not None:
                return batch

    async def next(self, limit_seconds: float) -> Batch | None:
        """The next batch, or None when nothing came within about that time."""
        try:
            self._reading = self._reading or await self._begun()
            batch = await self._reading.next(limit_seconds)
        except (NotFound, Throttled, Unreachable) as error:
            self._check_rights(error)
            if isinstance(error, NotFound):
                self._connection.missing(self._subjects[0])
            log.warning("a reading has ended and begins anew", extra={"stream": self._stream, "error": str(error)})
            await self.close()
            await self._waits.pause()
            return None
        if batch is not None:
            self._waits.succeeded()
        return batch

    async def close(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            await self._reading.end()
            self._reading = None

    def _check_rights(self, error: Retry) -> None:
        """Without the right to pull there is silence; that would go on for ever."""
        life = self._connection.current
        denied = life.denied(PULL_SUBJECT) if life else None
        if denied:
            raise denied from error

    async def _begun(self) -> Reading:
        reading = Reading(await self._connection.life(CONNECT_LIMIT_SECONDS), self._stream, self._subjects)
        try:
            await reading.begin()
        except BaseException:
            await reading.end()
            raise
        return reading
