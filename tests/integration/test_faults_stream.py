"""What can happen to the stream: poison, emptiness, a state of long ago, large objects, and a leader that dies."""

import contextlib
import pathlib
import secrets
import shutil

import msgspec

from tests.integration.toy_world import TOYS, World
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.nats_cluster import NatsCluster

LARGE_BYTES = 1_400_000


def test_a_poison_message_is_skipped_told_of_and_replaced(world: World) -> None:
    newer = {"schema": 99, "namespace": world.namespace, "name": "t1", "uid": "u", "object": {}}
    odd = {"namespace": world.namespace, "name": "t3", "uid": "u", "version": "odd", "object": {}}
    poison = {
        world.stream.subject("toy", "t0", "t0"): b"z\x00\x01",
        world.stream.subject("toy", "t1", "t1"): msgspec.json.encode(newer),
        world.stream.subject("toy", "t3", "t3"): msgspec.json.encode(odd),
        world.stream.subject("configmap", "t2-0", "t2"): b"\xff{",
        world.stream.subject("toy", "nobody", "t4"): b"",
        "manta.v1.state.many.plain.toy.tokens": b"{}",
    }
    before = world.stream.standing()
    for subject, body in poison.items():
        world.stream.publish(subject, body)
    world.eventually("somebody was told of each", lambda: told_of(world) >= poison.keys())
    world.eventually("the stream is as it was", lambda: world.stream.standing() == before)
    world.eventually("it is counted", lambda: any(poisons(world, f"reconciler-{number}") for number in (1, 2)))
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


def test_an_old_stream_that_was_put_back_is_brought_up_to_date(
    control_plane: ControlPlane, toy_crd: None, namespace: str, tmp_path: pathlib.Path
) -> None:
    nats = Nats.start_program(tmp_path)
    world = World(control_plane, [nats.url], namespace, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(nats.stop)
        stack.callback(world.end)
        world.populated()
        [data] = tmp_path.glob("nats*/data")
        nats.kill()
        shutil.copytree(data, tmp_path / "old")
        nats.restart()
        world.want(5)
        world.settles(5)
        world.want(3)
        world.settles(3)
        before = world.parts()
        nats.kill()
        shutil.rmtree(data)
        shutil.copytree(tmp_path / "old", data)
        nats.restart()
        world.want(4)
        world.settles(4)
        assert before.items() <= world.parts().items(), "no part was made anew"


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


def poisons(world: World, name: str) -> float:
    """How many messages a process could not read."""
    return world.metric(name, "manta_feed_poison_total")


def told_of(world: World) -> set[str]:
    """The subjects that somebody has complained of."""
    lines = [line for name in world.processes for line in world.logged(name, "message cannot be read")]
    return {line["subject"] for line in lines}
