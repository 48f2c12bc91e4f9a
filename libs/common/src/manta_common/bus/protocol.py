"""What Manta asks of a message bus, whether NATS answers or the simulated one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

import msgspec

MEMBERS, SHARDS = "manta_members", "manta_shards"  # the buckets that there are


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The last word on one subject; `sequence` is its place in the stream."""

    subject: str
    body: bytes
    sequence: int
    headers: Mapping[str, str] = {}


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay passes on at once, in order; it may be empty.

    `fresh`: the reading begins (again, after a loss), so what was built from earlier batches must be built anew.
    `caught_up`: with this batch, everything that was there when the reading began has been passed on. It stays true.
    """

    messages: tuple[Message, ...] = ()
    fresh: bool = False
    caught_up: bool = False


class StreamState(msgspec.Struct, frozen=True, kw_only=True):
    """Which stream this is and how far it has come; another `created_at` or a smaller `last` means: it is a new one."""

    created_at: datetime
    first: int
    last: int
    messages: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a bucket; `value` is None when the key was deleted or has expired."""

    key: str
    value: bytes | None
    revision: int


Watching = AbstractAsyncContextManager[AsyncIterator[Entry | None]]
Replaying = AbstractAsyncContextManager[AsyncIterator[Batch]]
Answer = Callable[[bytes, Mapping[str, str]], Awaitable[bytes]]


class Bucket(Protocol):
    """A small key-value store with compare-and-set and keys that expire unless they are renewed."""

    async def get(self, key: str) -> Entry | None:
        """The key's entry, or None."""

    async def put(self, key: str, value: bytes, *, expect: int, ttl_seconds: float | None = None) -> int:
        """Write if the key's revision is `expect` (0: there is no such key); its new revision. Conflict otherwise."""

    async def delete(self, key: str, *, expect: int) -> None:
        """Delete if the key's revision is `expect`; Conflict otherwise."""

    def watch(self) -> Watching:
        """Every key as it is now, then None once, then every change, deletions and expiries too.

        After a lost connection it goes on by itself: it tells every key again, and of those that have gone.
        """


class Bus(Protocol):
    """One connection to the bus. Errors are those of `manta_common.errors` and no others.

    A lost connection is made again for ever; what was under way then ends with Unreachable, and what is asked
    meanwhile waits for a while before it does.
    """

    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        expect: int | None = None,
        ttl_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """Write the last word on a subject, if its last sequence is `expect` (0: there is none); the new sequence.

        Conflict when it is another; Unreachable when no answer came: whether it was written is not known.
        """

    async def last(self, subject: str) -> Message | None:
        """The last word on a subject, or None; never older than what was acknowledged before."""

    def replay(self, subjects: Sequence[str]) -> Replaying:
        """Read the subjects (wildcards allowed): the last word on each, then what comes, in order and without gaps.

        When a gap might be, after a lost connection for example, it reads anew from the start: a `fresh` batch.
        """

    async def state(self) -> StreamState:
        """Which stream this is and how far it has come."""

    def bucket(self, name: str) -> Bucket:
        """One of the buckets that exist (`manta_members`, `manta_shards`)."""

    async def request(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Ask whoever serves the subject; the error it raised, or Unreachable when nobody answers in time."""

    async def serve(self, service: str, verbs: Mapping[str, Answer]) -> None:
        """Answer `manta.v1.call.<service>.<verb>` from now on, shared with other replicas, until the bus is closed."""
