"""The time of day of every process is wrong, and jumps: nobody who matters asks it."""

import json
import os
import signal
import urllib.request
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from tests.integration.toy_world import TOYS, World
from tests.parts.patience import patient
from tests.parts.process import Process

HOUR = timedelta(hours=1)
LEASE_SECONDS = 12  # none is lost, on a busy machine neither
AHEAD, EARLY = timedelta(seconds=4), timedelta(seconds=2)  # times of creation are cut to seconds, and so are Dates
LATE = timedelta(seconds=patient(30))  # on a busy machine; by a wrong clock it would be an hour


def test_a_clock_that_is_set_an_hour_off_changes_nothing(empty_world: World) -> None:
    world, hour_seconds = empty_world, round(HOUR.total_seconds())
    for name, side in (("watcher-1", 1), ("reconciler-1", 1), ("reconciler-2", -1)):
        world.start(name, clock_off_seconds=side * hour_seconds, lease_seconds=LEASE_SECONDS)
    world.want(0)
    world.settles(0)  # everybody is at work
    settled_on_time(world, range(2))
    for process in world.processes.values():
        os.kill(process.pid, signal.SIGUSR1)
    settled_on_time(world, range(2, 4))
    for name, process in world.processes.items():
        assert hours_off(process, server_time(world)) in ({1}, {-1}, {1, -1}), "its own time of day is wrong"
        assert not world.logged(name, "lost our membership")


def settled_on_time(world: World, numbers: range) -> None:
    """Want more parts in a while, and see that they come neither earlier nor much later."""
    start_at = server_time(world) + AHEAD
    world.want(numbers.stop, startAt=start_at.isoformat())
    world.settles(numbers.stop)
    made_at = world.made_at()
    for part in (f"{toy}-{number}" for toy in TOYS for number in numbers):
        assert start_at - EARLY <= made_at[part] <= start_at + LATE, part


def server_time(world: World) -> datetime:
    """The API server's own time."""
    with urllib.request.urlopen(f"{world.plane.server}/version", context=world.plane.tls, timeout=10) as answer:
        return parsedate_to_datetime(answer.headers["Date"])


def hours_off(process: Process, now: datetime) -> set[int]:
    """By how many hours the times of a log differ from a time."""
    lines = [json.loads(line) for line in process.log.read_text().splitlines() if line.startswith("{")]
    return {round((datetime.fromisoformat(line["time"]) - now) / HOUR) for line in lines}
