"""The plane as a whole: a toy reconciler of a few lines settles whatever happens to the parts it stands on."""

from collections.abc import Callable

import pytest

from tests.integration.toy_stream import Recording
from tests.integration.toy_world import World
from tests.parts.cluster import ApiError
from tests.parts.fault_proxy import Fault
from tests.parts.nats import Nats


def restart_nats(world: World, nats: Nats) -> None:
    nats.kill()
    world.want(4)
    nats.restart()


def wipe_nats(_: World, nats: Nats) -> None:
    nats.wipe()


def restart_api_server(world: World, _: Nats) -> None:
    with Recording(world.stream) as recording:
        recording.said.clear()
        world.plane.kill_api_server()
        world.plane.start_api_server()
        world.eventually("toys can be written", lambda: _can_write(world))
        world.want(3)
        world.settles(3)
    assert all(one.object is not None for one in recording.said), "what cannot be listed is not gone"


def kill_a_reconciler(world: World, _: Nats) -> None:
    world.processes["reconciler-1"].kill()


def stop_a_reconciler(world: World, _: Nats) -> None:
    world.processes["reconciler-1"].stop()


def kill_the_watcher(world: World, _: Nats) -> None:
    world.start("watcher-2")
    world.processes["watcher-1"].kill()


def stop_the_watcher(world: World, _: Nats) -> None:
    world.start("watcher-2")
    world.processes["watcher-1"].stop()


def cut_watches(world: World, _: Nats) -> None:
    world.plane.proxy.drop_watches()


def lose_answers(world: World, _: Nats) -> None:
    world.plane.proxy.inject(Fault(method="POST", path="configmaps", status=504, applied=True, times=5))
    world.plane.proxy.inject(Fault(method="PATCH", path="toys", status=500, applied=True, times=3))


def refuse_writes(world: World, _: Nats) -> None:
    world.plane.proxy.inject(Fault(method="POST", path="configmaps", status=429, retry_after=1, times=5))
    world.plane.proxy.inject(Fault(method="DELETE", path="configmaps", status=503, times=5))
    world.plane.proxy.inject(Fault(method="PATCH", path="toys", status=409, times=5))


def slow_down(world: World, _: Nats) -> None:
    world.plane.proxy.inject(Fault(path="configmaps", delay_seconds=0.3, times=40))


FAULTS: list[Callable[[World, Nats], None]] = [
    restart_nats,
    wipe_nats,
    restart_api_server,
    kill_a_reconciler,
    stop_a_reconciler,
    kill_the_watcher,
    stop_the_watcher,
    cut_watches,
    lose_answers,
    refuse_writes,
    slow_down,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_world_settles_after(world: World, toy_nats: Nats, fault: Callable[[World, Nats], None]) -> None:
    fault(world, toy_nats)
    world.want(5)
    world.settles(5)
    world.want(1)
    world.settles(1)


def test_a_part_deleted_by_hand_comes_back_and_a_second_pass_does_nothing(world: World) -> None:
    before = world.parts()
    world.delete_part("t0-0")
    world.eventually("it is there again", lambda: set(world.parts()) == set(before))
    changed = {name for name, uid in world.parts().items() if before[name] != uid}
    assert changed == {"t0-0"}


def _can_write(world: World) -> bool:
    try:
        world.want(2)
    except (ApiError, OSError):
        return False
    return True
