"""Ended RayJobs on the plane: their deletions fall due by time, and each is decided once more before it is done."""

import asyncio
import functools
import logging
from collections.abc import Coroutine, Iterable, Sequence
from datetime import timedelta
from typing import Any, Final, assert_never

from manta_common.api.meta import Condition
from manta_common.api.rayjob import RayJob
from manta_common.api.wire import to_builtins
from manta_common.bus.channel import OF_JOBS
from manta_common.deeds import Recheck
from manta_common.errors import Conflict, MantaError, NotCaughtUp, NotFound, Rejected
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import RAYJOB
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, MergePatch
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Settler
from manta_common.store import Held
from manta_common.validation.job import validate_job
from manta_common.writes import Writes
from manta_janitor.actions import Announce, CarryOut, JobAction
from manta_janitor.decide import decide
from manta_janitor.observed import CONDITION, Ended, EndingJob, JanitorSettings, JobCluster
from manta_janitor.policies.endings import Deletion, plan
from manta_janitor.queue import Queue
from manta_janitor.removal import Remover
from manta_janitor.telling import QUIET, Teller
from manta_janitor.turns import Turn, Turns

IN_TIME: Final = timedelta(seconds=3)
AHEAD: Final = 2  # of so many passes one deletes, while the others read what they are about to delete
FRESH_SECONDS: Final = 0.2  # a job that was read longer ago is read once more, unless its deletion names its version
log = logging.getLogger(__name__)
JOBS = Source("rayjob", EndingJob, family=OF_JOBS)
CLUSTERS = Source("raycluster", JobCluster, family=OF_JOBS)


