"""Services in a world: each fault does what it says, and nothing of a dead one goes on."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest

from manta_common.errors import MantaError, Throttled, Unreachable
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.protocol import MergePatch
from manta_embedded.sim.errors import Deadlock, NeverHappened
from manta_embedded.sim.loop import Limits
from manta_embedded.sim.service import Seat
from manta_embedded.sim.simulate import ScenarioFailed, simulate
from manta_embedded.sim.troubles import READS, Trouble, throttled, unreachable
from manta_embedded.sim.world import Climate, World


class Writer:
    """Creates a ConfigMap every second, numbered from the first that is missing, and remembers what happened to it."""

    def __init__(self, seat: Seat) -> None:
        self.seat, self.errors, self.written = seat, list[MantaError](), 0
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        while not self._stopping.is_set():
            await self._try()
            await asyncio.sleep(1)

    def stop(self) -> None:
        self._stopping.set()

    async def _try(self) -> None:
        try:
            there = await self.seat.kube.list(CONFIGMAP, dict)
            body = {"metadata": {"name": f"m-{len(there.items)}"}}
            await self.seat.kube.create(CONFIGMAP, "default", body, dict)
            self.written += 1
        except MantaError as error:
            self.errors.append(error)


def count(world: World) -> int:
    return len(world.objects(CONFIGMAP))


def writer(world: World) -> Writer:
    running = world.service("w").running
    assert isinstance(running, Writer)
    return running


def actions(world: World) -> list[str]:
    return [line.action for line in world.history.of("w")]


@pytest.mark.parametrize(
    ("applied", "left"),
    [pytest.param(True, 3, id="after it was carried out"), pytest.param(False, 2, id="before it was carried out")],
)
def test_a_service_dies_at_its_third_write(applied: bool, left: int) -> None:
    async def scenario(world: World) -> None:
        service = world.start("w", Writer)
        service.crash_at(write=3, applied=applied)
        await world.until("it has crashed", lambda: not service.alive)
        await asyncio.sleep(0.5)
        assert count(world) == left
        await world.until("it goes on in its next life", lambda: count(world) == 5)
        assert service.lives == 2
        await world.sleep(0.5)
        assert writer(world).written == 5 - left

    simulate(scenario)


def test_a_dead_service_does_nothing_more() -> None:
    async def scenario(world: World) -> None:
        service = world.start("w", Writer)
        await world.until("it works", lambda: count(world) == 2)
        service.crash(again_after_seconds=None)
        await world.sleep(60)
        assert count(world) == 2

    simulate(scenario)


def test_a_service_that_stands_still_goes_on_where_it_was() -> None:
    async def scenario(world: World) -> None:
        service = world.start("w", Writer)
        await world.until("it works", lambda: count(world) == 2)
        service.pause(30)
        await world.sleep(29)
        assert count(world) == 2
        await world.until("it goes on", lambda: count(world) == 3, limit_seconds=3)
        assert service.lives == 1

    simulate(scenario)


def test_a_clean_stop_lets_it_end_by_itself() -> None:
    async def scenario(world: World) -> None:
        service = world.start("w", Writer)
        await world.until("it works", lambda: count(world) == 1)
        await service.stop()
        assert not service.alive
        assert actions(world)[-2:] == ["is told to stop", "ends"]

    simulate(scenario)


@pytest.mark.parametrize(
    ("trouble", "raised", "left"),
    [
        pytest.param(Trouble(error=unreachable), Unreachable, 0, id="no answer, not carried out"),
        pytest.param(Trouble(error=unreachable, applied=True), Unreachable, 1, id="no answer, carried out"),
        pytest.param(Trouble(error=throttled), Throttled, 0, id="told to wait"),
    ],
)
def test_a_write_goes_wrong_as_told(trouble: Trouble, raised: type[MantaError], left: int) -> None:
    async def scenario(world: World) -> None:
        world.start("w", Writer).trouble(trouble)
        await world.until("it went wrong", lambda: writer(world).errors)
        assert isinstance(writer(world).errors[0], raised)
        assert count(world) == left
        await world.until("it goes on", lambda: count(world) == 3)
        assert len(writer(world).errors) == 1

    simulate(scenario)


def test_a_call_can_take_long() -> None:
    async def scenario(world: World) -> None:
        world.start("w", Writer).trouble(Trouble(delay_seconds=40), verbs=READS)
        assert await world.until("it was late", lambda: count(world) == 1) > 40

    simulate(scenario)


def test_the_servers_time_is_known_whatever_the_clock_on_the_wall_says() -> None:
    async def scenario(world: World) -> None:
        service = world.start("w", Writer)
        service.crash(again_after_seconds=None)
        service.step_clock(86400)
        service.start()
        await world.until("it works", lambda: count(world) == 3)
        assert abs(writer(world).seat.kube.now() - world.store.now()) < timedelta(seconds=1)

    simulate(scenario)


def test_history_tells_when_who_what_and_why() -> None:
    class Act:
        because = "there is none yet"

    class Reasoned(Writer):
        async def _try(self) -> None:
            action = Act()
            assert action.because
            await super()._try()

    async def scenario(world: World) -> None:
        world.start("w", Reasoned)
        await world.until("it works", lambda: count(world) == 1)

    line = next(line for line in simulate(scenario).history.lines if line.action == "create")
    assert (line.who, line.about, line.because) == ("w", "configmap default/m-0", "there is none yet")
    assert str(line).split(maxsplit=5)[1:] == ["w", "create", "configmap", "default/m-0", "there is none yet"]


class Stubborn(Writer):
    """Creates and deletes everything twice."""

    async def _try(self) -> None:
        for _ in range(2):
            await self._noted(self.seat.kube.create(CONFIGMAP, "default", {"metadata": {"name": "again"}}, dict))
        made = await self.seat.kube.get(CONFIGMAP, Key("default", "again"), dict)
        for _ in range(2):
            uid = made["metadata"]["uid"]
            await self._noted(self.seat.kube.delete(CONFIGMAP, Key("default", "again"), uid=uid))
        self.written += 1

    async def _noted(self, call: Awaitable[Any]) -> None:
        try:
            await call
        except MantaError as error:
            self.errors.append(error)


@pytest.mark.parametrize(
    ("trouble", "noticed"),
    [
        pytest.param(Trouble(), ["create", "delete"], id="both were answered"),
        pytest.param(Trouble(error=unreachable, applied=True), ["delete"], id="the create was not answered"),
    ],
)
def test_what_is_repeated_is_noticed_when_the_first_was_answered(trouble: Trouble, noticed: list[str]) -> None:
    async def scenario(world: World) -> None:
        world.start("w", Stubborn).trouble(trouble)
        await world.until("it is done", lambda: writer(world).written)
        assert world.repeats == [f"w: {verb} configmap default/again" for verb in noticed]

    simulate(scenario)


def test_a_check_after_every_change_ends_the_run() -> None:
    async def scenario(world: World) -> None:
        world.always(lambda event: "three are too many" if count(world) == 3 else None)
        world.start("w", Writer)
        await world.sleep(60)

    with pytest.raises(ScenarioFailed, match="three are too many"):
        simulate(scenario)


def test_a_service_that_ends_with_an_error_ends_the_run() -> None:
    class Broken(Writer):
        async def run(self) -> None:
            await asyncio.sleep(1)
            raise ZeroDivisionError("a bug")

    async def scenario(world: World) -> None:
        world.start("w", Broken)
        await world.sleep(60)

    with pytest.raises(ScenarioFailed, match="ZeroDivisionError: a bug"):
        simulate(scenario)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        pytest.param(Limits(seconds=5), "OutOfTime", id="virtual time"),
        pytest.param(Limits(steps=50), "OutOfSteps", id="steps"),
    ],
)
def test_limits_end_the_run(limits: Limits, told: str) -> None:
    async def scenario(world: World) -> None:
        world.start("w", Writer)
        await world.sleep(60)

    with pytest.raises(ScenarioFailed, match=told):
        simulate(scenario, climate=Climate(limits=limits))


def test_what_never_happens_is_named() -> None:
    async def scenario(world: World) -> None:
        await world.until("pigs fly", lambda: False, limit_seconds=10)

    with pytest.raises(ScenarioFailed, match="not within 10 s: pigs fly") as failed:
        simulate(scenario, seed=4)
    assert isinstance(failed.value.error, NeverHappened)
    assert failed.value.seed == 4


def test_a_world_in_which_everything_waits_says_so() -> None:
    async def scenario(world: World) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ScenarioFailed, match="nothing is ready and no timer is set") as failed:
        simulate(scenario)
    assert isinstance(failed.value.error, Deadlock)


def test_two_worlds_do_not_see_each_other() -> None:
    """One world is run in the middle of another's making."""
    found: list[int] = []

    async def scenario(world: World) -> None:
        world.start("w", Writer)
        await world.until("it works", lambda: count(world) == 2)
        found.append(world.store.version)

    simulate(scenario)
    simulate(scenario, seed=1)
    simulate(scenario)
    assert found[0] == found[2]


def test_a_user_changes_things_at_once() -> None:
    async def scenario(world: World) -> None:
        world.create(CONFIGMAP, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        world.patch(CONFIGMAP, "a", {"data": {"x": "2"}})
        found = world.find(CONFIGMAP, "a")
        assert found is not None
        assert found["data"] == {"x": "2"}
        world.delete(CONFIGMAP, "a")
        assert world.find(CONFIGMAP, "a") is None

    simulate(scenario)


def test_a_conflict_is_the_stores_own() -> None:
    class Late(Writer):
        async def _try(self) -> None:
            patch = MergePatch({"metadata": {"resourceVersion": "1"}, "data": {}})
            try:
                await self.seat.kube.patch(CONFIGMAP, Key("default", "a"), patch, dict)
            except MantaError as error:
                self.errors.append(error)

    async def scenario(world: World) -> None:
        world.create(CONFIGMAP, {"metadata": {"name": "a"}})
        world.start("w", Late)
        await world.until("it is refused", lambda: writer(world).errors)
        assert type(writer(world).errors[0]).__name__ == "Conflict"

    simulate(scenario)
