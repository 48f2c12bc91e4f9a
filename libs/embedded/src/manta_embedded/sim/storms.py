"""Faults by seed: for a while things go wrong here and there, then all is well again and the world must settle."""

import random
from collections.abc import Callable, Sequence

from manta_embedded.sim.service import SimulatedService
from manta_embedded.sim.troubles import Storm
from manta_embedded.sim.world import World

Strike = Callable[[World, SimulatedService, random.Random], None]


async def storm(
    world: World, seconds: float, *, strikes: Sequence[Strike] = (), calls: Storm | None = None, every: float = 2.5
) -> None:
    """Let faults strike for some seconds, one every few seconds, besides those of single calls; then be calm."""
    chance = world.chance
    ends_at = world.loop.time() + seconds
    for service in world.services.values():
        service.storm = calls or Storm()
    while world.loop.time() < ends_at:
        alive = [service for service in world.services.values() if service.alive]
        if alive:
            chance.choice(strikes or STRIKES)(world, chance.choice(alive), chance)
        await world.sleep(chance.uniform(0, 2 * every))
    calm(world)


def calm(world: World) -> None:
    """Nothing goes wrong any more, and whoever is dead or cut off comes back."""
    world.nodes.extra_stop_seconds = 0.0
    for service in world.services.values():
        service.calm()
    world.history.tell("world", "is calm")


def crash(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A service dies and comes back soon or late."""
    service.crash("storm", again_after_seconds=chance.choice([0.1, 1.0, 5.0]))


def stand_still(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A service is stopped and wakes up, perhaps after others took its place."""
    service.pause(chance.choice([0.5, 3.0, 9.0]))


def lose_nats(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A service is cut off from NATS."""
    service.cut(chance.choice([0.5, 3.0, 9.0]))


def blink(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A service's connection to NATS is made anew: it reads from the start."""
    world.history.tell(service.name, "reconnects")
    service.bus.blink()


def wipe_nats(world: World, service: SimulatedService, chance: random.Random) -> None:
    """NATS loses everything."""
    world.history.tell("nats", "is wiped")
    world.nats.wipe()


def lose_power(world: World, service: SimulatedService, chance: random.Random) -> None:
    """NATS' machine loses power, and with it what was not on its disk yet."""
    seconds = chance.choice([0.1, 1.0, 10.0])
    world.history.tell("nats", f"loses the last {seconds} s")
    world.nats.lose_tail(seconds)


def lag(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A service sees the stream late, many changes as one."""
    service.lag(chance.choice([3.0, 8.0]), chance.choice([0.05, 0.5, 3.0]))


def deceive(world: World, service: SimulatedService, chance: random.Random) -> None:
    """Two replicas own the same."""
    service.deceive(chance.choice([3.0, 9.0]))


def step_clock(world: World, service: SimulatedService, chance: random.Random) -> None:
    """A machine's clock is set."""
    service.step_clock(chance.choice([-86400.0, -60.0, 60.0, 86400.0]))


def compact(world: World, service: SimulatedService, chance: random.Random) -> None:
    """The API server forgets old versions: watches that lag must list again."""
    world.history.tell("api server", "compacts")
    world.store.compact()


def slow_down(world: World, service: SimulatedService, chance: random.Random) -> None:
    """Everything that a service asks for takes longer, and replays come in small portions."""
    service.slow_down(chance.choice([2.0, 6.0]), chance.choice([0.02, 0.3]))


def delete_slowly(world: World, service: SimulatedService, chance: random.Random) -> None:
    """Nodes take long to let go of pods, until it is calm."""
    world.nodes.extra_stop_seconds = chance.choice([1.0, 10.0])
    world.history.tell("nodes", "delete slowly", f"{world.nodes.extra_stop_seconds:g} s late")


STRIKES: tuple[Strike, ...] = (
    crash,
    stand_still,
    lose_nats,
    blink,
    wipe_nats,
    lag,
    deceive,
    step_clock,
    compact,
    slow_down,
    delete_slowly,
)