class EndingService:
    """Implements the plane's `Service` for RayJobs that have ended."""

    name = "janitor"
    sources: Sequence[Source[Any]] = (JOBS, CLUSTERS)

    def __init__(self, kube: Kube, means: Means, settings: JanitorSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings = kube, settings
        self._time = means.clock.monotonic
        self.plane = Plane(means, self, shape)
        self.queue = Queue(means.metrics, kube.now, self._is_ours)
        self._turns = Turns(
            shape.pace.concurrency, self.plane.worker.mark, time=means.clock.monotonic, is_ours=self._is_ours
        )
        self.plane.when_lost(self.queue.lose, self._turns.lose)
        self._writes = Writes(kube, self.plane, self.sources)
        self._remover = Remover(self._writes, Teller(recorder, RAYJOB))
        self._asking = asyncio.Lock()
        self._room = asyncio.Semaphore(max(1, shape.pace.concurrency // AHEAD))

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A job marks itself, a cluster the job that it belongs to."""
        return [held.key] if word == JOBS.word else _job_of(held)

    async def settle(self, item: Item) -> None:
        """One pass. What it deletes is read again or carries its version, so no view has to be compared before."""
        with self._turns.passing(item) as turn:
            await Settler(
                kube=self._kube,
                fence=self.plane.fence,
                view_of=self.plane.view_of,
                decide=functools.partial(self._decide, turn),
                carry_out=self._carry_out,
                children=[],
            ).settle(item)

    def _decide(self, turn: Turn, view: View, item: Item) -> Sequence[Phase[JobAction]]:
        held = view.of(JOBS).held(item.key)
        if held is None:
            self.queue.forget(item)
            self._turns.forget(item)
            return []
        ended = Ended(job=held.object, cluster=_cluster(view, held.object, item.key, held.uid))
        found = plan(ended, self._settings, self._kube.now())
        known = self.queue.put(item, found)
        if found.due is None:
            self._turns.forget(item)
            return decide(ended, found)
        in_order = known or self._kube.now() - found.due.at < IN_TIME  # a timer called it, or it has just ended
        wait_seconds = turn.ask(found.due.at, in_order=in_order)
        if wait_seconds:
            return [[Recheck(self._kube.now() + timedelta(seconds=wait_seconds))]]
        return decide(ended, found)

    def _is_ours(self, item: Item) -> bool:
        return self.plane.view_of(item) is not None

    async def _carry_out(self, item: Item, action: JobAction) -> None:
        match action:
            case CarryOut():
                await self._delete(item, action.deletion)
            case Announce():
                await self._announce(item, action)
            case Recheck():
                self.plane.worker.recheck(item, action.at)
            case _:
                assert_never(action)

    async def _delete(self, item: Item, deletion: Deletion) -> None:
        """Delete what is due by a clock that cannot be ahead, and by the job as the API server has it then."""
        known = self._approved(item, deletion)
        if known is not None and not await self._is_time(item, deletion):
            return
        if known is None or not await self._deleted_as_known(item, deletion, known):
            await self._delete_as_read(item, deletion)

    def _approved(self, item: Item, deletion: Deletion) -> Held[EndingJob] | None:
        """The job as the view has it, if reading it would say no more: of this state it is known that it is valid, and
        nothing but the job itself says that it is to go."""
        held = self._view(item).of(JOBS).held(item.key)
        if held is None or not held.object.metadata.approved or deletion.policy != "DeleteSelf":
            return None
        found = plan(Ended(job=held.object), self._settings, self._kube.now())
        return held if found.due == deletion else None

    async def _is_time(self, item: Item, deletion: Deletion) -> bool:
        """Whether it is surely time; else it is looked at again. Any answer tells the server's time: where that is not
        known well enough, one job at a time is read for all."""
        if deletion.at > self._kube.earliest_now():
            async with self._asking:
                if deletion.at > self._kube.earliest_now():
                    await self._read(item)
        return self._is_late_enough(item, deletion)

    def _is_late_enough(self, item: Item, deletion: Deletion) -> bool:
        surely = self._kube.earliest_now()
        if deletion.at > surely:
            self.plane.worker.recheck(item, deletion.at + (self._kube.now() - surely))
        return deletion.at <= surely

    async def _deleted_as_known(self, item: Item, deletion: Deletion, known: Held[EndingJob]) -> bool:
        """Delete a job unless anything of it has changed, which the API server knows; whether it has not."""
        try:
            async with self._room:
                uid, version = known.uid, str(known.version)
                await self._tried(item, deletion, self._remover.remove_job(item, uid=uid, version=version))
        except Conflict:
            return False
        return True

    async def _delete_as_read(self, item: Item, deletion: Deletion) -> None:
        """Read the job again and decide again; only what is still due is deleted."""
        job, read_at = await self._confirmed(item, deletion), self._time()
        if job is None:
            return
        async with self._room:
            if deletion.policy != "DeleteSelf" and self._time() - read_at > FRESH_SECONDS:
                job = await self._confirmed(item, deletion)
            if job is not None:
                cluster = self._view(item).of(CLUSTERS).held(Key(item.key.namespace, job.status.ray_cluster_name))
                await self._tried(item, deletion, self._remover.remove(item, deletion, job, cluster))

    async def _confirmed(self, item: Item, deletion: Deletion) -> RayJob | None:
        """The job as it is now, whose deletion is due; None if that is not sure yet, and then it is looked at again."""
        job, cluster = await self._read(item)
        if not self._is_late_enough(item, deletion):
            return None
        if plan(Ended(job=job, cluster=cluster), self._settings, self._kube.earliest_now()).due != deletion:
            raise NotCaughtUp("the job has changed since its deletion was decided")
        return job

    async def _tried(self, item: Item, deletion: Deletion, deed: Coroutine[Any, Any, None]) -> None:
        """Carry a deletion out, and count what became of it."""
        try:
            await deed
        except QUIET:
            raise
        except MantaError:
            self.queue.failed(deletion)
            raise
        self.queue.done(deletion)
        extra = {"key": str(item), "policy": deletion.policy, "rule": deletion.rule}
        log.info("deletion was carried out", extra=extra)

    async def _read(self, item: Item) -> tuple[RayJob, JobCluster | None]:
        """The job as it is now, if it is still the same and valid, and its cluster as the view has it."""
        try:
            job = await self._kube.get(RAYJOB, item.key, RayJob)
        except NotFound as error:
            raise NotCaughtUp("the job is gone by now") from error
        view = self._view(item)
        held = view.of(JOBS).held(item.key)
        if held is None or held.uid != job.metadata.uid:
            raise NotCaughtUp("another job bears the name by now")
        self._require_valid(job)
        return job, _cluster(view, job, item.key, held.uid)

    def _require_valid(self, job: RayJob) -> None:
        for problem in validate_job(job, self._settings.gates):
            raise Rejected("ValidationFailed", f"nothing is deleted for an invalid job: {problem.message}")

    async def _announce(self, item: Item, action: Announce) -> None:
        """Write one condition beside those of others; that something will be deleted is said of valid jobs only."""
        job = await self._kube.get(RAYJOB, item.key, RayJob)
        if action.status == "True":
            self._require_valid(job)
        known = next((each for each in job.status.conditions if each.type == CONDITION), None)
        now = self._kube.now().replace(microsecond=0)
        condition = Condition(
            type=CONDITION,
            status=action.status,
            reason=action.reason,
            message=action.message,
            observed_generation=job.metadata.generation,
            last_transition_time=known.last_transition_time if known and known.status == action.status else now,
        )
        others = [each for each in job.status.conditions if each.type != CONDITION]
        body = {
            "metadata": {"uid": job.metadata.uid, "resourceVersion": job.metadata.resource_version},
            "status": {"conditions": [to_builtins(each) for each in (*others, condition)]},
        }
        await self._writes.write_status(item, RAYJOB, patch=MergePatch(body), into=RayJob)

    def _view(self, item: Item) -> View:
        view = self.plane.view_of(item)
        if view is None:
            raise NotCaughtUp("the view is not whole")
        return view


def _job_of(cluster: Held[JobCluster]) -> Iterable[Key]:
    """The RayJob that a cluster was made for."""
    owner = cluster.object.controller
    return [Key(cluster.key.namespace, owner.name)] if owner and owner.kind == RAYJOB.kind else []


def _cluster(view: View, job: EndingJob | RayJob, key: Key, uid: str) -> JobCluster | None:
    """The job's cluster; one that bears its name but is somebody else's does not count."""
    cluster = view.of(CLUSTERS).get(Key(key.namespace, job.status.ray_cluster_name))
    owner = cluster.controller if cluster else None
    return None if owner and owner.uid != uid else cluster
