"""Replicas that wrongly believe something to be theirs, owners that come late or change, news that come in odd ways."""

import time
from collections import Counter

from manta_common.keys import Key
from manta_common.partitions import PARTITIONS, partition_of
from tests.integration.toy_stream import Recording, in_order
from tests.integration.toy_world import TOYS, Happened, World
from tests.parts.fault_proxy import Fault

LONG_SECONDS = 3.0


def test_a_reconciler_that_slept_in_the_middle_of_its_work_does_not_go_on_with_it(world: World) -> None:
    slow = world.plane.proxy.inject(
        Fault(method="POST", path=f"{world.namespace}/configmaps", delay_seconds=LONG_SECONDS)
    )
    since = time.monotonic()
    world.want(9)
    world.eventually("one part of each toy is being made", lambda: slow.hits >= len(TOYS))
    sleeper = next(name for name in ("reconciler-1", "reconciler-2") if written(world, name, since))
    world.processes[sleeper].pause()
    world.plane.proxy.clear()
    world.want(3)
    world.settles(3)
    before, claims = world.parts(), len(world.logged(sleeper, "acquired a partition"))
    woken_at = time.monotonic()
    world.processes[sleeper].resume()
    world.eventually("it has its share again", lambda: len(world.logged(sleeper, "acquired a partition")) > claims)
    assert not written(world, sleeper, woken_at)
    world.want(4)
    world.settles(4)
    assert before.items() <= world.parts().items(), "no part was made anew"


def test_a_watcher_that_slept_does_not_put_old_state_over_new(world: World) -> None:
    with Recording(world.stream) as recording:
        world.start("watcher-2")
        world.processes["watcher-1"].pause()
        world.want(5)
        world.settles(5)
        world.processes["watcher-1"].resume()
        world.eventually("it learns that it lost its place", lambda: world.logged("watcher-1", "released a partition"))
        world.want(3)
        world.settles(3)
    assert in_order(recording.said)


def test_two_owners_of_everything_make_nothing_too_much_and_nothing_too_little(empty_world: World) -> None:
    world = empty_world
    world.start("watcher-1")
    owners = ("reconciler-1", "reconciler-2")
    for name in owners:  # replicas of one service share the partitions, so these are of two
        world.start(name, service=f"toy-{name}")
    world.want(2)
    world.settles(2)
    since, began_at = world.version(), time.monotonic()
    world.plane.proxy.inject(Fault(method="POST", path=f"{world.namespace}/configmaps", status=503))
    world.want(5)
    world.eventually("both want to make the parts", lambda: all(written(world, name, began_at) for name in owners))
    world.plane.proxy.clear()
    world.settles(5)
    world.want(1)
    world.settles(1)
    assert counted(world.history(since)) == {
        **{("ADDED", f"{toy}-{number}"): 1 for toy in TOYS for number in (2, 3, 4)},
        **{("DELETED", f"{toy}-{number}"): 1 for toy in TOYS for number in (1, 2, 3, 4)},
    }


def test_a_part_whose_owner_appears_late_is_taken_over(world: World) -> None:
    uid = world.make_part("late-0", "late")
    world.want(3)
    world.eventually("what came after it is in the stream", lambda: ("configmap", "t5-2") in world.stream.standing())
    assert ("configmap", "late-0") not in world.stream.standing()
    world.want(3, ["late"])
    world.settles(3, [*TOYS, "late"])
    assert world.parts()["late-0"] == uid
    world.eventually("the stream shows it", lambda: ("configmap", "late-0") in world.stream.standing())


def test_a_part_that_changes_its_owner_is_let_go_and_replaced(world: World) -> None:
    partition = {toy: partition_of(Key(world.namespace, toy), PARTITIONS) for toy in TOYS}
    other = next(toy for toy in TOYS if partition[toy] != partition["t0"])
    before = world.parts()
    with Recording(world.stream) as recording:
        recording.said.clear()
        world.give_part("t0-1", other)
        world.eventually("it was replaced", lambda: world.parts().get("t0-1", before["t0-1"]) != before["t0-1"])
        world.settles(2)
        world.eventually(
            "the stream shows it", lambda: world.stream.standing().get(("configmap", "t0-1")) == [partition["t0"]]
        )
    moves = [(one.partition, one.object is not None) for one in recording.said if one.name == "t0-1"]
    assert moves[:2] == [(partition["t0"], False), (partition[other], True)]
    assert {name: uid for name, uid in world.parts().items() if before[name] != uid}.keys() == {"t0-1"}


def test_a_toy_whose_parts_are_not_seen_yet_waits_for_them(world: World) -> None:
    since = world.version()
    world.plane.proxy.freeze_watches("/configmaps")
    world.want(5)
    world.eventually("the parts are made", lambda: len(world.parts()) == 5 * len(TOYS))
    world.want(3)
    world.eventually("the toys of later are seen before the parts of earlier", lambda: wanted_in_stream(world) == {3})
    assert ("configmap", "t0-4") not in world.stream.standing()
    world.plane.proxy.clear()
    world.settles(3)
    assert counted(world.history(since)) == {
        **{("ADDED", f"{toy}-{number}"): 1 for toy in TOYS for number in (2, 3, 4)},
        **{("DELETED", f"{toy}-{number}"): 1 for toy in TOYS for number in (3, 4)},
    }


def test_parts_that_are_seen_before_what_their_toy_has_become(world: World) -> None:
    world.plane.proxy.freeze_watches("/toys")
    world.want(1)
    world.delete_part("t0-1")
    world.eventually("it is there again, as far as anyone knows", lambda: "t0-1" in world.parts())
    world.plane.proxy.clear()
    world.settles(1)


def test_watches_that_are_silently_stuck_for_ever_hold_up_nothing_for_ever(empty_world: World) -> None:
    world = empty_world.populated(watch_idle_seconds=1)
    world.plane.proxy.freeze_watches()
    world.want(4)
    world.settles(4)
    world.want(1)
    world.settles(1)


def written(world: World, name: str, since: float) -> list[str]:
    """What a process has sent to the API server to change something after a time."""
    return [
        f"{one.method} {one.path}" for one in world.plane.proxy.writes if one.at > since and f"({name})" in one.agent
    ]


def counted(history: list[Happened]) -> dict[tuple[str, str], int]:
    """How often parts came and went."""
    return dict(Counter((one.what, one.name) for one in history if one.what != "MODIFIED"))


def wanted_in_stream(world: World) -> set[int]:
    """How many parts the toys want by what the stream says."""
    return {one.object.spec.count for one in world.stream.said() if one.word == "toy" and one.object}
