"""Publishes in order per subject, many subjects at once, and only over what this watcher itself wrote last."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec

from manta_common.bus.protocol import Bus
from manta_common.errors import Conflict, Unreachable

AT_ONCE = 512
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.05, 2.0


class StoodDown(Conflict):
    """Somebody else writes the stream: nothing more may be published from what this watcher knows."""


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be the last word on a subject; not before the last word on `after` has been said."""

    body: bytes
    ttl_seconds: float | None = None
    after: str = ""
    headers: Mapping[str, str] = {}


class Sink(Protocol):
    """Where the desk puts what is to be published."""

    def put(self, subject: str, parcel: Parcel) -> None:
        """This is to be the last word on the subject; what waited there before is no longer sent."""


class Outbox:
    """Implements `Sink` on a bus. `sequences` is what stands in the stream, by subject."""

    def __init__(self, bus: Bus, sequences: dict[str, int]) -> None:
        self._bus, self._sequences = bus, sequences
        self._waiting: dict[str, Parcel] = {}
        self._flying: set[str] = set()
        self._woken = asyncio.Event()

    @property
    def depth(self) -> int:
        """How many subjects wait for their last word to be said."""
        return len(self._waiting) + len(self._flying)

    def put(self, subject: str, parcel: Parcel) -> None:
        """This is to be the last word on the subject; what waited there before is no longer sent."""
        self._waiting[subject] = parcel
        self._woken.set()

    async def run(self) -> None:
        """Publish until cancelled; StoodDown when somebody else has written."""
        async with asyncio.TaskGroup() as group:
            while True:
                for subject in self._sendable():
                    self._flying.add(subject)
                    group.create_task(self._send(subject, self._waiting.pop(subject)))
                await self._woken.wait()
                self._woken.clear()

    def _sendable(self) -> list[str]:
        """What may go now: nothing of the same subject is under way, nor what it has to follow."""
        room, found = AT_ONCE - len(self._flying), list[str]()
        for subject, parcel in self._waiting.items():
            if len(found) >= room:
                break
            held_up = parcel.after in self._flying or parcel.after in self._waiting
            if subject not in self._flying and not held_up:
                found.append(subject)
        return found

    async def _send(self, subject: str, parcel: Parcel) -> None:
        delay_seconds = FIRST_DELAY_SECONDS
        while True:
            try:
                self._sequences[subject] = await self._say(subject, parcel)
                break
            except Unreachable:
                await asyncio.sleep(delay_seconds)
                delay_seconds = min(2 * delay_seconds, LONGEST_DELAY_SECONDS)
        self._flying.discard(subject)
        self._woken.set()

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
