"""A bus in memory, for tests in virtual time. It passes the same contract tests as NATS."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from manta_common.bus.channel import call_subject
from manta_common.bus.faults import answered_fault, error_headers, too_large
from manta_common.bus.protocol import Answer, Batch, Entry, Message, StreamState
from manta_common.clock import Clock
from manta_common.errors import Conflict, Unreachable

LARGEST_BODY = 8 * 1024 * 1024
LOOK_SECONDS = 0.03
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Stored(NamedTuple):
    """A message, and until when it lives."""

    message: Message
    expires_at: float


class MemoryStream:
    """The last message on each subject."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.last = 0
        self._stored: dict[str, Stored] = {}
        self.readers: set[Callable[[Message], None]] = set()

    def write(self, message: Message, expect: int | None, ttl_seconds: float | None) -> int:
        """Store a message under the next sequence; Conflict when the subject's last one is not the expected."""
        if len(message.body) > LARGEST_BODY:
            raise too_large(message.subject)
        before = self.find(message.subject)
        if expect is not None and expect != (before.sequence if before else 0):
            raise Conflict(f"{message.subject} is not at {expect}")
        self.last += 1
        numbered = Message(
            subject=message.subject, body=message.body, sequence=self.last, headers=dict(message.headers)
        )
        expires_at = float("inf") if ttl_seconds is None else self.clock.monotonic() + ttl_seconds
        self._stored[message.subject] = Stored(numbered, expires_at)
        for reader in tuple(self.readers):
            reader(numbered)
        return self.last

    def find(self, subject: str) -> Message | None:
        """The last message on a subject."""
        return next((one.message for one in self.living() if one.message.subject == subject), None)

    def living(self) -> list[Stored]:
        """What has not expired, in order."""
        now = self.clock.monotonic()
        self._stored = {subject: one for subject, one in self._stored.items() if one.expires_at > now}
        return sorted(self._stored.values(), key=lambda one: one.message.sequence)

    def remove(self, subject: str) -> None:
        """Remove a message without a trace."""
        self._stored.pop(subject, None)


