"""Replicas of a service in processes of their own: what each of them owned and did, and when."""

import json
import pathlib
import secrets
import sys

import msgspec

from manta_common.ownership.settings import Times
from tests.parts.process import Process, wait_until

PARTITIONS = 32
LIMIT_SECONDS = 40
ROOT = pathlib.Path(__file__).parents[2]


class Line(msgspec.Struct, frozen=True):
    """One thing that happened in a replica."""

    what: str
    at: float
    partitions: tuple[int, ...]


class Replica:
    """One replica in a process of its own."""

    def __init__(
        self, url: str, service: str, folder: pathlib.Path, *, lease_seconds: float = Times().ttl_seconds
    ) -> None:
        program = [sys.executable, "-m", "tests.parts.ownership_replica"]
        command = [*program, url, service, str(PARTITIONS), str(lease_seconds)]
        log = folder / f"replica-{secrets.token_hex(3)}.log"
        self.process = Process("replica", command, log, environment={"PYTHONPATH": str(ROOT)})
        self.process.start()

    def lines(self, what: str) -> list[Line]:
        """What happened so far; the line that is being written does not count."""
        text = self.process.log.read_text() if self.process.log.exists() else ""
        whole = (line for line in text.splitlines(keepends=True) if line.endswith("}\n"))
        return [line for line in (msgspec.convert(json.loads(one), Line) for one in whole) if line.what == what]

    @property
    def share(self) -> set[int]:
        """The partitions that it has by its own account."""
        count = dict.fromkeys(range(PARTITIONS), 0)
        for word, step in (("acquired", 1), ("released", -1)):
            for line in self.lines(word):
                count[line.partitions[0]] += step
        return {partition for partition, owned in count.items() if owned}

    def acted_since(self, at: float) -> dict[int, float]:
        """The partitions that it acted on after a time, and when first."""
        found: dict[int, float] = {}
        for line in self.lines("acted"):
            if line.at > at:
                found.setdefault(line.partitions[0], line.at)
        return found


def settled(*replicas: Replica) -> tuple[Replica, ...]:
    """Wait until everyone has a share, and all shares are everything."""

    def is_settled() -> bool:
        shares = [replica.share for replica in replicas]
        return all(shares) and sum(map(len, shares)) == PARTITIONS and len(set().union(*shares)) == PARTITIONS

    wait_until("the partitions are shared", is_settled, limit_seconds=LIMIT_SECONDS)
    return replicas


def taken_over(survivor: Replica, share: set[int], at: float) -> float:
    """Wait until the survivor acts on a share; after how many seconds it acted on the last of it."""
    survivor.process.wait_until(
        "it acts on the other's share", lambda: survivor.acted_since(at).keys() >= share, limit_seconds=LIMIT_SECONDS
    )
    first = survivor.acted_since(at)
    return max(first[partition] for partition in share) - at
