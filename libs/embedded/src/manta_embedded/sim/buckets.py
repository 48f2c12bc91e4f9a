"""Buckets of the simulated NATS: compare-and-set, keys that expire, and a watch that tells of all that.

A connection that is deceived is told that its writes succeeded, and sees nothing change: so two replicas can be made
to believe that they own the same, which in the real world takes a sick server and a slow clock.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from manta_common.bus.protocol import Entry, Message
from manta_embedded.sim.link import Link
from manta_embedded.sim.stream import Stream


class SimulatedBucket:
    """One bucket, by one connection. Implements `Bucket`."""

    def __init__(self, link: Link, stream: Stream) -> None:
        self._link, self._stream = link, stream

    async def get(self, key: str) -> Entry | None:
        """The key's entry, or None."""
        found = await self._link.ask(lambda: self._stream.find(key))
        return _entry(found) if found else None

    async def put(self, key: str, value: bytes, *, expect: int, ttl_seconds: float | None = None) -> int:
        """Write if the key's revision is `expect`; its new revision."""
        if self._link.deceived:
            return expect
        if ttl_seconds is not None:
            self._link.leases[self._stream, key] = None
        message = Message(subject=key, body=value, sequence=0)
        return await self._link.ask(lambda: self._stream.write(message, expect, ttl_seconds))

    async def delete(self, key: str, *, expect: int) -> None:
        """Delete if the key's revision is `expect`."""
        if not self._link.deceived:
            await self._link.ask(lambda: self._delete(key, expect))

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[Entry | None]]:
        """Every key as it is now, then None once, then every change."""
        watch = BucketWatch(self._link, self._stream)
        try:
            yield watch
        finally:
            watch.close()

    def _delete(self, key: str, expect: int) -> None:
        self._stream.write(Message(subject=key, body=b"", sequence=0), expect, None)
        self._stream.remove(key)


class BucketWatch:
    """The difference to what was told last, looked for after each change: a lost connection needs no other way."""

    def __init__(self, link: Link, stream: Stream) -> None:
        self._link, self._stream = link, stream
        self._told: dict[str, Message] = {}
        self._pending: deque[Entry | None] = deque()
        self._whole = False
        self._woken = asyncio.Event()
        link.listen(self._woken.set)
        stream.listen(self._hear)

    def close(self) -> None:
        """Stop watching."""
        self._link.ignore(self._woken.set)
        self._stream.ignore(self._hear)

    def __aiter__(self) -> "BucketWatch":
        return self

    async def __anext__(self) -> Entry | None:
        while not self._pending:
            self._woken.clear()
            self._look()
            if not self._pending:
                await self._wait()
                await self._link.ways.lag()
        return self._pending.popleft()

    def _hear(self, _: str) -> None:
        self._woken.set()

    def _look(self) -> None:
        if not self._link.connected or self._link.deceived:
            return
        now, told = self._stream.living(), self._told
        gone = [Entry(key=key, value=None, revision=told[key].sequence) for key in told if key not in now]
        news = [_entry(message) for key, message in now.items() if told.get(key) is not message]
        self._pending.extend((*gone, *news))
        self._told = now
        if not self._whole:
            self._whole = True
            self._pending.append(None)

    async def _wait(self) -> None:
        """Until something was written, or the next key expires."""
        ends_at = self._stream.next_end_at
        if ends_at is None:
            await self._woken.wait()
            return
        with contextlib.suppress(TimeoutError):
            async with self._link.clock.timeout(max(0.0, ends_at - self._link.clock.monotonic())):
                await self._woken.wait()


def _entry(message: Message) -> Entry:
    return Entry(key=message.subject, value=message.body, revision=message.sequence)
