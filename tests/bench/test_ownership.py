"""Ownership: how long a share has no owner when a replica dies or stops, and how much moves with a replica."""

import contextlib
import os
import pathlib
import random
import secrets
import signal
import statistics
import sys
import time
from collections.abc import Callable

import pytest

from manta_common.ownership.rendezvous import owners
from tests.parts.nats import Nats
from tests.parts.owners import PARTITIONS, Replica, settled, taken_over

ROUNDS = 3
FLEETS = 500
KILLED_LIMIT_SECONDS, STOPPED_LIMIT_SECONDS = 10, 1


def kill(replica: Replica) -> None:
    replica.process.kill()


def stop(replica: Replica) -> None:
    os.kill(replica.process.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    ("end", "limit_seconds"),
    [
        pytest.param(kill, KILLED_LIMIT_SECONDS, id="kill -9"),
        pytest.param(stop, STOPPED_LIMIT_SECONDS, id="a clean stop"),
    ],
)
def test_failover(
    nats: Nats,
    tmp_path: pathlib.Path,
    request: pytest.FixtureRequest,
    end: Callable[[Replica], None],
    limit_seconds: float,
) -> None:
    took = [failover(nats.url, tmp_path, end) for _ in range(ROUNDS)]
    shown, how = ", ".join(f"{seconds:.2f}" for seconds in took), request.node.callspec.id
    sys.stdout.write(f"\nownership: s until another acts on all partitions of a replica after {how}: {shown}\n")
    assert max(took) < limit_seconds


def failover(url: str, folder: pathlib.Path, end: Callable[[Replica], None]) -> float:
    """After how many seconds the last partition of a replica that ended is acted on by the other."""
    service = f"bench-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as started:
        replicas = [Replica(url, service, folder) for _ in range(2)]
        for replica in replicas:
            started.callback(replica.process.kill)
        ending, survivor = settled(*replicas)
        share, at = ending.share, time.monotonic()
        end(ending)
        return taken_over(survivor, share, at)


@pytest.mark.parametrize("replicas", [2, 3, 5, 8])
def test_share_that_moves(replicas: int) -> None:
    """Of all partitions, when one replica more joins or one of them leaves: little beyond what must move."""
    chance = random.Random(100 + replicas)
    moved = [moved_share(replicas, chance) for _ in range(FLEETS)]
    mean = statistics.mean(moved)
    sys.stdout.write(
        f"\nownership: with one replica beside {replicas - 1} others, {mean:.3f} of the partitions move"
        f" (1/{replicas} is {1 / replicas:.3f}), {max(moved):.3f} at the most of {FLEETS} times\n"
    )
    assert 1 / replicas <= mean + 0.02
    assert mean < 1 / replicas + 0.12


def moved_share(replicas: int, chance: random.Random) -> float:
    members = [f"{chance.getrandbits(64):016x}" for _ in range(replicas)]
    before, after = owners(PARTITIONS, members[:-1]), owners(PARTITIONS, members)
    return sum(after[partition] != owner for partition, owner in before.items()) / PARTITIONS
