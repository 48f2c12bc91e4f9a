"""How fast the simulator is: ten jobs with a cluster of five pods each, and storms over a small reconciler.

The figures are of our own processor time, and of virtual time beside it. All five services are the real ones, and what
they take for themselves is in the figure; custom resources are not validated, their kinds have no schemas, and calls
take no virtual time. The goal is printed beside the figure, and is that of a calm machine; what fails is a run that
takes half as much again, which is what busy neighbours cost.
"""

import logging
import time
from collections.abc import Iterator

import pytest

from manta_common.kinds import POD, RAYJOB, SERVICE
from manta_embedded.sim.simulate import Scenario, simulate
from manta_embedded.sim.ways import Latency
from manta_embedded.sim.world import Climate, World
from tests.model import manta, test_toys

JOBS, WORKERS = 10, 4
ROUNDS = 7
LIFE_GOAL_SECONDS, LIFE_LIMIT_SECONDS, STORM_GOAL_SECONDS = 0.5, 0.75, 0.06
AT_ONCE = Climate(latency=Latency(0, 0))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Warnings of services in a storm are not what is measured."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


async def from_nothing_to_nothing(world: World) -> None:
    """Ten RayJobs are made, run to their end and are deleted, until nothing is left of them."""
    manta.begin(world, schemas=False)
    names = [f"job-{number}" for number in range(JOBS)]
    for name in names:
        manta.make(world, name, workers=WORKERS, submissionMode="HTTPMode")
    await world.until("all are complete", lambda: all(manta.deployment(world, name) == "Complete" for name in names))
    assert len(world.objects(POD)) == JOBS * (WORKERS + 1)
    for name in names:
        world.delete(RAYJOB, name)
    kinds = (RAYJOB, POD)
    await world.until("nothing is left", lambda: not any(world.objects(kind) for kind in kinds))
    assert not manta.all_clusters(world)
    assert len(world.objects(SERVICE)) == 1, "the API server's own"


def test_the_life_of_ten_jobs() -> None:
    seconds, last = measured(from_nothing_to_nothing, AT_ONCE)
    print(
        f"\n{JOBS} jobs, {JOBS} clusters, {JOBS * (WORKERS + 1)} pods, from nothing to cleaned up:"
        f" {seconds * 1000:.0f} ms (goal {LIFE_GOAL_SECONDS * 1000:.0f} ms) for {last.loop.time():.1f} virtual seconds,"
        f" {last.loop.steps} steps, {len(last.history.lines)} lines of history"
    )
    assert seconds < LIFE_LIMIT_SECONDS


def test_a_storm_over_toys() -> None:
    seconds, last = measured(test_toys.through_a_storm)
    print(f"\na storm over toys: {seconds * 1000:.0f} ms, {last.loop.steps} steps; 1,000 take {seconds * 1000:.0f} s")
    assert seconds < STORM_GOAL_SECONDS


def measured(scenario: Scenario, climate: Climate | None = None) -> tuple[float, World]:
    """The shortest of some runs, each of another seed, in processor time; the last world."""
    world = simulate(scenario, climate=climate)  # what is made once is made now
    taken = []
    for seed in range(ROUNDS):
        began = time.process_time()
        world = simulate(scenario, seed=seed, climate=climate)
        taken.append(time.process_time() - began)
    return min(taken), world
