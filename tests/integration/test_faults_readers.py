"""Readers that are cut off for long, or slow."""

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Iterator
from typing import Any

from manta_common.bus.channel import State
from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.feed import Feed
from manta_common.fence import Seen
from manta_common.keys import Key
from manta_common.store import Held
from tests.integration.toy_reconciler import TOYS as TOY_FEED
from tests.integration.toy_reconciler import Toy
from tests.integration.toy_world import TOYS, World
from tests.parts.eventually import eventually
from tests.parts.nats import Nats
from tests.parts.process import Process
from tests.parts.relay import Relay

TOMBSTONE_SECONDS = 2
LIMIT_SECONDS = 40
LONG_LEASE_SECONDS = 12  # whoever is slow is not dead, on a busy machine neither


async def test_a_consumer_that_is_cut_off_for_longer_than_tombstones_live_sees_no_ghosts(
    empty_world: World, own_nats: Nats
) -> None:
    world, others = empty_world, TOYS[1:]
    async with Relay.to(*own_nats.address) as relay:
        world.start("watcher-1", tombstone_seconds=TOMBSTONE_SECONDS)
        world.start("reconciler-1", nats=(f"nats://127.0.0.1:{relay.port}",))
        await asyncio.to_thread(world.want, 2)
        await asyncio.to_thread(world.settles, 2)
        relay.fall_silent()
        since = await asyncio.to_thread(world.version)
        world.delete_toy("t0")
        for part in ("t0-0", "t0-1"):
            world.delete_part(part)
        await asyncio.to_thread(world.want, 3, others)
        await asyncio.to_thread(world.eventually, "the tombstones are gone", lambda: not told_of_t0(world))
        relay.speak_again()
        await asyncio.to_thread(world.settles, 3, others)
        history = await asyncio.to_thread(world.history, since)
    assert {one.name for one in history if one.what == "ADDED"} == {f"{toy}-2" for toy in others}


async def test_a_feed_that_is_cut_off_for_longer_than_tombstones_live_shows_no_ghosts(own_nats: Nats) -> None:
    listener, place = Listener(), TOY_FEED.channel.subject(1, Key("n", "goes"))
    async with Relay.to(*own_nats.address) as relay, open_bus(BusSettings(urls=(own_nats.url,))) as writer:
        for name in ("stays", "goes"):
            await writer.publish(TOY_FEED.channel.subject(1, Key("n", name)), said(name, Toy()))
        async with open_bus(BusSettings(urls=(f"nats://127.0.0.1:{relay.port}",))) as bus:
            feed = Feed(bus, [TOY_FEED.channel.filter(1)], [TOY_FEED], listener)
            following = asyncio.create_task(feed.run())
            await eventually("both are seen", lambda: shown(feed, {"stays", "goes"}), limit_seconds=LIMIT_SECONDS)
            relay.fall_silent()
            await writer.publish(place, said("goes", None), ttl_seconds=1)
            await eventually("the tombstone is gone", lambda: is_silent(writer, place), limit_seconds=LIMIT_SECONDS)
            await eventually("the loss is noticed", lambda: is_lost(bus), limit_seconds=LIMIT_SECONDS)
            relay.speak_again()
            await eventually("it is gone", lambda: shown(feed, {"stays"}), limit_seconds=LIMIT_SECONDS)
            following.cancel()
            await asyncio.wait([following])
    assert listener.gone == ["goes"]


def test_a_slow_consumer_falls_behind_and_catches_up(empty_world: World, own_nats: Nats) -> None:
    world = empty_world
    world.start("watcher-1")
    reader = world.start("reconciler-1", lease_seconds=LONG_LEASE_SECONDS)
    world.want(2)
    world.settles(2)
    with sluggish(reader):
        for count in range(8):
            world.want(2 + count % 2, note=secrets.token_urlsafe(30_000))
        world.want(5)
        world.settles(5)
    assert not world.logged("reconciler-1", "lost our membership")
    assert "Slow Consumer" not in own_nats.log_tail()


class Listener:
    """Remembers what the feed told to be gone."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        if before and after is None:
            self.gone.append(before.key.name)

    def saw(self, seen: Seen) -> None: ...

    def renewed(self) -> None: ...

    def poisoned(self, subject: str, error: str) -> None:
        raise AssertionError(f"{subject}: {error}")


def said(name: str, toy: Toy | None) -> bytes:
    """A message about a toy, or a tombstone."""
    return TOY_FEED.channel.encode(State(key=Key("n", name), uid="u", version="1", object=toy))


async def shown(feed: Feed, names: set[str]) -> bool | None:
    """Whether the feed shows exactly these."""
    return (feed.view is not None and {held.key.name for _, held in feed.view} == names) or None


async def is_silent(bus: NatsBus, subject: str) -> bool | None:
    """Whether nothing is said on a subject."""
    return await bus.last(subject) is None or None


async def is_lost(bus: NatsBus) -> bool | None:
    """Whether a connection was given up."""
    return not bus.connected or None


def told_of_t0(world: World) -> bool:
    """Whether the stream still says anything of the first toy or its parts."""
    return any(one.name.split("-")[0] == "t0" for one in world.stream.said())


@contextlib.contextmanager
def sluggish(process: Process) -> Iterator[None]:
    """A process that gets to work only a quarter of the time."""
    over = threading.Event()

    def slow_down() -> None:
        while not over.is_set():
            process.pause()
            over.wait(0.3)
            process.resume()
            over.wait(0.1)

    thread = threading.Thread(target=slow_down, name="sluggish")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
