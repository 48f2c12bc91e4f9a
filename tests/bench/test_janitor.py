"""What a hundred thousand RayJobs that wait for their time cost: memory, CPU time, and how late they are called."""

import asyncio
import gc
import sys
import time
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from manta_common.bus.channel import Channel, State
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.ears import Ear
from manta_common.feed import Feed, Source, View
from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.telemetry.metrics import Registry
from manta_common.worker import Pace, Worker
from manta_janitor.clusters import FadingService
from manta_janitor.history import HistoryService
from manta_janitor.jobs import JOBS, EndingService
from manta_janitor.observed import Ended, JanitorSettings
from manta_janitor.policies.endings import plan
from manta_janitor.queue import Queue

JOBS_WAITING, BYTES = 100_000, 100 * 1024 * 1024
BATCH, DUE = 1000, 2000
IDLE_SECONDS = 3
OURS = {"app.kubernetes.io/created-by": "kuberay-operator", "job-name": "x"}
ENDED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = ENDED + timedelta(minutes=1)
STATUS = {
    "jobId": "job-abcdef",
    "jobStatus": "SUCCEEDED",
    "jobDeploymentStatus": "Complete",
    "dashboardURL": "job-head-svc.team.svc.cluster.local:8265",
    "startTime": "2026-01-02T03:00:00Z",
    "endTime": f"{ENDED:%Y-%m-%dT%H:%M:%SZ}",
    "message": "Job finished successfully.",
}
MESSAGE = "the RayJob will be deleted at 2026-01-03T03:04:05Z by deletionRules[0]"
CONDITIONS = [
    {
        "type": name,
        "status": "True",
        "reason": name,
        "message": "as it should be",
        "lastTransitionTime": STATUS["endTime"],
        "observedGeneration": 1,
    }
    for name in ("Initialized", "Submitted", "Complete", "CleanupScheduled")
]


def message(number: int) -> Message:
    """A RayJob as the watcher publishes it: it has ended, its cluster is gone, and it goes itself in a day."""
    name, uid = f"nightly-report-{number:06}", f"7c1ddc7e-6a3f-4f0e-9b2c-{number:012}"
    condition = {"jobStatus": "SUCCEEDED", "ttlSeconds": 86400 + number % 600}
    body = {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": uid,
            "resourceVersion": str(10**7 + number),
            "generation": 1,
        },
        "spec": {
            "entrypoint": "python report.py",
            "deletionStrategy": {"deletionRules": [{"policy": "DeleteSelf", "condition": condition}]},
        },
        "status": STATUS | {"rayClusterName": f"{name}-abcde", "conditions": CONDITIONS},
    }
    channel: Channel[msgspec.Raw] = Channel("rayjob", msgspec.Raw)
    key = Key("team", name)
    state = State(key=key, uid=uid, version=str(10**7 + number), object=msgspec.Raw(msgspec.json.encode(body)))
    return Message(subject=channel.subject(number % 32, key), body=channel.encode(state), sequence=number + 1)


def submitter(number: int) -> Message:
    """The Job that submitted it and is kept for its log."""
    job = f"nightly-report-{number:06}"
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": job, "uid": "u", "controller": True}
    body = {"metadata": {"name": job, "namespace": "team", "labels": OURS, "ownerReferences": [owner]}}
    return fed("job", job, number, body)


def submitter_pod(number: int) -> Message:
    """The pod of that Job."""
    body = {"metadata": {"name": f"nightly-report-{number:06}-x", "namespace": "team", "labels": OURS}}
    return fed("pod", f"nightly-report-{number:06}-x", number, body)


def fed(word: str, name: str, number: int, body: Mapping[str, object]) -> Message:
    """An object as the watcher publishes it."""
    channel: Channel[msgspec.Raw] = Channel(word, msgspec.Raw)
    key, uid, version = Key("team", name), f"7c1ddc7e-6a3f-4f0e-9b2c-{number:012}", str(10**7 + number)
    state = State(key=key, uid=uid, version=version, object=msgspec.Raw(msgspec.json.encode(body)))
    return Message(subject=channel.subject(number % 32, key), body=channel.encode(state), sequence=number + 1)


MAKERS = {"rayjob": message, "job": submitter, "pod": submitter_pod}


