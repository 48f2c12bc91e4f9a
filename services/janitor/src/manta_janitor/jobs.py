"""Ended RayJobs on the plane: their deletions fall due by time, and each is decided once more before it is done."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, assert_never

from manta_common.api import labels
from manta_common.api.core import ObjectReference
from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.api.wire import to_builtins
from manta_common.errors import Conflict, MantaError, NotCaughtUp, NotFound, Throttled
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYJOB
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, MergePatch, Scope, guarded
from manta_common.kube.series import Notice
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.settle import Children, Settler
from manta_common.store import Held
from manta_common.worker import PassEnded
from manta_common.writes import Writes
from manta_janitor.actions import Announce, CarryOut, JobAction, Recheck
from manta_janitor.decide import CONDITION, decide
from manta_janitor.observed import Ended, EndingJob, JanitorSettings
from manta_janitor.policies.endings import Deletion, plan

CONTROLLER: Final = "rayjob-controller"
QUIET: Final = (NotCaughtUp, Conflict, Throttled)
log = logging.getLogger(__name__)


def job_of(cluster: RayCluster) -> Iterable[Key]:
    """The RayJob that a cluster was made for."""
    marks = cluster.metadata.labels
    name = marks.get(labels.ORIGINATED_FROM_NAME)
    is_jobs = marks.get(labels.ORIGINATED_FROM_KIND) == "RayJob"
    return [Key(cluster.metadata.namespace, name)] if name and is_jobs else []


JOBS = Source("rayjob", EndingJob)
CLUSTERS = Source("raycluster", RayCluster, {"job": job_of})


class EndingService:
    """Implements the plane's `Service` for RayJobs that have ended."""

    name = "janitor"
    sources: Sequence[Source[Any]] = (JOBS, CLUSTERS)

    def __init__(self, kube: Kube, means: Means, settings: JanitorSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings, self._recorder = kube, settings, recorder
        self.plane = Plane(means, self, shape)
        self._writes = Writes(kube, self.plane, {RAYCLUSTER.name: CLUSTERS, RAYJOB.name: JOBS})

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A job marks itself, a cluster the job that it was made for."""
        return [held.key] if word == JOBS.word else job_of(held.object)

    async def settle(self, item: Item) -> None:
        """One pass."""
        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=self._decide,
            carry_out=self._carry_out,
            children=[Children(RAYCLUSTER, CLUSTERS, _scope, _ours)],
        ).settle(item)

    def passed(self, ended: PassEnded[Item]) -> None:
        """Nothing beyond what the plane tells."""

    def _decide(self, view: View, item: Item) -> Sequence[Phase[JobAction]]:
        job = view.of(JOBS).get(item.key)
        if job is None:
            return []
        cluster = view.of(CLUSTERS).get(Key(item.key.namespace, job.status.ray_cluster_name))
        return decide(Ended(job=job, cluster=cluster), self._settings, self._kube.now())

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
        """Read job and cluster again and decide again; only what is still due is deleted."""
        ended = await self._read(item)
        if plan(ended, self._settings, self._kube.now()).due != deletion:
            raise NotCaughtUp("the job has changed since its deletion was decided")
        cluster = ended.cluster
        if deletion.policy == "DeleteSelf":
            await self._writes.delete(item, RAYJOB, item.key, uid=ended.job.metadata.uid)
        elif cluster and deletion.policy == "DeleteCluster":
            await self._delete_cluster(item, ended.job, cluster)
        elif cluster:
            await self._suspend_workers(item, ended.job, cluster)
        extra = {"key": str(item), "policy": deletion.policy, "rule": deletion.rule}
        log.info("deletion was carried out", extra=extra)

    async def _read(self, item: Item) -> Ended:
        job = await self._kube.get(RAYJOB, item.key, EndingJob)
        held = self._held(item)
        if held is None or held.uid != job.metadata.uid:
            raise NotCaughtUp("another job bears the name by now")
        try:
            place = Key(item.key.namespace, job.status.ray_cluster_name)
            cluster = await self._kube.get(RAYCLUSTER, place, RayCluster) if place.name else None
        except NotFound:
            cluster = None
        return Ended(job=job, cluster=cluster)

    async def _delete_cluster(self, item: Item, job: EndingJob, cluster: RayCluster) -> None:
        place = Key(cluster.metadata.namespace, cluster.metadata.name)
        try:
            await self._writes.delete(item, RAYCLUSTER, place, uid=cluster.metadata.uid)
        except QUIET:
            raise
        except MantaError as error:
            self._tell(job, "Warning", "FailedToDeleteRayCluster", f"Failed to delete cluster {place}: {error}")
            raise
        self._tell(job, "Normal", "DeletedRayCluster", f"Deleted cluster {place}")

    async def _suspend_workers(self, item: Item, job: EndingJob, cluster: RayCluster) -> None:
        place = Key(cluster.metadata.namespace, cluster.metadata.name)
        steps = [
            {"op": "add", "path": f"/spec/workerGroupSpecs/{index}/suspend", "value": True}
            for index, _ in enumerate(cluster.spec.worker_group_specs)
        ]
        patch = guarded(cluster.metadata.resource_version, steps)
        try:
            await self._writes.patch(item, RAYCLUSTER, place, patch=patch, into=RayCluster)
        except QUIET:
            raise
        except MantaError as error:
            note = f"Failed to suspend worker groups in cluster {place}: {error}"
            self._tell(job, "Warning", "FailedToUpdateRayCluster", note)
            raise
        note = f"Set the `suspend` field to true for all worker groups in cluster {place}"
        self._tell(job, "Normal", "UpdatedRayCluster", note)

    async def _announce(self, item: Item, action: Announce) -> None:
        """Write one condition beside those of others."""
        job = await self._kube.get(RAYJOB, item.key, RayJob)
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
            "metadata": {"resourceVersion": job.metadata.resource_version},
            "status": {"conditions": [to_builtins(each) for each in (*others, condition)]},
        }
        await self._writes.write_status(item, RAYJOB, patch=MergePatch(body), into=RayJob)

    def _held(self, item: Item) -> Held[EndingJob] | None:
        view = self.plane.view_of(item)
        return view.of(JOBS).held(item.key) if view else None

    def _tell(self, job: EndingJob, severity: Literal["Normal", "Warning"], reason: str, note: str) -> None:
        meta = job.metadata
        about = ObjectReference(
            api_version=RAYJOB.api_version, kind=RAYJOB.kind, namespace=meta.namespace, name=meta.name, uid=meta.uid
        )
        action = "Update" if "Update" in reason else "Delete"
        self._recorder.record(
            about, Notice(controller=CONTROLLER, type=severity, reason=reason, action=action, note=note)
        )


def _scope(item: Item) -> Scope:
    marks = {labels.ORIGINATED_FROM_NAME: item.key.name, labels.ORIGINATED_FROM_KIND: "RayJob"}
    return Scope(namespace=item.key.namespace, labels=",".join(f"{name}={value}" for name, value in marks.items()))


def _ours(view: View, item: Item) -> list[Key]:
    found = view.of(CLUSTERS).find("job", item.key)
    return [Key(cluster.metadata.namespace, cluster.metadata.name) for cluster in found]
