"""Ownership among real processes on a real NATS: killed, stopped, frozen; and the times it takes."""

import contextlib
import os
import pathlib
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from manta_common.ownership.settings import Times
from tests.parts.nats import Nats
from tests.parts.owners import LIMIT_SECONDS, PARTITIONS, Replica, settled, taken_over
from tests.parts.patience import patient
from tests.parts.process import wait_until

LONGER_THAN_THE_LEASE_SECONDS = 9.0
LONG_LEASE_SECONDS = 60.0  # nobody loses it because the machine is slow


Start = Callable[..., Replica]


@pytest.fixture
def start(nats: Nats, tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts replicas of a service that no other test uses."""
    name = f"test-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as started:

        def begin(suffix: str = "", lease_seconds: float = Times().ttl_seconds) -> Replica:
            replica = Replica(nats.url, name + suffix, tmp_path, lease_seconds=lease_seconds)
            started.callback(replica.process.kill)
            return replica

        yield begin


def test_the_share_of_a_killed_replica_is_taken_over(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    killed, survivor = settled(start(), start())
    share = killed.share
    at = time.monotonic()
    killed.process.kill()
    seconds = taken_over(survivor, share, at)
    _tell(capsys, f"failover after kill -9: {seconds:.1f} s for {len(share)} partitions")
    assert seconds < patient(10)
    _nobody_acted_on_what_another_had(killed, survivor)


def test_a_clean_stop_hands_over_before_its_lease_is_over(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    leaving, survivor = settled(*(start(lease_seconds=LONG_LEASE_SECONDS) for _ in range(2)))
    share = leaving.share
    at = time.monotonic()
    os.kill(leaving.process.pid, signal.SIGTERM)
    seconds = taken_over(survivor, share, at)
    _tell(capsys, f"hand-over after a clean stop: {1000 * seconds:.0f} ms for {len(share)} partitions")
    assert leaving.process.exit_code(within_seconds=5) == 0
    assert seconds < LONG_LEASE_SECONDS
    _nobody_acted_on_what_another_had(leaving, survivor)


def test_a_replica_that_was_frozen_does_not_act_when_it_wakes_up(start: Start) -> None:
    frozen, survivor = settled(start(), start())
    share = frozen.share
    at = time.monotonic()
    frozen.process.pause()
    taken_over(survivor, share, at)
    wait_until(
        "the lease is long over", lambda: time.monotonic() > at + LONGER_THAN_THE_LEASE_SECONDS, limit_seconds=20
    )
    frozen.process.resume()
    frozen.process.wait_until(
        "it is told that it lost its share",
        lambda: {one.partitions[0] for one in frozen.lines("released")} >= share,
        limit_seconds=LIMIT_SECONDS,
    )
    settled(frozen, survivor)
    _nobody_acted_on_what_another_had(frozen, survivor)


def test_a_new_replica_takes_about_its_share(start: Start) -> None:
    old = settled(start(), start())
    before = {partition: replica for replica in old for partition in replica.share}
    *_, new = settled(*old, start())
    moved = {partition for partition in before if partition not in before[partition].share}
    assert new.share <= moved
    assert len(new.share) in (10, 11)  # a third of 32
    assert len(moved) <= 16
    _nobody_acted_on_what_another_had(*old, new)


def test_two_services_do_not_mix(start: Start) -> None:
    one, other = start("-a"), start("-b", LONG_LEASE_SECONDS)
    assert settled(one)[0].share == settled(other)[0].share == set(range(PARTITIONS))
    at = time.monotonic()
    one.process.kill()
    other.process.wait_until(
        "it acts on everything long after",
        lambda: len(other.acted_since(at + LONGER_THAN_THE_LEASE_SECONDS)) == PARTITIONS,
        limit_seconds=LIMIT_SECONDS,
    )
    assert not other.lines("released")
    assert len(other.lines("acquired")) == PARTITIONS


def test_a_nats_that_is_killed_and_restarted_loses_no_owner(own_nats: Nats, tmp_path: pathlib.Path) -> None:
    with contextlib.ExitStack() as started:
        replicas = [Replica(own_nats.url, "svc", tmp_path) for _ in range(2)]
        for replica in replicas:
            started.callback(replica.process.kill)
        settled(*replicas)
        own_nats.kill()
        own_nats.restart()
        at = time.monotonic()
        wait_until(
            "everything is acted on again",
            lambda: set().union(*(replica.acted_since(at) for replica in replicas)) == set(range(PARTITIONS)),
            limit_seconds=LIMIT_SECONDS,
        )
        _nobody_acted_on_what_another_had(*replicas)


def _nobody_acted_on_what_another_had(*replicas: Replica) -> None:
    """Nobody acted on a partition that somebody else had acquired after oneself."""
    acquired = [(line.partitions[0], line.at, replica) for replica in replicas for line in replica.lines("acquired")]
    for replica in replicas:
        for act in replica.lines("acted"):
            [partition] = act.partitions
            taken = [(at, owner) for place, at, owner in acquired if place == partition and at <= act.at]
            assert max(taken, key=lambda one: one[0])[1] is replica, f"partition {partition} at {act.at}"


def _tell(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")
