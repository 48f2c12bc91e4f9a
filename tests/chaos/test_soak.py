"""Soak and load: many clusters and jobs come and go while every service and NATS are killed in turn.

Each service runs as two processes, on a real API server and a NATS of its own. One of the two is killed (SIGKILL) in
rotation, the other one lives from the beginning to the end: its memory, its tasks and its connections are judged.

About 200 RayClusters of two pods are scaled, suspended, deleted and made again, and about 500 RayJobs over HTTP come
and go. So that two cores can carry it, most jobs run for a few seconds on a quarter of these clusters, by
`clusterSelector`, and stay until their users delete them; one in seven has a cluster of its own, deletes it and, after
a while, itself; some fail, and some are tried again.

`make test` churns for three minutes, `make soak` for as many as SOAK says, by default thirty.
"""

import contextlib
import os
import pathlib
import random
import time
from collections.abc import Iterator

import pytest

from tests.chaos.soak_dashboards import SoakDashboards
from tests.chaos.soak_kills import Reaper, Sampler
from tests.chaos.soak_memory import Living
from tests.chaos.soak_plan import Plan, Size
from tests.chaos.soak_report import Report
from tests.chaos.soak_users import Users
from tests.chaos.soak_world import World
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.process import wait_until
from tests.parts.registry import Parts

MINUTES = float(os.environ.get("SOAK") or 3)
CLUSTERS, JOBS = (int(os.environ.get(name) or full) for name, full in (("SOAK_CLUSTERS", 200), ("SOAK_JOBS", 500)))
SIZE = Size(clusters=CLUSTERS, jobs=JOBS, ttl_seconds=60)
WARM = Size(clusters=8, jobs=30, ttl_seconds=2)
WARM_DEEDS = 80
FILL_SECONDS = 120
pytestmark = pytest.mark.timeout(60 * MINUTES + 1800)


@pytest.fixture
def soak_nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """The NATS of this test, which is killed: a plain program, for a container takes its time to come back."""
    yield from parts.obtain("soak_nats", lambda: Nats.start_program(parts_folder))


@pytest.fixture
def world(control_plane: ControlPlane, ray_crds: None, soak_nats: Nats, namespace: str) -> Iterator[World]:
    """Where it takes place; nothing runs there yet."""
    with contextlib.ExitStack() as stack:
        dashboards = SoakDashboards.start()
        stack.callback(dashboards.stop)
        assert isinstance(dashboards, SoakDashboards)
        found = World(control_plane, namespace, soak_nats, dashboards)
        stack.callback(found.fleet.end)
        yield found


def test_nothing_is_lost_and_nothing_grows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    before = _warm(world)
    for victim in world.fleet.victims.values():
        victim.start()
    sampler, reaper = Sampler(world.fleet.survivors), Reaper(world.fleet, world.nats)
    with _users(world, Plan(SIZE, random.Random(14))) as users:
        with sampler.going_on(), reaper.going_on():
            steady_at = _churn(users, reaper, sampler)
        report = Report(sampler, steady_at=steady_at, seconds=60 * MINUTES, before=before)
        world.settles(users)
        report.note(world, users, reaper, world.is_known(replicas=2))
    for victim in world.fleet.victims.values():
        assert victim.process.alive
        victim.process.stop()
    world.clear()
    world.is_known(replicas=1)
    report.after |= world.rests(before)
    with capsys.disabled():
        print(report.told())  # noqa: T201
    assert not report.complaints(), "\n".join([*report.complaints(), world.fleet.tail()])


def _warm(world: World) -> dict[str, Living]:
    """The survivors alone do everything once, a few times; what lives in them when nothing is left to look after."""
    for survivor in world.fleet.survivors.values():
        survivor.start()
    with _users(world, Plan(WARM, random.Random(3), stem="w")) as users:
        wait_until("users have done enough", lambda: _is_going(users) and users.deeds >= WARM_DEEDS, limit_seconds=60)
        users.rest()
        world.settles(users)
    world.clear()
    world.is_known(replicas=1)
    return {name: replica.living() for name, replica in world.fleet.survivors.items()}


def _churn(users: Users, reaper: Reaper, sampler: Sampler) -> float:
    """Let it go on until the time is over; since when there was all that should be, and everyone had died once."""

    def is_full() -> bool:
        return _is_going(users, reaper, sampler) and users.is_full and reaper.rounds > 0

    def is_over() -> bool:
        return _is_going(users, reaper, sampler) and time.monotonic() > steady_at + 60 * MINUTES

    wait_until("there is as much as there should be", is_full, limit_seconds=FILL_SECONDS)
    steady_at = time.monotonic()
    wait_until("the time is over", is_over, limit_seconds=60 * MINUTES)
    users.rest()
    return steady_at


def _is_going(*parts: Users | Reaper | Sampler) -> bool:
    """Raise what has gone wrong beside."""
    for part in parts:
        part.check()
    return True


@contextlib.contextmanager
def _users(world: World, plan: Plan) -> Iterator[Users]:
    users = Users(world.plane, world.namespace, plan)
    users.begin()
    try:
        yield users
    finally:
        users.end()
