"""Watching a bucket. Keys that expire leave no marker, so nobody is told; the watch looks for those whose time is over.

With markers, a key could not be made again while its marker lives.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import msgspec

from manta_common.bus.protocol import Batch, Entry, Message
from manta_common.bus.replay import Replay
from manta_common.clock import Clock
from manta_common.errors import Retry

GRACE_SECONDS = 0.1  # what a renewal may be late
LOOK_AGAIN_SECONDS = 0.25
PATIENCE_SECONDS = 5.0


class Source(Protocol):
    """What a watch needs of its bucket."""

    async def get(self, key: str) -> Entry | None:
        """The key's entry, or None."""

    def entry(self, message: Message) -> tuple[Entry, float | None]:
        """What a message says, and for how many seconds if it expires."""


class _Known(msgspec.Struct):
    revision: int
    look_at: float | None  # when its time is over


class Watch:
    """The entries of one bucket, for ever."""

    def __init__(self, replay: Replay, bucket: Source, clock: Clock) -> None:
        self._replay, self._bucket, self._clock = replay, bucket, clock
        self._known: dict[str, _Known] = {}
        self._unseen: set[str] = set()  # known from before a fresh reading, which has not told of them yet

    async def entries(self) -> AsyncIterator[Entry | None]:
        """Every key, None once, every change."""
        told = False
        while True:
            batch = await self._replay.next(self._patience())
            for entry in self._changes(batch) if batch else ():
                yield entry
            if batch and batch.caught_up and not told:
                told = True
                yield None
            for key in self._overdue():
                gone = await self._look(key)
                if gone:
                    yield gone

    def _changes(self, batch: Batch) -> Iterator[Entry]:
        if batch.fresh:
            self._unseen = set(self._known)
        for message in batch.messages:
            entry, lives_seconds = self._bucket.entry(message)
            self._unseen.discard(entry.key)
            known = self._known.pop(entry.key, None)
            if entry.value is not None:
                look_at = None if lives_seconds is None else self._clock.monotonic() + lives_seconds + GRACE_SECONDS
                self._known[entry.key] = _Known(entry.revision, look_at)
            if known or entry.value is not None:
                yield entry
        while batch.caught_up and self._unseen:
            yield self._gone(self._unseen.pop())

    def _overdue(self) -> list[str]:
        now = self._clock.monotonic()
        return [key for key, known in self._known.items() if known.look_at is not None and known.look_at <= now]

    async def _look(self, key: str) -> Entry | None:
        """Ask for a key whose time is over: the server is the judge."""
        self._known[key].look_at = self._clock.monotonic() + LOOK_AGAIN_SECONDS
        try:
            found = await self._bucket.get(key)
        except Retry:
            return None
        return self._gone(key) if found is None else None

    def _gone(self, key: str) -> Entry:
        self._unseen.discard(key)  # it may be looked for while everything is read anew
        return Entry(key=key, value=None, revision=self._known.pop(key).revision)

    def _patience(self) -> float:
        due = min((known.look_at for known in self._known.values() if known.look_at is not None), default=None)
        if due is None:
            return PATIENCE_SECONDS
        return min(max(due - self._clock.monotonic(), 0.01), PATIENCE_SECONDS)
