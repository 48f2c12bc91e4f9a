"""Publishes in order per subject, many subjects at once, and only over what this watcher itself wrote last."""

import asyncio
import itertools
import random
from contextvars import Context, copy_context
from typing import Protocol

import msgspec

from manta_common.bus.protocol import Bus, Message, StreamState
from manta_common.delays import delay_seconds
from manta_common.errors import Conflict, Unreachable
from manta_common.telemetry.names import PUBLISH_SPAN, TRACE_HEADER, attributes
from manta_common.telemetry.tracing import Headers, Tracing

AT_ONCE = 512
GRACE_SECONDS = 60.0  # what the server may be late with removing a tombstone
NONE: Headers = {}


class StoodDown(Conflict):
    """Somebody else writes the stream: nothing more may be published from what this watcher knows."""


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be the last word on a subject; not before the last word on `after` has been said."""

    body: bytes
    ttl_seconds: float | None = None
    after: str = ""
    headers: Headers = NONE


class Sink(Protocol):
    """Where the desk puts what is to be published."""

    def put(self, subject: str, parcel: Parcel) -> None:
        """This is to be the last word on the subject; what waited there before is no longer sent."""


class Outbox:
    """Implements `Sink` on a bus."""

    def __init__(self, bus: Bus, tracing: Tracing | None = None) -> None:
        self._bus, self._tracing = bus, tracing or Tracing()
        self._sequences: dict[str, int] = {}  # what stands in the stream
        self._waiting: dict[str, Parcel] = {}
        self._flying: set[str] = set()
        self._tombstones: dict[str, float] = {}  # until when they stand
        self._group: asyncio.TaskGroup | None = None
        self._context: Context  # that of `run`: a word is sent in no other
        self._chance = random.Random(0)  # spreads our own tries only, for nobody else writes

    @property
    def depth(self) -> int:
        """How many subjects wait for their last word to be said."""
        return len(self._waiting) + len(self._flying)

    def put(self, subject: str, parcel: Parcel) -> None:
        """This is to be the last word on the subject; what waited there before is no longer sent."""
        self._waiting[subject] = parcel
        if len(self._flying) < AT_ONCE and self._is_sendable(subject):
            self._begin(subject)

    @property
    def known(self) -> int:
        """How many subjects are kept in mind, those of tombstones too."""
        return len(self._sequences)

    def stands(self, subject: str, sequence: int) -> None:
        """This stands in the stream from before."""
        self._sequences[subject] = sequence

    def check(self, message: Message) -> None:
        """StoodDown when a message of the stream is not one of ours."""
        ours = self._sequences.get(message.subject, 0) >= message.sequence
        if not ours and message.subject not in self._flying:
            raise StoodDown(f"{message.subject} was written by somebody else")

    def is_missing_from(self, stream: StreamState) -> bool:
        """Whether a stream has lost something that was published and must still stand there."""
        gone_or_going = self._tombstones.keys() | self._flying
        standing = [sequence for subject, sequence in self._sequences.items() if subject not in gone_or_going]
        return len(standing) > stream.messages or min(standing, default=stream.first) < stream.first

    def buried(self, subject: str, *, seconds: float) -> None:
        """A tombstone stands there for so long; after that nothing of the subject needs to be known."""
        self._tombstones[subject] = asyncio.get_running_loop().time() + seconds + GRACE_SECONDS

    def forget_expired(self) -> None:
        """Forget the subjects whose tombstones are gone."""
        now = asyncio.get_running_loop().time()
        for subject in [subject for subject, until in self._tombstones.items() if until < now]:
            if subject not in self._flying:
                del self._tombstones[subject], self._sequences[subject]

    async def run(self) -> None:
        """Publish until cancelled; StoodDown when somebody else has written."""
        async with asyncio.TaskGroup() as group:
            self._group, self._context = group, copy_context()
            try:
                self._begin_more()
                await asyncio.get_running_loop().create_future()  # that never comes
            finally:
                self._group = None

    def _begin_more(self) -> None:
        """Send of what waits as much as may go now."""
        room = AT_ONCE - len(self._flying)
        for subject in list(itertools.islice(filter(self._is_sendable, self._waiting), room)):
            self._begin(subject)

    def _is_sendable(self, subject: str) -> bool:
        """Whether nothing of the same subject is under way, nor what it has to follow."""
        after = self._waiting[subject].after
        return subject not in self._flying and after not in self._flying and after not in self._waiting

    def _begin(self, subject: str) -> None:
        if self._group:
            self._flying.add(subject)
            parcel = self._waiting.pop(subject)
            self._group.create_task(self._sent(subject, parcel), context=self._context.copy())

    async def _sent(self, subject: str, parcel: Parcel) -> None:
        try:
            await self._send(subject, parcel)
        except Exception:
            self._group = None  # it is over: nothing more may be begun
            raise
        self._begin_more()

    async def _send(self, subject: str, parcel: Parcel) -> None:
        if TRACE_HEADER in parcel.headers:
            with self._tracing.span(PUBLISH_SPAN, attributes(subject=subject), caused_by=[parcel.headers]):
                traced = {**parcel.headers, **self._tracing.headers()}
                await self._insist(subject, msgspec.structs.replace(parcel, headers=traced))
        else:
            await self._insist(subject, parcel)
        self._flying.discard(subject)
        self._tombstones.pop(subject, None)
        if parcel.ttl_seconds is not None:
            self.buried(subject, seconds=parcel.ttl_seconds)

    async def _insist(self, subject: str, parcel: Parcel) -> None:
        for failures in itertools.count():
            try:
                self._sequences[subject] = await self._say(subject, parcel)
            except Unreachable:
                await asyncio.sleep(delay_seconds(failures, shortest=0.05, longest=2.0, chance=self._chance.random()))
            else:
                return

    async def _say(self, subject: str, parcel: Parcel) -> int:
        """Publish over what we know to stand there; the sequence. A word of ours that was not confirmed counts too."""
        while True:
            known = self._sequences.get(subject, 0)
            try:
                return await self._bus.publish(
                    subject, parcel.body, expect=known, ttl_seconds=parcel.ttl_seconds, headers=parcel.headers
                )
            except Conflict as conflict:
                last = await self._bus.last(subject)
                if last and last.body == parcel.body:
                    return last.sequence
                if last and last.sequence != known:
                    raise StoodDown(f"{subject} was written by somebody else") from conflict
                self._sequences[subject] = last.sequence if last else 0  # our tombstone expired meanwhile