class World:
    """What all connections share: one stream, the buckets, and who serves what."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self._seeds = clock, itertools.count()
        self.stream = MemoryStream(clock)
        self.buckets = {name: MemoryStream(clock) for name in ("manta_members", "manta_shards")}
        self.served: dict[str, list[tuple[MemoryBus, Answer]]] = {}

    def seed(self) -> int:
        """Another number each time."""
        return next(self._seeds)

    def wipe(self) -> None:
        """Lose everything, as a NATS does whose disk was wiped."""
        for stream in (self.stream, *self.buckets.values()):
            stream.last = 0
            for one in stream.living():
                stream.remove(one.message.subject)


class MemoryBus:
    """One connection to a world; it can be cut off and joined again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.connected = True

    def cut(self) -> None:
        """Lose the connection."""
        self.connected = False

    def mend(self) -> None:
        """Have it again."""
        self.connected = True

    def check(self) -> None:
        """Unreachable while the connection is lost."""
        if not self.connected:
            raise Unreachable("cut off")

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        expect: int | None = None,
        ttl_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        self.check()
        message = Message(subject=subject, body=body, sequence=0, headers=headers or {})
        return self.world.stream.write(message, expect, ttl_seconds)

    async def last(self, subject: str) -> Message | None:
        self.check()
        return self.world.stream.find(subject)

    @asynccontextmanager
    async def replay(self, subjects: Sequence[str]) -> AsyncIterator[AsyncIterator[Batch]]:
        with contextlib.closing(Reader(self.world.stream, subjects)) as reader:
            yield reader.batches()

    async def state(self) -> StreamState:
        self.check()
        living = self.world.stream.living()
        first = living[0].message.sequence if living else self.world.stream.last + 1
        return StreamState(created_at=NOW, first=first, last=self.world.stream.last, messages=len(living))

    def bucket(self, name: str) -> "MemoryBucket":
        return MemoryBucket(self, self.world.buckets[name])

    async def request(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> bytes:
        self.check()
        answers = [answer for bus, answer in self.world.served.get(subject, []) if bus.connected]
        if not answers:
            raise Unreachable(f"nobody listens on {subject}")
        answer = answers[self.world.stream.last % len(answers)]
        try:
            async with self.world.clock.timeout(limit_seconds):
                [outcome] = await asyncio.gather(answer(body, headers or {}), return_exceptions=True)
        except TimeoutError as error:
            raise Unreachable(f"no answer from {subject}") from error
        if isinstance(outcome, BaseException):
            raise answered_fault(error_headers(outcome))
        return outcome

    async def serve(self, service: str, verbs: Mapping[str, Answer]) -> None:
        for verb, answer in verbs.items():
            self.world.served.setdefault(call_subject(service, verb), []).append((self, answer))


class Reader:
    """One reading of a stream."""

    def __init__(self, stream: MemoryStream, subjects: Sequence[str]) -> None:
        self._stream, self._subjects = stream, subjects
        self._arrived: asyncio.Queue[Message] = asyncio.Queue()
        stream.readers.add(self._arrived.put_nowait)

    def close(self) -> None:
        """Stop reading."""
        self._stream.readers.discard(self._arrived.put_nowait)

    async def batches(self) -> AsyncIterator[Batch]:
        """What is there, at once, and then message by message."""
        there = tuple(one.message for one in self._stream.living() if self._wants(one.message))
        yield Batch(messages=there, fresh=True, caught_up=True)
        seen = there[-1].sequence if there else 0
        while True:
            message = await self._arrived.get()
            if self._wants(message) and message.sequence > seen:
                yield Batch(messages=(message,), caught_up=True)

    def _wants(self, message: Message) -> bool:
        return any(matches(message.subject, wanted) for wanted in self._subjects)


class MemoryBucket:
    """A bucket of a world."""

    def __init__(self, bus: MemoryBus, stream: MemoryStream) -> None:
        self._bus, self._stream = bus, stream

    async def get(self, key: str) -> Entry | None:
        self._bus.check()
        found = self._stream.find(key)
        return _entry(found) if found else None

    async def put(self, key: str, value: bytes, *, expect: int, ttl_seconds: float | None = None) -> int:
        self._bus.check()
        return self._stream.write(Message(subject=key, body=value, sequence=0), expect, ttl_seconds)

    async def delete(self, key: str, *, expect: int) -> None:
        self._bus.check()
        self._stream.write(Message(subject=key, body=b"", sequence=0), expect, None)
        self._stream.remove(key)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[Entry | None]]:
        yield self._entries()

    async def _entries(self) -> AsyncIterator[Entry | None]:
        """The difference to what was told last, looked for again and again: a lost connection needs no other way."""
        told: dict[str, Message] = {}
        ready = False
        while True:
            now = {one.message.subject: one.message for one in self._stream.living()} if self._bus.connected else told
            for key in told.keys() - now.keys():
                yield Entry(key=key, value=None, revision=told[key].sequence)
            for key, message in now.items():
                if told.get(key) != message:
                    yield _entry(message)
            told = now
            if not ready:
                ready = True
                yield None
            await self._stream.clock.sleep(LOOK_SECONDS)


def matches(subject: str, wanted: str) -> bool:
    """Whether a subject is one of those that a pattern of NATS means."""
    tokens, pattern = subject.split("."), wanted.split(".")
    if pattern[-1] == ">":
        return len(tokens) >= len(pattern) and matches(".".join(tokens[: len(pattern) - 1]), ".".join(pattern[:-1]))
    return len(tokens) == len(pattern) and all(mine in ("*", its) for its, mine in zip(tokens, pattern, strict=True))


def _entry(message: Message) -> Entry:
    return Entry(key=message.subject, value=message.body, revision=message.sequence)
