"""What Manta asks of a message bus, whether NATS answers or the simulated one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The last word on one subject; `sequence` is its place in the stream."""

    subject: str
    body: bytes
    sequence: int
    headers: Mapping[str, str] = {}
    caught_up: bool = False  # everything that was in the stream when the replay began has been passed on


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


class Bucket(Protocol):
    """A small key-value store with compare-and-set and keys that expire unless they are renewed."""

    async def get(self, key: str) -> Entry | None:
        """The key's entry, or None."""

    async def put(self, key: str, value: bytes, *, expect: int, ttl_seconds: float | None = None) -> int:
        """Write if the key's revision is `expect` (0: there is no such key); its new revision. Conflict otherwise."""

    async def delete(self, key: str, *, expect: int) -> None:
        """Delete if the key's revision is `expect`; Conflict otherwise."""

    def watch(self) -> AsyncIterator[Entry | None]:
        """Every key as it is now, then None once, then every change; Unreachable when the connection was lost."""


class Replay(Protocol):
    """An ordered reading of the stream: the last message on each subject first, then what comes."""

    def __aiter__(self) -> AsyncIterator[Sequence[Message]]:
        """Batches in order, without gaps; a gap that cannot be closed ends it with Unreachable."""

    async def close(self) -> None:
        """Stop reading."""


Answer = Callable[[bytes, Mapping[str, str]], Awaitable[bytes]]


class Bus(Protocol):
    """One connection to the bus. Errors are those of `manta_common.errors` and no others."""

    async def publish(
        self, subject: str, body: bytes, *, expect: int | None = None, headers: Mapping[str, str] | None = None
    ) -> int:
        """Write the last word on a subject, if its last sequence is `expect`; the new sequence. Conflict otherwise."""

    def replay(self, subjects: Sequence[str]) -> Replay:
        """Read the subjects (wildcards allowed), the last word on each and then what comes."""

    async def state(self) -> StreamState:
        """Which stream this is and how far it has come."""

    def bucket(self, name: str) -> Bucket:
        """One of the buckets that exist (`manta_members`, `manta_shards`)."""

    async def request(self, subject: str, body: bytes, *, limit_seconds: float) -> bytes:
        """Ask whoever serves the subject; Unreachable when nobody answers in time."""

    async def serve(self, service: str, verbs: Mapping[str, Answer]) -> None:
        """Answer `manta.v1.call.<service>.<verb>`, shared with other replicas, until the bus is closed."""

    async def close(self) -> None:
        """Send what is waiting and disconnect."""
