"""A simulated NATS and the connections to it. They pass the same contract tests as the real ones."""

import asyncio
import contextvars
import random
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn

from manta_common.bus.channel import call_subject
from manta_common.bus.faults import answered_fault, error_headers
from manta_common.bus.protocol import MEMBERS, SHARDS, Answer, Batch, Message, StreamState
from manta_common.clock import Clock
from manta_common.errors import Unreachable
from manta_embedded.sim.buckets import SimulatedBucket
from manta_embedded.sim.link import Link, Ways
from manta_embedded.sim.replays import Replay
from manta_embedded.sim.stream import Stream


class SimulatedNats:
    """What all connections share: one stream, the buckets, and who serves what."""

    def __init__(self, clock: Clock, chance: random.Random | None = None) -> None:
        self.clock, self.chance = clock, chance or random.Random(0)
        self.stream = Stream(clock)
        self.buckets = {name: Stream(clock) for name in (MEMBERS, SHARDS)}
        self.served: dict[str, list[tuple[SimulatedBus, Answer]]] = {}
        self.connections: list[SimulatedBus] = []

    def wipe(self) -> None:
        """Lose everything, as a NATS does whose disk was wiped."""
        for stream in (self.stream, *self.buckets.values()):
            stream.wipe()
        self.restart()

    def lose_tail(self, seconds: float) -> None:
        """Lose the last words, as a NATS does whose machine lost power."""
        for stream in (self.stream, *self.buckets.values()):
            stream.lose_tail(seconds)
        self.restart()

    def restart(self) -> None:
        """Every connection is lost and made again."""
        for connection in tuple(self.connections):
            connection.blink()


class SimulatedBus(Link):
    """One connection; it can be cut off and joined again. Implements `Bus`."""

    def __init__(self, nats: SimulatedNats, ways: Ways | None = None) -> None:
        super().__init__(nats.clock, ways)
        self.nats = nats
        self._answering: dict[asyncio.Task[bytes], None] = {}
        nats.connections.append(self)

    def close(self) -> None:
        """Be gone for good, in the middle of everything."""
        self.cut()
        self.closed = True
        if self in self.nats.connections:
            self.nats.connections.remove(self)
        for answers in self.nats.served.values():
            answers[:] = [(bus, answer) for bus, answer in answers if bus is not self]
        for task in self._answering:
            task.cancel()

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        expect: int | None = None,
        ttl_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """Write the last word on a subject."""
        message = Message(subject=subject, body=body, sequence=0, headers=headers or {})
        return await self.ask(lambda: self.nats.stream.write(message, expect, ttl_seconds))

    async def last(self, subject: str) -> Message | None:
        """The last word on a subject, or None."""
        return await self.ask(lambda: self.nats.stream.find(subject))

    @asynccontextmanager
    async def replay(self, subjects: Sequence[str]) -> AsyncIterator[AsyncIterator[Batch]]:
        """Read some subjects."""
        reading = Replay(self, self.nats.stream, subjects)
        try:
            yield reading
        finally:
            reading.close()

    async def state(self) -> StreamState:
        """Which stream this is and how far it has come."""
        return await self.ask(self._state)

    def bucket(self, name: str) -> SimulatedBucket:
        """One of the buckets."""
        return SimulatedBucket(self, self.nats.buckets[name])

    async def request(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Ask whoever serves the subject."""
        try:
            async with self.nats.clock.timeout(limit_seconds):
                task = await self.ask(lambda: self._asked(subject, body, headers or {}))
                await asyncio.wait([task])
                if task.cancelled():
                    await _for_ever()  # whoever was asked has died
        except TimeoutError as error:
            raise Unreachable(f"no answer from {subject}") from error
        failure = task.exception()
        if failure is not None:
            raise answered_fault(error_headers(failure))
        return task.result()

    async def serve(self, service: str, verbs: Mapping[str, Answer]) -> None:
        """Answer the calls of a service."""
        context = contextvars.copy_context()
        for verb, answer in verbs.items():
            answering = self.nats.served.setdefault(call_subject(service, verb), [])
            answering.append((self, _in_context(answer, context)))

    def _asked(self, subject: str, body: bytes, headers: Mapping[str, str]) -> asyncio.Task[bytes]:
        """Whoever serves the subject begins to answer."""
        found = [(bus, answer) for bus, answer in self.nats.served.get(subject, []) if bus.connected]
        if not found:
            raise Unreachable(f"nobody listens on {subject}")
        bus, answer = self.nats.chance.choice(found)
        task = asyncio.ensure_future(answer(body, headers))
        assert isinstance(task, asyncio.Task)
        bus.answers(task)
        return task

    def answers(self, task: asyncio.Task[bytes]) -> None:
        """An answer is being made here; it ends with the connection's end."""
        self._answering[task] = None
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[bytes]) -> None:
        del self._answering[task]
        if not task.cancelled():
            task.exception()  # whoever asked may be gone

    def _state(self) -> StreamState:
        stream = self.nats.stream
        living = stream.living()
        first = next(iter(living.values())).sequence if living else stream.last + 1
        return StreamState(created_at=stream.created_at, first=first, last=stream.last, messages=len(living))


def _in_context(answer: Answer, context: contextvars.Context) -> Answer:
    """The answer, made by a task of whoever serves, not of whoever asks."""

    def begin(body: bytes, headers: Mapping[str, str]) -> Awaitable[bytes]:
        return asyncio.get_running_loop().create_task(answer(body, headers), context=context.copy())  # type: ignore[arg-type]

    return begin


async def _for_ever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")
