"""What can happen to the stream and its readers: poison, ghosts, slowness, size, emptiness, and a leader that dies."""

import asyncio
import contextlib
import pathlib
import secrets
import threading
from collections.abc import Iterator

import msgspec

from tests.integration.toy_world import TOYS, World
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.nats_cluster import NatsCluster
from tests.parts.process import Process
from tests.parts.relay import Relay

TOMBSTONE_SECONDS = 2
LARGE_BYTES = 1_400_000
LONG_LEASE_SECONDS = 12  # whoever is slow is not dead, on a busy machine neither


def test_a_poison_message_is_skipped_told_of_and_replaced(world: World) -> None:
    newer = {"schema": 99, "namespace": world.namespace, "name": "t1", "uid": "u", "object": {}}
    odd = {"namespace": world.namespace, "name": "t3", "uid": "u", "version": "odd", "object": {}}
    poison = {
        world.stream.subject("toy", "t0", "t0"): b"z\x00\x01",
        world.stream.subject("toy", "t1", "t1"): msgspec.json.encode(newer),
        world.stream.subject("toy", "t3", "t3"): msgspec.json.encode(odd),
        world.stream.subject("configmap", "t2-0", "t2"): b"\xff{",
        world.stream.subject("toy", "nobody", "t4"): b"",
        "manta.v1.state.many.toy.tokens": b"{}",
    }
    before = world.stream.standing()
    for subject, body in poison.items():
        world.stream.publish(subject, body)
    world.eventually("somebody was told of each", lambda: told_of(world) >= poison.keys())
    world.eventually("the stream is as it was", lambda: world.stream.standing() == before)
    assert any(world.metric(f"reconciler-{number}", "manta_feed_poison_total") for number in (1, 2))
    world.processes["reconciler-1"].kill()  # somebody must read all of it again
    world.want(5)
    world.settles(5)
    assert world.processes["watcher-1"].alive
    assert world.processes["reconciler-2"].alive


def test_an_emptied_stream_is_filled_again(world: World) -> None:
    before = world.stream.standing()
    world.stream.purge()
    world.eventually("everything is there again", lambda: world.stream.standing() == before)
    world.processes["reconciler-1"].kill()  # somebody must read it
    world.want(4)
    world.settles(4)


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


def test_a_slow_consumer_falls_behind_and_catches_up(empty_world: World, own_nats: Nats) -> None:
    world = empty_world
    world.start("watcher-1")
    reader = world.start("reconciler-1", lease_seconds=LONG_LEASE_SECONDS)
    world.want(2)
    world.settles(2)
    with sluggish(reader):
        for count in range(15):
            world.want(2 + count % 2, note=secrets.token_urlsafe(30_000))
        world.want(5)
        world.settles(5)
    assert not world.logged("reconciler-1", "lost our membership")
    assert "Slow Consumer" not in own_nats.log_tail()


def test_an_object_of_almost_the_largest_size_is_settled_like_any_other(world: World) -> None:
    note, toys = secrets.token_urlsafe(LARGE_BYTES)[:LARGE_BYTES], [*TOYS, "big"]
    world.want(2, ["big"], note=note)
    world.settles(2, toys)
    world.want(4, ["big"], note=note[::-1])
    world.want(4)
    world.settles(4, toys)


def test_a_leader_that_is_killed_while_it_is_written_to(
    control_plane: ControlPlane, toy_crd: None, nats_cluster: NatsCluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    world = World(control_plane, nats_cluster.urls, namespace, tmp_path)
    world.stream.settings = msgspec.structs.replace(world.stream.settings, replicas=3)
    world.stream.said()  # makes the streams; when all processes want to at once, it takes longer
    with contextlib.ExitStack() as stack:
        stack.callback(world.end)
        world.populated(replicas=3)
        leader = nats_cluster.leader("MANTA_STATE")
        stack.callback(nats_cluster.restart, leader)
        world.want(5)
        nats_cluster.kill(leader)
        world.settles(5)
        world.want(1)
        world.settles(1)


def told_of(world: World) -> set[str]:
    """The subjects that somebody has complained of."""
    lines = [line for name in world.processes for line in world.logged(name, "message cannot be read")]
    return {line["subject"] for line in lines}


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
