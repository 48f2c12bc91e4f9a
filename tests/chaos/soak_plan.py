"""What the users of a soak want: how many clusters and jobs of which sorts, and what they do next; pure."""

import random
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from manta_common.kinds import RAYCLUSTER, RAYJOB, Kind
from tests.examples import manifests

MOST_WORKERS: Final = 3
POOL_SHARE: Final = 4  # one in so many clusters is there for the jobs of others: it is scaled, and nothing else
MARK: Final = "soak"  # in the metadata of a Ray job: the RayJob it comes from
SHARED, FAILING, OWN, RETRIED = "shared", "failing", "own", "retried"
SORTS: Final = (SHARED,) * 15 + (FAILING,) * 2 + (OWN,) * 2 + (RETRIED,)
LEAVING: Final = (OWN, RETRIED)  # they have clusters of their own, and delete themselves; no others can
CLEARING, WITHDRAWING = 0.3, 0.02  # how often a job that has ended, or has not, is deleted when there are enough
CLUSTER_TTL_SECONDS: Final = 3
HEADLESS: Final[dict[str, Any]] = {**manifests.CLUSTER, "workerGroupSpecs": []}


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is to look after, and how long a job that has ended is kept before it deletes itself."""

    clusters: int
    jobs: int
    ttl_seconds: int


class Wanted(msgspec.Struct, kw_only=True):
    """What a user wants of a cluster."""

    replicas: int = 1
    suspended: bool = False
    present: bool = True

    @property
    def pods(self) -> int:
        """How many there should be."""
        return self.replicas + 1 if self.present and not self.suspended else 0


class Make(msgspec.Struct, frozen=True):
    """Create an object."""

    kind: Kind
    name: str
    body: dict[str, Any]


class Change(msgspec.Struct, frozen=True):
    """Merge something into the spec of an object."""

    kind: Kind
    name: str
    spec: dict[str, Any]


class Remove(msgspec.Struct, frozen=True):
    """Delete an object."""

    kind: Kind
    name: str


Deed = Make | Change | Remove


class Plan:
    """Everything that was ever wanted, and the next wish. Names of jobs are used once, those of clusters again."""

    def __init__(self, size: Size, chance: random.Random, *, stem: str = "s") -> None:
        self.size, self._chance, self._stem = size, chance, stem
        self.clusters: dict[str, Wanted] = {}
        self.jobs: dict[str, str] = {}  # the sort of each
        self.cleared: set[str] = set()  # jobs that their users deleted after the end
        self.withdrawn: set[str] = set()  # and before, as far as they knew

    @property
    def pool(self) -> list[str]:
        """The clusters that jobs of others run on."""
        return list(self.clusters)[: self._pool_size]

    @property
    def _pool_size(self) -> int:
        return max(1, self.size.clusters // POOL_SHARE)

    def next_cluster_deed(self, living: Collection[str]) -> Deed | None:
        """What is done to a cluster next; `living` are those that are there, of which some may be going."""
        if len(self.clusters) < self.size.clusters:
            return self._new_cluster(f"{self._stem}{len(self.clusters)}")
        for name, wanted in self.clusters.items():
            if not wanted.present and name not in living:
                return self._new_cluster(name)
        return self._changed_cluster(self._chance.choice(list(self.clusters)))

    def next_job_deed(self, living: Collection[str], ended: Collection[str]) -> Deed | None:
        """What is done to jobs next, given those that are there, oldest first, and those of them that have ended."""
        if len(living) < self.size.jobs and len(self.clusters) >= self._pool_size:
            return self._new_job(self._chance.choice(SORTS))
        dice, stays = self._chance.random(), self.withdrawn | self.cleared
        theirs = [name for name in living if self.jobs[name] not in LEAVING and name not in stays]
        over, under_way = ([name for name in theirs if (name in ended) is wanted] for wanted in (True, False))
        if over and dice < CLEARING:
            self.cleared.add(over[0])
            return Remove(RAYJOB, over[0])
        if under_way and dice > 1 - WITHDRAWING:
            self.withdrawn.add(under_way[-1])
            return Remove(RAYJOB, under_way[-1])
        return None

    def _new_cluster(self, name: str) -> Deed:
        wanted = self.clusters[name] = Wanted()
        return Make(RAYCLUSTER, name, manifests.cluster(_workers(wanted.replicas), name=name))

    def _changed_cluster(self, name: str) -> Deed | None:
        wanted, dice = self.clusters[name], self._chance.random()
        if not wanted.present:
            return None
        if wanted.suspended or (dice < 0.2 and name not in self.pool):
            wanted.suspended = not wanted.suspended
            return Change(RAYCLUSTER, name, {"suspend": wanted.suspended})
        if dice < 0.4 and name not in self.pool:
            wanted.present = False
            return Remove(RAYCLUSTER, name)
        others = [count for count in range(MOST_WORKERS + 1) if count != wanted.replicas]
        wanted.replicas = self._chance.choice(others)
        return Change(RAYCLUSTER, name, _workers(wanted.replicas))

    def _new_job(self, sort: str) -> Deed:
        name = f"{self._stem}-{len(self.jobs):06}"
        self.jobs[name] = sort
        spec = job_spec(sort, name, self._chance.choice(self.pool), self.size.ttl_seconds)
        about = {"apiVersion": RAYJOB.api_version, "kind": RAYJOB.kind, "metadata": {"name": name}}
        return Make(RAYJOB, name, about | {"spec": spec})

    def goes(self, name: str) -> bool:
        """Whether a job should be gone in the end."""
        return self.jobs[name] in LEAVING or name in self.cleared | self.withdrawn


def job_spec(sort: str, name: str, cluster: str, ttl_seconds: int) -> dict[str, Any]:
    """The spec of a job of a sort; those without a cluster of their own run on the one that is named."""
    seconds = 2 + sum(map(ord, name)) % 7
    spec: dict[str, Any] = {"submissionMode": "HTTPMode", "metadata": {MARK: name}, "entrypoint": f"sleep {seconds}"}
    if sort in (FAILING, RETRIED):
        spec["entrypoint"] += "; exit 1"
    if sort == RETRIED:
        spec["backoffLimit"] = 1
    if sort in LEAVING:
        return spec | {"rayClusterSpec": HEADLESS, "deletionStrategy": {"deletionRules": _rules(sort, ttl_seconds)}}
    return spec | {"clusterSelector": {"ray.io/cluster": cluster}}


def expected_end(sort: str) -> str:
    """How a job of a sort ends."""
    return "Failed" if sort in (FAILING, RETRIED) else "Complete"


def expected_submissions(sort: str) -> int:
    """How often Ray takes a job of a sort."""
    return 2 if sort == RETRIED else 1


def _rules(sort: str, ttl_seconds: int) -> Sequence[dict[str, Any]]:
    status = "FAILED" if expected_end(sort) == "Failed" else "SUCCEEDED"

    def rule(policy: str, seconds: int) -> dict[str, Any]:
        return {"policy": policy, "condition": {"jobStatus": status, "ttlSeconds": seconds}}

    return [rule("DeleteCluster", min(CLUSTER_TTL_SECONDS, ttl_seconds)), rule("DeleteSelf", ttl_seconds)]


def _workers(replicas: int) -> dict[str, Any]:
    return manifests.worker(replicas=replicas, maxReplicas=MOST_WORKERS)
