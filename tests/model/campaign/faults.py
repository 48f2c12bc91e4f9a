"""What goes wrong in a campaign: one kind of fault, again and again at other places, while a play is played."""

import random
from collections.abc import Callable, Iterator

import msgspec

from manta_common.kinds import EVENT
from manta_embedded.sim import storms
from manta_embedded.sim.service import SimulatedService
from manta_embedded.sim.storms import Strike
from manta_embedded.sim.troubles import (
    LINES,
    READS,
    WRITES,
    Script,
    Storm,
    Trouble,
    conflict,
    expired,
    throttled,
    unreachable,
)
from manta_embedded.sim.world import World
from manta_embedded.store.kube import Call
from tests.model.services import HEALTH

CALLS = READS | WRITES
COUNTLESS = 10**9
SOME, MORE = 6, 12  # places of a play that are struck in every run of the tests
STRIKES_SECONDS = 300.0  # what lasts long must come to its end after the faults, not in spite of all that could come
WITH_RAY = frozenset(
    {"job-over-http", "job-by-submitter", "job-beside-head", "job-interactive", "job-suspended", "rules", "same-name"}
    | {"cron", "service-new-cluster", "service-in-place", "service-incremental"}
)
LOST_SHARE = 0.3
TOLD = ("raycluster", "pod", "service", "rayjob", "job", "rayservice")
ERRORS = (
    Trouble(error=unreachable, applied=True),
    Trouble(error=unreachable),
    Trouble(error=throttled),
    Trouble(error=conflict),
)

ON_THE_WAY = (
    Trouble(error=unreachable, applied=True),
    Trouble(error=unreachable),
    Trouble(delay_seconds=3.0),
)


class Count(msgspec.Struct, frozen=True):
    """How many calls a service made in a play without faults."""

    writes: int
    calls: int
    lines: int


class Place(msgspec.Struct, frozen=True):
    """Where a fault strikes: at the n-th chance of a service, or by a seed at some of them."""

    number: int
    service: str = ""

    def __str__(self) -> str:
        return f"{self.service}:{self.number}" if self.service else str(self.number)


