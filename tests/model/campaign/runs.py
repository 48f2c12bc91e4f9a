"""Plays a play through a fault and compares the end with that of the same play without one."""

import functools
from collections.abc import Iterator

import msgspec

from manta_embedded.sim.simulate import ScenarioFailed, simulate
from manta_embedded.sim.storms import calm
from manta_embedded.sim.troubles import WRITES
from manta_embedded.sim.world import World
from tests.model.campaign.faults import FAULTS, Count, Counting, Fault, Place
from tests.model.campaign.picture import Picture, Tally, difference, picture
from tests.model.campaign.plays import PLAYS

SETTLE_SECONDS = 1200
LOOK_SECONDS = 2.0
QUIET_SECONDS = 45.0
AGAIN_SECONDS = 20.0  # until everyone has started, has taken over from itself, and has looked at everything


class Case(msgspec.Struct, frozen=True):
    """One run of a campaign. Its name is all that it takes to run it again."""

    play: str
    fault: str
    place: Place

    def __str__(self) -> str:
        return f"{self.play}/{self.fault}/{self.place}"

    @classmethod
    def named(cls, name: str) -> "Case":
        """The case of a name."""
        play, fault, place = name.split("/")
        service, _, number = place.rpartition(":")
        return cls(play, fault, Place(int(number), service))


class Calm(msgspec.Struct, frozen=True):
    """How a play ends without a fault, and how many calls each service makes on the way."""

    end: Picture
    tally: Picture
    counts: dict[str, Count]


@functools.cache
def without_faults(play: str, replicas: int) -> Calm:
    """Play it in peace."""
    found: list[Calm] = []

    async def scenario(world: World) -> None:
        tally = Tally(world)
        cast = PLAYS[play](world, replicas)
        counting = Counting(world)
        await cast.act()
        counts = counting.found()
        await _rest(world)
        await _again(world)
        cast.check()
        assert not world.repeats
        found.append(Calm(picture(world), tally.lines(), counts))

    simulate(scenario)
    return found[0]


def cases(play: str, fault: str) -> Iterator[Case]:
    """Every place where a fault can strike a play."""
    kind = FAULTS[fault]
    for place in kind.places(without_faults(play, kind.replicas).counts):
        yield Case(play, fault, place)


def sample(play: str, fault: str) -> list[Case]:
    """As many cases as there is time for in every run of the tests, evenly from the first place to the last."""
    found, at_most = list(cases(play, fault)), FAULTS[fault].sample
    if len(found) <= at_most:
        return found
    return [found[number * (len(found) - 1) // (at_most - 1)] for number in range(at_most)]


def run(case: Case) -> World:
    """Play it; ScenarioFailed tells what happened if it does not come out as without the fault."""
    fault = FAULTS[case.fault]
    wanted = without_faults(case.play, fault.replicas)
    return simulate(functools.partial(_faulty, case=case, fault=fault, wanted=wanted), seed=case.place.number)


async def _faulty(world: World, *, case: Case, fault: Fault, wanted: Calm) -> None:
    tally = Tally(world)
    cast = PLAYS[case.play](world, fault.replicas)
    end = fault.arm(world, case.place)
    await cast.act()
    end()
    calm(world)
    await _like(world, wanted.end)
    await _rest(world)
    await _again(world)
    _require("the end", wanted.end, picture(world))
    if cast.exact:
        _require("what came and went", wanted.tally, tally.lines())
    cast.check()
    assert not world.repeats, world.repeats


async def _like(world: World, wanted: Picture) -> None:
    """Wait until the world looks as it should."""
    ends_at = world.loop.time() + SETTLE_SECONDS
    while picture(world) != wanted and world.loop.time() < ends_at:
        await world.sleep(LOOK_SECONDS)
    _require("the end", wanted, picture(world))


async def _rest(world: World) -> None:
    """Wait until nobody writes any more; then nobody may write for a while."""
    ends_at = world.loop.time() + SETTLE_SECONDS
    before = -1
    while (now := _writes(world)) != before:
        assert world.loop.time() < ends_at, "the services go on writing for ever"
        before = now
        await world.sleep(QUIET_SECONDS)


async def _again(world: World) -> None:
    """Everyone begins anew and looks at everything once more: there is nothing left to do, though events may be."""
    before = _writes(world, but="event ")
    for service in world.services.values():
        service.crash("to look at everything once more")
    await world.sleep(AGAIN_SECONDS)
    assert _writes(world, but="event ") == before, "passes over a world that has settled write"


def _writes(world: World, but: str = "nothing") -> int:
    """How many writes services have sent so far."""
    lines = (line for line in world.history.lines if line.who in world.services and not line.about.startswith(but))
    return sum(1 for line in lines if line.action.partition(" ")[0] in WRITES)


def _require(what: str, wanted: Picture, found: Picture) -> None:
    assert found == wanted, f"{what} differs from the one without faults\n{difference(wanted, found)}"


def trouble(name: str) -> str:
    """How a case fails, or nothing: for processes that play cases for others."""
    try:
        run(Case.named(name))
    except ScenarioFailed as failed:
        return f"{name}: {failed}\nagain: python -m tests.model.campaign {name}"
    return ""
