"""The users of a soak: they do what a plan says, and watch what becomes of their clusters and jobs."""

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import Final, assert_never

import msgspec

from manta_common.errors import Expired, NotFound, Retry
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYJOB, Kind
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from tests.bench.cluster_api import CLOSING_SECONDS, Seen
from tests.chaos.soak_plan import Change, Deed, Make, Plan, Remove
from tests.chaos.soak_truth import Fate
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient

FILLING_SECONDS: Final = 0.1  # between two deeds while there are not enough objects yet
CLUSTER_SECONDS: Final = 0.7  # between two changes of clusters, when there are
JOB_SECONDS: Final = 0.1
ENDED: Final = ("Complete", "Failed")
JOIN_SECONDS: Final = 30.0


class Users:
    """They work in a thread of their own, from `begin` to `rest`; until `end` they watch."""

    def __init__(self, plane: ControlPlane, namespace: str, plan: Plan) -> None:
        self.plan, self._plane, self._namespace = plan, plane, namespace
        self.living: dict[Kind, dict[str, Seen]] = {RAYCLUSTER: {}, RAYJOB: {}}
        self.fates: dict[str, Fate] = {}  # of jobs
        self.deeds = 0
        self._kube: Client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="users", daemon=True)
        self._resting, self._ending = asyncio.Event(), asyncio.Event()
        self._work: concurrent.futures.Future[None]

    def begin(self) -> None:
        """Let them begin."""
        self._thread.start()
        self._work = asyncio.run_coroutine_threadsafe(self._run(), self._loop)

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        if self._work.done():
            self._work.result()

    def rest(self) -> None:
        """They wish for nothing more."""
        self.check()
        self._loop.call_soon_threadsafe(self._resting.set)

    def end(self) -> None:
        """Let them go."""
        self._loop.call_soon_threadsafe(self._resting.set)
        self._loop.call_soon_threadsafe(self._ending.set)
        try:
            self._work.result(patient(JOIN_SECONDS))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(patient(JOIN_SECONDS))
            self._loop.close()

    @property
    def is_full(self) -> bool:
        """Whether there is as much as there should be."""
        size = self.plan.size
        return len(self.plan.clusters) >= size.clusters and len(self.living[RAYJOB]) >= size.jobs

    async def _run(self) -> None:
        settings = KubeSettings(service="soak")
        async with connect(settings, kubeconfig=str(self._plane.kubeconfig)) as kube, asyncio.TaskGroup() as group:
            self._kube = kube
            watching = [group.create_task(self._follow(kind)) for kind in self.living]
            group.create_task(self._change_clusters())
            group.create_task(self._change_jobs())
            await self._ending.wait()
            for task in watching:
                task.cancel()
        await asyncio.sleep(CLOSING_SECONDS)

    async def _change_clusters(self) -> None:
        while not self._resting.is_set():
            await self._do(self.plan.next_cluster_deed(self.living[RAYCLUSTER]))
            is_whole = len(self.plan.clusters) >= self.plan.size.clusters
            await self._pause(CLUSTER_SECONDS if is_whole else FILLING_SECONDS)

    async def _change_jobs(self) -> None:
        while not self._resting.is_set():
            living = self.living[RAYJOB]
            ended = {name for name, job in living.items() if job.status.job_deployment_status in ENDED}
            await self._do(self.plan.next_job_deed(living, ended))
            await self._pause(JOB_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._resting.wait()

    async def _do(self, deed: Deed | None) -> None:
        match deed:
            case Make(kind, name, body):
                made = await self._kube.create(kind, self._namespace, body, Seen)
                self.living[kind].setdefault(name, made)
            case Change(kind, name, spec):
                patch = MergePatch({"spec": spec})
                await self._kube.patch(kind, Key(self._namespace, name), patch, msgspec.Raw)
            case Remove(kind, name):
                with contextlib.suppress(NotFound):
                    found = await self._kube.get(kind, Key(self._namespace, name), Seen)
                    await self._kube.delete(kind, Key(self._namespace, name), uid=found.metadata.uid)
            case None:
                return
            case _:
                assert_never(deed)
        self.deeds += 1

    async def _follow(self, kind: Kind) -> None:
        version = await self._list(kind)
        while True:
            try:
                version = await self._watch(kind, version)
            except Expired:
                version = await self._list(kind)
            except Retry:  # the watch was cut: go on from where it was
                await self._pause(FILLING_SECONDS)

    async def _list(self, kind: Kind) -> str:
        found = await self._kube.list(kind, Seen, Scope(namespace=self._namespace))
        there = {one.metadata.name: one for one in found.items}
        for name in self.living[kind].keys() - there.keys():
            self._lose(kind, name)
        for one in there.values():
            self._see(kind, one)
        return found.version

    async def _watch(self, kind: Kind, version: str) -> str:
        watched = self._kube.watch(kind, Seen, Scope(namespace=self._namespace), since=version)
        async with contextlib.aclosing(watched) as changes:
            async for change in changes:
                version = change.version
                if change.object:
                    self._see(kind, change.object)
                if change.object and change.type == "DELETED":
                    self._lose(kind, change.object.metadata.name)
        return version

    def _see(self, kind: Kind, found: Seen) -> None:
        self.living[kind][found.metadata.name] = found  # where it was: they are in the order of their making
        if kind is RAYJOB:
            self.fates[found.metadata.name] = Fate(found.status.job_deployment_status)

    def _lose(self, kind: Kind, name: str) -> None:
        self.living[kind].pop(name, None)
        if kind is RAYJOB and name in self.fates:
            self.fates[name] = msgspec.structs.replace(self.fates[name], gone=True)
