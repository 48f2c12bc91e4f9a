"""RayJobs that have ended, how they go as a watch shows it, and what somebody else's calls take meanwhile."""

import asyncio
import bisect
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.errors import AlreadyExists
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, RAYJOB
from manta_common.kube.client import Client
from manta_common.kube.protocol import MergePatch, Scope
from manta_janitor.decide import announcement
from manta_janitor.observed import CONDITION
from manta_janitor.policies.endings import Deletion
from tests.bench.storm_raw import Target
from tests.examples import manifests

IN_FLIGHT = 32  # deletions at once, the janitor's default too
TTL_SECONDS = 3600
PAUSE_SECONDS = 0.02  # between two calls of the bystander


class Named(msgspec.Struct, frozen=True):
    """An object's metadata."""

    metadata: ObjectMeta


class Ended(msgspec.Struct, frozen=True):
    """A RayJob that is deleted at a time."""

    name: str
    due_at: datetime


class Went(msgspec.Struct, frozen=True):
    """When a job was gone, by the monotonic clock."""

    name: str
    at: float


class Called(msgspec.Struct, frozen=True):
    """When a bystander called, and how long it took."""

    at: float
    seconds: float


async def made(kube: Client, namespace: str, jobs: Iterable[Ended]) -> list[Target]:
    """RayJobs that have ended and have announced that they are deleted."""
    left, found = iter(jobs), list[Target]()

    async def make() -> None:
        for job in left:
            body = manifests.job({"deletionStrategy": {"deletionRules": [_RULE]}}, name=job.name)
            await kube.create(RAYJOB, namespace, body, Named)
            patch = MergePatch({"status": _status(job.due_at)})
            meta = (await kube.patch(RAYJOB, Key(namespace, job.name), patch, Named, subresource="status")).metadata
            found.append(Target(meta.name, meta.uid, meta.resource_version))

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(make())
    return found


async def gone(kube: Client, namespace: str, names: Iterable[str], *, since: str) -> list[Went]:
    """How each of these went, as a watch shows it."""
    left, seen, version = set(names), list[Went](), since
    while left:
        watched = kube.watch(RAYJOB, Named, Scope(namespace=namespace), since=version)
        async with contextlib.aclosing(watched) as changes:
            async for change in changes:
                version = change.version
                if change.type == "DELETED" and change.object and change.object.metadata.name in left:
                    seen.append(Went(change.object.metadata.name, time.monotonic()))
                    left.discard(change.object.metadata.name)
                    if not left:
                        break
    return seen


@contextlib.asynccontextmanager
async def bystander(kube: Client, namespace: str) -> AsyncIterator[list[Called]]:
    """Somebody who writes and reads now and then; how long that takes."""
    calls, key = list[Called](), Key(namespace, "bystander")

    async def go_on() -> None:
        while True:
            began_at = time.monotonic()
            await kube.patch(CONFIGMAP, key, MergePatch({"data": {"number": str(len(calls))}}), msgspec.Raw)
            await kube.get(CONFIGMAP, key, msgspec.Raw)
            calls.append(Called(began_at, time.monotonic() - began_at))
            await asyncio.sleep(PAUSE_SECONDS)

    with contextlib.suppress(AlreadyExists):
        await kube.create(CONFIGMAP, namespace, {"metadata": {"name": key.name}}, msgspec.Raw)
    task = asyncio.create_task(go_on())
    try:
        yield calls
    finally:
        task.cancel()
        await asyncio.wait([task])


def before_their_time(order: Sequence[float]) -> int:
    """Of objects in the order in which they went, given by when they were due: how many that were due before one that
    went were still there, at most."""
    return max(_overtaken(order), default=0)


def percentile(values: Iterable[float], percent: int) -> float:
    """The value that so many of a hundred are below."""
    return statistics.quantiles(values, n=100)[percent - 1]


_RULE = {"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": TTL_SECONDS}}


def _status(due_at: datetime) -> dict[str, object]:
    said = announcement(Deletion(due_at, "DeleteSelf", "deletionRules[0]"))
    stamp = f"{due_at - timedelta(seconds=TTL_SECONDS):%Y-%m-%dT%H:%M:%SZ}"
    condition: dict[str, object] = {"type": CONDITION, "status": said.status, "reason": said.reason}
    condition |= {"message": said.message, "observedGeneration": 1, "lastTransitionTime": stamp}
    ended = {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "endTime": stamp}
    return {**ended, "conditions": [condition]}


def _overtaken(order: Sequence[float]) -> Iterator[int]:
    left = sorted(order)
    for due_at in order:
        yield bisect.bisect_left(left, due_at)
        left.pop(bisect.bisect_left(left, due_at))
