"""Buckets: keys with values in a stream of their own, written by compare-and-set, expiring unless they are renewed.

They are laid out as NATS' own key-value clients do it.
"""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from manta_common.bus.connection import Connection
from manta_common.bus.jetstream import EXPECTED_SEQUENCE, TIME_TO_LIVE, acknowledged, last_message
from manta_common.bus.protocol import Entry, Message
from manta_common.bus.replay import Replay
from manta_common.bus.stream import bucket_prefix, stream_of
from manta_common.bus.watch import Watch
from manta_common.clock import Clock
from manta_common.errors import Conflict

LIMIT_SECONDS = 1.5  # of one operation; a lease has to be renewed within 4 s
OPERATION, DELETED = "KV-Operation", "DEL"
LIVES = "Manta-TTL"  # what the writer asked for, for those who watch
MARKER_SECONDS = 60


class NatsBucket:
    """One bucket in NATS."""

    def __init__(self, name: str, connection: Connection, clock: Clock) -> None:
        self._stream, self._prefix = stream_of(name), bucket_prefix(name)
        self._connection, self._clock = connection, clock

    async def get(self, key: str) -> Entry | None:
        """The key's entry, or None."""
        entry = await self._last(key)
        return entry if entry and entry.value is not None else None

    async def put(self, key: str, value: bytes, *, expect: int, ttl_seconds: float | None = None) -> int:
        """Write if the key's revision is `expect` (0: there is no such key); its new revision. Conflict otherwise."""
        headers = {} if ttl_seconds is None else _expiring(ttl_seconds)
        try:
            return await self._write(key, value, expect, headers)
        except Conflict:
            last = await self._last(key) if expect == 0 else None
            if last is None or last.value is not None:
                raise
        return await self._write(key, value, last.revision, headers)  # it was deleted, and its marker is still there

    async def delete(self, key: str, *, expect: int) -> None:
        """Delete if the key's revision is `expect`; Conflict otherwise."""
        await self._write(key, b"", expect, {OPERATION: DELETED, TIME_TO_LIVE: f"{MARKER_SECONDS}s"})

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[Entry | None]]:
        """Every key as it is now, then None once, then every change, deletions and expiries too."""
        replay = Replay(self._connection, self._stream, [f"{self._prefix}>"])
        try:
            yield Watch(replay, self, self._clock).entries()
        finally:
            await replay.close()

    def entry(self, message: Message) -> tuple[Entry, float | None]:
        """What a message of this bucket says, and for how many seconds if it expires."""
        gone = message.headers.get(OPERATION) is not None
        key = message.subject.removeprefix(self._prefix)
        entry = Entry(key=key, value=None if gone else message.body, revision=message.sequence)
        return entry, _seconds(message.headers.get(LIVES, ""))

    async def _last(self, key: str) -> Entry | None:
        life = await self._connection.life(LIMIT_SECONDS)
        found = await last_message(life, self._stream, f"{self._prefix}{key}", limit_seconds=LIMIT_SECONDS)
        return self.entry(found)[0] if found else None

    async def _write(self, key: str, value: bytes, expect: int, headers: dict[str, str]) -> int:
        subject = f"{self._prefix}{key}"
        guarded = {**headers, EXPECTED_SEQUENCE: str(expect)}
        answer = await self._connection.ask(subject, value, limit_seconds=LIMIT_SECONDS, headers=guarded)
        return acknowledged(answer, subject)


def _seconds(lives: str) -> float | None:
    """A lifetime as it is written; what is none of ours is looked after as if it had not been said."""
    try:
        seconds = float(lives)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _expiring(seconds: float) -> dict[str, str]:
    return {TIME_TO_LIVE: f"{math.ceil(seconds)}s", LIVES: str(seconds)}  # NATS counts whole seconds