Places = Callable[[dict[str, Count]], Iterator[Place]]
End = Callable[[], None]
Arm = Callable[[World, Place], End]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of fault: all places where it can strike, and how."""

    places: Places
    arm: Arm
    replicas: int = 1
    plays: frozenset[str] = frozenset()  # those it is played with; all when empty
    sample: int = SOME


class Counting:
    """Counts the calls of every service from now on."""

    def __init__(self, world: World) -> None:
        self._world = world
        for service in world.services.values():
            for verbs in (WRITES, CALLS, LINES):
                service.trouble(Trouble(), nth=COUNTLESS, verbs=verbs)

    def found(self) -> dict[str, Count]:
        """What was counted."""
        return {name: Count(*(COUNTLESS - one.nth for one in it.scripts)) for name, it in self._world.services.items()}


def _each(pick: Callable[[Count], int]) -> Places:
    def places(counts: dict[str, Count]) -> Iterator[Place]:
        for service, count in counts.items():
            for number in range(1, pick(count) + 1):
                yield Place(number, service)

    return places


def _seeds(count: int) -> Places:
    return lambda _: (Place(number) for number in range(1, count + 1))


def _crash(world: World, place: Place) -> None:
    world.service(place.service).crash_at(write=place.number, applied=True)


def _crash_before(world: World, place: Place) -> None:
    world.service(place.service).crash_at(write=place.number, applied=False)


def _refuse(world: World, place: Place) -> None:
    error = ERRORS[place.number % len(ERRORS)]
    world.service(place.service).trouble(error, nth=place.number, verbs=CALLS)


def _drop(world: World, place: Place) -> None:
    error = Trouble(error=expired if place.number % 2 else unreachable)
    world.service(place.service).trouble(error, nth=place.number, verbs=LINES)


def _often(*strikes: Strike, every: float) -> Arm:
    """Let one of some faults strike now and then, until it is ended."""

    def arm(world: World, place: Place) -> End:
        chance = random.Random(f"{place}/often")
        goes_on, ends_at = True, world.loop.time() + STRIKES_SECONDS

        def strike() -> None:
            alive = [service for service in world.services.values() if service.alive]
            if not goes_on or world.loop.time() > ends_at:
                return
            if alive:
                chance.choice(strikes)(world, chance.choice(alive), chance)
            world.later(chance.uniform(0, 2 * every), strike)

        def end() -> None:
            nonlocal goes_on
            goes_on = False

        world.later(chance.uniform(0, every), strike)
        return end

    return arm


def _stale(world: World, service: SimulatedService, chance: random.Random) -> None:
    service.lag(chance.choice([2.0, 8.0, 20.0]), chance.choice([0.5, 2.0, 6.0]))


def _late_kind(world: World, place: Place) -> None:
    """What happens to objects of one kind is told late, and so after what happened to others because of it."""
    kind = TOLD[place.number % len(TOLD)]
    delay_seconds = (0.5, 1.5, 4.0)[place.number // len(TOLD) % 3]
    late = Trouble(delay_seconds=delay_seconds)
    world.service("watcher-1").trouble(late, times=COUNTLESS, verbs=LINES, kind=kind)


def _late(world: World, place: Place) -> None:
    world.service(place.service).trouble(Trouble(delay_seconds=5.0), nth=place.number)


class Leases(Script, kw_only=True):
    """A script that does nothing but look whether a service that writes has its lease at this moment."""

    service: SimulatedService
    world: World
    trouble: Trouble = Trouble()

    def strikes(self, call: Call) -> bool:
        """Never; the run fails when a write is sent without a lease."""
        has_lease = any(stream.find(key) for stream, key in self.service.bus.leases)
        if call.verb in WRITES and call.kind is not EVENT and not has_lease:
            self.world.fail(AssertionError(f"{self.service.name} writes {call.kind.name} {call.key} without a lease"))
        return False


def _stand_still(world: World, place: Place) -> End:
    for service in world.services.values():
        service.scripts.append(Leases(service=service, world=world))
    return _often(storms.stand_still, every=3)(world, place)


def _lost_answers(world: World, place: Place) -> End:
    """Of what the gateway asks Ray much gets lost on its way, there or back, or takes long."""
    chance, ends_at = random.Random(f"{place}/lost"), world.loop.time() + STRIKES_SECONDS

    def luck(path: str) -> Trouble:
        is_struck = world.loop.time() < ends_at and chance.random() < LOST_SHARE
        is_probe = path == HEALTH  # of a proxy: no answer is its answer
        return chance.choice(ON_THE_WAY) if is_struck and not is_probe else Trouble()

    def end() -> None:
        world.dashboards.luck = None

    world.dashboards.luck = luck
    return end


def _slow_deletion(world: World, place: Place) -> None:
    world.nodes.extra_stop_seconds = (3.0, 12.0, 45.0)[place.number % 3]


def _storm(world: World, place: Place) -> End:
    for service in world.services.values():
        service.storm = Storm()
    return _often(*storms.STRIKES, every=2.5)(world, place)


def _once(act: Callable[[World, Place], None]) -> Arm:
    """A fault that ends by itself, or with the calm."""

    def arm(world: World, place: Place) -> End:
        act(world, place)
        return lambda: None

    return arm


FAULTS: dict[str, Fault] = {
    "crash-after-write": Fault(places=_each(lambda count: count.writes), arm=_once(_crash), sample=COUNTLESS),
    "crash-before-write": Fault(places=_each(lambda count: count.writes), arm=_once(_crash_before), sample=COUNTLESS),
    "late-write": Fault(places=_each(lambda count: count.writes), arm=_once(_late), sample=MORE),
    "failing-call": Fault(places=_each(lambda count: count.calls), arm=_once(_refuse)),
    "dropped-watch": Fault(places=_each(lambda count: count.lines), arm=_once(_drop)),
    "stale-view": Fault(places=_seeds(40), arm=_often(_stale, every=2)),
    "late-kind": Fault(places=_seeds(3 * len(TOLD)), arm=_once(_late_kind)),
    "lost-answer": Fault(places=_seeds(40), arm=_lost_answers, plays=WITH_RAY),
    "missed-states": Fault(
        places=_seeds(40), arm=_often(storms.blink, storms.compact, storms.wipe_nats, storms.stand_still, every=3)
    ),
    "slow-deletion": Fault(places=_seeds(3), arm=_once(_slow_deletion)),
    "lost-lease": Fault(places=_seeds(40), arm=_stand_still, replicas=2),
    "two-owners": Fault(
        places=_seeds(40), arm=_often(storms.deceive, storms.stand_still, storms.crash, every=3), replicas=2
    ),
    "storm": Fault(places=_seeds(40), arm=_storm, replicas=2),
}
