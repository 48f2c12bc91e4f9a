"""The bus on NATS JetStream."""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType

from manta_common.bus.buckets import NatsBucket
from manta_common.bus.calls import MicroService
from manta_common.bus.channel import STATE_PREFIX
from manta_common.bus.connection import Connection
from manta_common.bus.faults import ERROR, answered_fault
from manta_common.bus.jetstream import (
    EXPECTED_SEQUENCE,
    TIME_TO_LIVE,
    acknowledged,
    last_message,
)
from manta_common.bus.life import Life
from manta_common.bus.protocol import Answer, Batch, Message, StreamState
from manta_common.bus.replay import Replay
from manta_common.bus.settings import BusSettings
from manta_common.bus.setup import Setup
from manta_common.bus.stream import KV_PREFIX, STATE_STREAM, stream_state
from manta_common.bus.window import Window
from manta_common.clock import Clock, SystemClock
from manta_common.errors import MantaError

Published = Callable[[str, float], None]


class open_bus:  # noqa: N801  it is used like a function: `async with open_bus(settings) as bus`
    """Connect, make the streams that are missing, and stay connected until the block ends.

    Misconfigured when a person must change something first, Unreachable when no server answered in time. What the
    block raises comes out as it is, not in a group.
    """

    def __init__(
        self, settings: BusSettings, *, clock: Clock | None = None, chance: random.Random | None = None
    ) -> None:
        self._settings, self._clock = settings, clock or SystemClock()
        self._connection = Connection(settings, self._clock, chance or random.Random())
        self._setup = Setup(settings.replicas, self._clock)
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> "NatsBus":
        try:
            await self._connection.begin(self._setup.begin)
        except BaseException:
            await self._connection.close()
            raise
        tasks = await self._tasks.__aenter__()
        self._keeping = tasks.create_task(self._connection.keep())
        self._bus = NatsBus(self._settings, self._connection, setup=self._setup, tasks=tasks, clock=self._clock)
        return self._bus

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus.stop()
        self._connection.stop()
        self._keeping.cancel()
        try:
            if isinstance(error, asyncio.CancelledError):  # perhaps because a task of the group failed
                await self._tasks.__aexit__(kind, error, trace)
            else:
                await self._tasks.__aexit__(None, None, None)
        finally:
            await self._connection.close()


class NatsBus:
    """One connection to NATS; made by `open_bus`."""

    def __init__(
        self, settings: BusSettings, connection: Connection, *, setup: Setup, tasks: asyncio.TaskGroup, clock: Clock
    ) -> None:
        self._connection, self._setup, self._tasks, self._clock = connection, setup, tasks, clock
        self._limit_seconds = settings.publish_limit_seconds
        self._window = Window(messages=settings.window_messages, size=settings.window_bytes)
        self._services: list[MicroService] = []
        self._published: Published = _ignore
        self._restoring: asyncio.Task[None] | None = None
        connection.when_missing(self._restore)
        connection.greet(self._look_after)

    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""
        return self._connection.current is not None

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        expect: int | None = None,
        ttl_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """Write the last word on a subject, if its last sequence is `expect` (0: there is none); the new sequence."""
        began, outcome = self._clock.monotonic(), "cancelled"
        try:
            sequence = await self._publish(subject, body, _publish_headers(headers, expect, ttl_seconds))
            outcome = "ok"
        except MantaError as error:
            outcome = type(error).__name__
            raise
        finally:
            self._published(outcome, self._clock.monotonic() - began)
        return sequence

    def when_published(self, told: Published) -> None:
        """Have a function told of every publish: how it ended (`ok` or the error's name) and how long it took."""
        self._published = told

    async def last(self, subject: str) -> Message | None:
        """The last word on a subject, or None; never older than what was acknowledged before."""
        life = await self._connection.life(self._limit_seconds)
        return await last_message(life, STATE_STREAM, subject, limit_seconds=self._limit_seconds)

    @asynccontextmanager
    async def replay(self, subjects: Sequence[str]) -> AsyncIterator[AsyncIterator[Batch]]:
        """Read the subjects: the last word on each, then what comes, in order and without gaps."""
        replay = Replay(self._connection, STATE_STREAM, subjects)
        try:
            yield replay
        finally:
            await replay.close()

    async def state(self) -> StreamState:
        """Which stream this is and how far it has come."""
        return await stream_state(await self._connection.life(self._limit_seconds), STATE_STREAM)

    def bucket(self, name: str) -> NatsBucket:
        """One of the buckets that exist (`manta_members`, `manta_shards`)."""
        return NatsBucket(name, self._connection, self._clock)

    async def request(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Ask whoever serves the subject; the error it raised, or Unreachable when nobody answers in time."""
        answer = await self._connection.ask(subject, body, limit_seconds=limit_seconds, headers=headers)
        if answer.headers and ERROR in answer.headers:
            raise answered_fault(answer.headers)
        return answer.data

    async def serve(self, service: str, verbs: Mapping[str, Answer]) -> None:
        """Answer `manta.v1.call.<service>.<verb>` from now on, shared with other replicas, until the bus is closed."""
        answering = MicroService(service, verbs, tasks=self._tasks, clock=self._clock)
        self._services.append(answering)
        life = await self._connection.life(self._limit_seconds)
        self._connection.greet(answering.listen)
        await answering.listen(life)

    def stop(self) -> None:
        """Give up what is under way; `open_bus` calls it."""
        for service in self._services:
            service.stop()
        if self._restoring:
            self._restoring.cancel()

    async def _publish(self, subject: str, body: bytes, headers: Mapping[str, str] | None) -> int:
        size = len(body)
        await self._window.enter(size)
        try:
            answer = await self._connection.ask(subject, body, limit_seconds=self._limit_seconds, headers=headers)
        finally:
            self._window.leave(size)
        return acknowledged(answer, subject)

    async def _look_after(self, life: Life) -> None:
        """On a new life of the connection: NATS may have been wiped."""
        self._restoring = self._tasks.create_task(self._setup.restore(life))

    def _restore(self, subject: str) -> None:
        """A stream of ours may have been removed."""
        life = self._connection.current
        if life and subject.startswith((STATE_PREFIX, KV_PREFIX)) and self._setup.is_due():
            self._restoring = self._tasks.create_task(self._setup.restore(life))


def _publish_headers(
    headers: Mapping[str, str] | None, expect: int | None, ttl_seconds: float | None
) -> dict[str, str] | None:
    sent = dict(headers) if headers else {}
    if expect is not None:
        sent[EXPECTED_SEQUENCE] = str(expect)
    if ttl_seconds is not None:
        sent[TIME_TO_LIVE] = f"{math.ceil(ttl_seconds)}s"
    return sent or None


def _ignore(_outcome: str, _seconds: float) -> None:
    """Nobody wants to know."""
