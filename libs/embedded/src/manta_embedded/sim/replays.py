"""A reading of the simulated stream."""

import asyncio
from collections.abc import Sequence

from manta_common.bus.protocol import Batch
from manta_embedded.sim.link import Link
from manta_embedded.sim.stream import Stream, matcher


class Replay:
    """The last words, then what comes. A reader that is late finds only the last word on each subject.

    After a lost connection or stream it begins anew.
    """

    def __init__(self, link: Link, stream: Stream, subjects: Sequence[str]) -> None:
        self._link, self._stream, self._wants = link, stream, matcher(subjects)
        self._begun: tuple[int, int] | None = None
        self._read = self._goal = 0
        self._heard: dict[str, None] = {}  # what was written since; in order of the last words
        self._woken = asyncio.Event()
        link.listen(self._woken.set)
        stream.listen(self._hear, self._wants)

    def close(self) -> None:
        """Stop reading."""
        self._link.ignore(self._woken.set)
        self._stream.ignore(self._hear)

    def __aiter__(self) -> "Replay":
        return self

    async def __anext__(self) -> Batch:
        while True:
            if not self._link.connected:
                await self._link.until_connected()
            self._woken.clear()
            batch = self._next()
            if batch is not None:
                return batch
            await self._woken.wait()
            await self._link.ways.lag()

    def _hear(self, subject: str) -> None:
        self._heard.pop(subject, None)
        self._heard[subject] = None
        self._woken.set()

    def _next(self) -> Batch | None:
        """What is there to be passed on; nothing of other subjects, unless it is to say that all has been read."""
        life = (self._link.life, self._stream.life)
        fresh = life != self._begun
        if fresh:
            self._begun, self._read, self._goal = life, 0, self._stream.last
            self._heard = {subject: None for subject in self._stream.living() if self._wants(subject)}
        catching_up = fresh or self._read < self._goal
        if not self._heard and not catching_up:
            return None
        found = self._stream.words(self._heard)
        portion = found[: self._link.ways.portion()]
        self._read = portion[-1].sequence if len(portion) < len(found) else self._stream.last
        self._heard = {message.subject: None for message in found[len(portion) :]}
        if not portion and not catching_up:
            return None
        return Batch(messages=tuple(portion), fresh=fresh, caught_up=self._read >= self._goal)