def batches(words: Iterable[str], count: int) -> Iterator[Batch]:
    """Everything that is to be known of some kinds, some at a time."""
    makers = [MAKERS[word] for word in words if word in MAKERS]
    for first in range(0, count, BATCH):
        found = tuple(make(number) for number in range(first, first + BATCH) for make in makers)
        yield Batch(messages=found, fresh=first == 0, caught_up=first + BATCH >= count)


class Deaf:
    """Listens to a feed and does nothing."""

    def __getattr__(self, _: str) -> object:
        return lambda *_: None


def filled(sources: Sequence[Source[Any]], count: int) -> View:
    """The view of a plane that owns everything."""
    feed = Feed(cast("Bus", None), [], sources, cast("Ear[Item]", Deaf()))
    for batch in batches([source.word for source in sources], count):
        feed.take(batch)
    assert feed.view
    return feed.view


def waiting(view: View) -> tuple[Queue, Worker[Item]]:
    """What the plane of ended RayJobs has beside its view."""

    async def work(_: Item) -> None:
        """Nothing is due."""

    queue, worker = Queue(Registry(), lambda: NOW, lambda _: True), Worker[Item](work, lambda: NOW)
    for held in view.of(JOBS):
        item, found = Item(held.partition, held.key), plan(Ended(job=held.object), JanitorSettings(), NOW)
        assert found.upcoming
        queue.put(item, found)
        worker.recheck(item, found.upcoming.at)
    return queue, worker


async def test_jobs_that_wait_cost_little_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """All planes together; the submitters of these jobs, which stay for their logs, are in the feed too.

    The other planes keep nothing of these jobs: a tenth of them is enough to see that.
    """
    used, kept = dict[str, int](), list[object]()
    for service, share in ((EndingService, 1), (FadingService, 10), (HistoryService, 10)):
        tracemalloc.start()
        view = filled(service.sources, JOBS_WAITING // share)
        kept.append((view, waiting(view) if service is EndingService else None))
        gc.collect()
        used[service.name] = tracemalloc.get_traced_memory()[0] * share
        tracemalloc.stop()
        assert service is not EndingService or len(view.of(JOBS)) == JOBS_WAITING
    total = sum(used.values())
    with capsys.disabled():
        shown = {name: f"{number / 2**20:.1f} MiB" for name, number in used.items()}
        print(f"\n{JOBS_WAITING} RayJobs that wait: {total / 2**20:.1f} MiB, {shown}", file=sys.stderr)
    assert total <= BYTES


async def test_jobs_that_wait_cost_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is due: the worker does not even look."""

    async def work(_: int) -> None:
        raise AssertionError("nothing is due")

    worker: Worker[int] = Worker(work, lambda: NOW)
    for number in range(JOBS_WAITING):
        worker.recheck(number, NOW + timedelta(seconds=86400 + number))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        await asyncio.sleep(0.1)  # until it has begun
        before = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        used = time.process_time() - before
        running.cancel()
    with capsys.disabled():
        print(f"\n{JOBS_WAITING} that wait: {used * 1000:.1f} ms of CPU in {IDLE_SECONDS} s", file=sys.stderr)
    assert used <= 0.01 * IDLE_SECONDS


async def test_jobs_are_called_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a hundred thousand, two thousand fall due within four seconds."""
    loop, late, done = asyncio.get_running_loop(), list[float](), asyncio.Event()
    due = {number: loop.time() + 3 + number / 500 for number in range(DUE)}
    due |= {number: loop.time() + 86400 for number in range(DUE, JOBS_WAITING)}

    async def work(number: int) -> None:
        late.append(loop.time() - due[number])
        if len(late) == DUE:
            done.set()

    worker: Worker[int] = Worker(work, lambda: NOW, pace=Pace(concurrency=32))
    for number, at in due.items():
        worker.recheck(number, NOW + timedelta(seconds=at - loop.time()))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        await done.wait()
        running.cancel()
    p99 = sorted(late)[int(0.99 * len(late))]
    with capsys.disabled():
        print(f"\n{DUE} of {JOBS_WAITING} fell due: p99 {p99 * 1000:.1f} ms late", file=sys.stderr)
    assert min(late) > -0.01
    assert p99 <= 1
