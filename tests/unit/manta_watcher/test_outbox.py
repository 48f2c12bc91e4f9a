"""The outbox writes over its own words only, and notices when somebody else wrote or something was lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest

from manta_common.bus.protocol import Message
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from manta_embedded.sim.loop import run
from manta_watcher.outbox import GRACE_SECONDS, Outbox, Parcel, StoodDown

ONE, OTHER = "manta.v1.state.1.plain.toy.n.one", "manta.v1.state.1.plain.toy.n.other"
TTL_SECONDS = 10


class Desk:
    """An outbox that is at work, with the NATS it writes to."""

    def __init__(self) -> None:
        self.nats = SimulatedNats(LoopClock())
        self.bus = SimulatedBus(self.nats)
        self.outbox = Outbox(self.bus)

    async def says(self, subject: str, body: bytes, ttl_seconds: float | None = None) -> None:
        """Publish, in no more than a second of virtual time."""
        self.outbox.put(subject, Parcel(body=body, ttl_seconds=ttl_seconds))
        await asyncio.sleep(1)
        assert not self.outbox.depth

    async def is_missing(self) -> bool:
        """Whether something was lost."""
        return self.outbox.is_missing_from(await self.bus.state())


@asynccontextmanager
async def working() -> AsyncIterator[Desk]:
    desk = Desk()
    task = asyncio.create_task(desk.outbox.run())
    yield desk
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def in_virtual_time(test: Callable[[], Coroutine[object, object, None]]) -> Callable[[], None]:
    def tested() -> None:
        run(test())

    tested.__name__ = test.__name__
    return tested


@in_virtual_time
async def test_its_own_words_are_known() -> None:
    async with working() as desk:
        await desk.says(ONE, b"1")
        await desk.says(ONE, b"2")
        desk.outbox.check(Message(subject=ONE, body=b"1", sequence=1))
        desk.outbox.check(Message(subject=ONE, body=b"2", sequence=2))


@in_virtual_time
async def test_a_word_that_is_under_way_is_its_own() -> None:
    async with working() as desk:
        seen: list[bytes] = []

        def look(_: str) -> None:
            message = desk.nats.stream.find(ONE)
            assert message
            desk.outbox.check(message)
            seen.append(message.body)

        desk.nats.stream.listen(look)  # it looks before the outbox is told that its word was taken
        await desk.says(ONE, b"1")
        assert seen == [b"1"]


@in_virtual_time
async def test_the_word_of_another_is_noticed() -> None:
    async with working() as desk:
        await desk.says(ONE, b"1")
        sequence = await SimulatedBus(desk.nats).publish(OTHER, b"poison")
        with pytest.raises(StoodDown, match=OTHER):
            desk.outbox.check(Message(subject=OTHER, body=b"poison", sequence=sequence))


@in_virtual_time
async def test_what_stands_is_not_missing() -> None:
    async with working() as desk:
        for body in (b"1", b"2"):
            await desk.says(ONE, body)
            await desk.says(OTHER, body)
        assert not await desk.is_missing()


@in_virtual_time
async def test_what_was_emptied_is_missing_though_others_have_written_since() -> None:
    async with working() as desk:
        await desk.says(ONE, b"1")
        desk.nats.stream.remove(ONE)
        for number in range(3):
            await SimulatedBus(desk.nats).publish(f"manta.v1.state.1.plain.jobinfo.n.{number}", b"")
        assert await desk.is_missing()


@in_virtual_time
async def test_a_tombstone_may_expire_and_is_forgotten_then() -> None:
    async with working() as desk:
        await desk.says(ONE, b"gone", TTL_SECONDS)
        await desk.says(OTHER, b"1")
        await asyncio.sleep(TTL_SECONDS + 1)
        assert not await desk.is_missing()
        desk.outbox.forget_expired()
        assert desk.outbox.known == 2
        await asyncio.sleep(GRACE_SECONDS)
        desk.outbox.forget_expired()
        assert desk.outbox.known == 1


@in_virtual_time
async def test_what_comes_back_after_its_tombstone_is_not_forgotten() -> None:
    async with working() as desk:
        await desk.says(ONE, b"gone", TTL_SECONDS)
        await desk.says(ONE, b"again")
        await asyncio.sleep(TTL_SECONDS + GRACE_SECONDS + 1)
        desk.outbox.forget_expired()
        assert desk.outbox.known == 1
        assert not await desk.is_missing()
