"""Carries out what was decided about a RayJob: one branch per action, an event after each act."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TypeVar, assert_never

import msgspec

from manta_common.api import annotations, labels, names
from manta_common.api.core import Job, Service
from manta_common.api.documents import merge_patch
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob, RayJobStatus
from manta_common.api.wire import to_builtins
from manta_common.dashboard.client import Dashboards
from manta_common.deeds import Recheck, Tell
from manta_common.errors import (
    NotCaughtUp,
    NotFound,
    Refused,
    Throttled,
)
from manta_common.keys import Key
from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYJOB, SERVICE, Kind
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, MergePatch, Scope, guarded
from manta_common.plane import Item
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.services import job_head_service
from manta_common.telling import Voice
from manta_common.writes import Writes
from manta_job_reconciler import conditions, deeds, manifests
from manta_job_reconciler.actions import (
    Action,
    AddFinalizer,
    Confirm,
    CreateCluster,
    CreateService,
    CreateSubmitter,
    DeleteCluster,
    DeleteSubmitter,
    FitGang,
    MoveService,
    RemoveFinalizer,
    RequireNoHead,
    StopJob,
    Submit,
    WriteStatus,
)
from manta_job_reconciler.asking import Ray, Unasked
from manta_job_reconciler.gang import fit_pod_group
from manta_job_reconciler.gauges import Gauges
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.status import answered

CONTROLLER: Final = "rayjob-controller"
AGAIN_SECONDS: Final = 3.0  # between two tries to ask Ray
Child = TypeVar("Child", RayCluster, Job, Service)
log = logging.getLogger(__name__)


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """What acts are carried out with; `recheck` asks for another pass at a time."""

    kube: Kube
    writes: Writes
    dashboards: Dashboards
    recorder: Recorder
    settings: JobSettings
    gauges: Gauges
    recheck: Callable[[Item, datetime], None]
    now: Callable[[], datetime]


class Errand:
    """One job whose actions are carried out in a pass; each write stands on what the one before has made of it."""

    def __init__(self, item: Item, observed: Observed, hands: Hands) -> None:
        self._item, self._observed, self._hands = item, observed, hands
        self._job = observed.job
        self._ray = Ray(observed, hands.dashboards)
        self._voice = Voice(hands.recorder, CONTROLLER, kind=RAYJOB, key=item.key, uid=observed.job.metadata.uid)

    async def carry_out(self, action: Action) -> None:
        """Do one thing."""
        match action:
            case AddFinalizer() | RemoveFinalizer():
                await self._set_finalizer(present=isinstance(action, AddFinalizer))
            case CreateCluster() | CreateSubmitter() | CreateService():
                await self._create(action)
            case DeleteCluster() | DeleteSubmitter():
                await self._delete(action)
            case MoveService() | FitGang():
                await self._change(action)
            case Submit() | StopJob() | Confirm() | RequireNoHead():
                await self._ask(action)
            case WriteStatus():
                await self._write_status(action)
            case Tell() | Recheck():
                self._note(action)
            case _:
                assert_never(action)
        log.info("action was carried out", extra={"action": type(action).__name__, "key": str(self._item)})

    async def _set_finalizer(self, *, present: bool) -> None:
        meta = self._job.metadata
        others = [name for name in meta.finalizers if name != annotations.JOB_FINALIZER]
        wanted = [*others, annotations.JOB_FINALIZER] if present else others
        step = {"op": "add", "path": "/metadata/finalizers", "value": wanted}
        patch = guarded(meta.resource_version, [step])
        try:
            self._job = await self._hands.writes.patch(self._item, RAYJOB, self._item.key, patch=patch, into=RayJob)
        except NotFound as error:
            if present:
                raise NotCaughtUp("the job is gone") from error
            log.debug("job is gone already", extra={"key": str(self._item)})

    async def _create(self, action: CreateCluster | CreateSubmitter | CreateService) -> None:
        match action:
            case CreateCluster():
                await self._create_child(RAYCLUSTER, action.name, RayCluster, self._cluster_manifest)
            case CreateSubmitter():
                await self._create_child(JOB, self._item.key.name, Job, lambda: self._submitter(action.dashboard_url))
            case CreateService():
                name = names.head_service(self._item.key.name)
                await self._create_child(SERVICE, name, Service, self._service_manifest)

    async def _create_child(
        self, kind: Kind, name: str, into: type[Child], manifest: Callable[[], manifests.Manifest]
    ) -> None:
        async def act() -> None:
            try:
                body, owners = manifest(), [self._job.metadata.uid]
                await self._hands.writes.create_own(self._item, kind, body, into=into, owners=owners)
            except Unbuildable as error:
                raise Refused(422, "Unbuildable", str(error)) from error

        try:
            await self._voice.telling(deeds.CREATED[kind], name, act())
        except Refused as error:
            waits = conditions.refused(self._job.status, str(error))
            if waits != self._job.status:
                await self._patch_status(waits)
            raise

    async def _delete(self, action: DeleteCluster | DeleteSubmitter) -> None:
        kind, name = (RAYCLUSTER, action.name) if isinstance(action, DeleteCluster) else (JOB, self._item.key.name)
        key = Key(self._item.key.namespace, name)
        deletion = self._hands.writes.delete(self._item, kind, key, uid=action.uid)
        await self._voice.telling(deeds.DELETED[kind], name, deletion)

    async def _change(self, action: MoveService | FitGang) -> None:
        match action:
            case MoveService():
                await self._move_service(action)
            case FitGang():
                await self._fit_gang(ending=action.ending)

    async def _move_service(self, action: MoveService) -> None:
        made = self._service_manifest()
        change = self._hands.writes.move_service(self._item, made, version=action.version)
        await self._voice.telling(deeds.MOVED, made["metadata"]["name"], change)

    async def _fit_gang(self, *, ending: bool) -> None:
        """Let the batch scheduler's PodGroup fit the job, and tell what an end has released."""
        wanted = manifests.pod_group(self._job, self._observed.cluster, ending=ending)
        fitting = fit_pod_group(self._hands.writes, self._item, wanted, missing_is_fine=ending)
        if not ending:
            await fitting
            return
        await self._voice.telling(deeds.RELEASED, self._item.key.name, fitting)

    async def _ask(self, action: Submit | StopJob | Confirm | RequireNoHead) -> None:
        """Ask for something; that Ray could not be asked, and since when, is remembered where it matters."""
        match action:
            case Submit():
                await self._or_remember(action.otherwise, self._ray.submit())
            case Confirm():
                await self._or_remember(action.otherwise, self._ray.confirm(absent=action.absent))
            case StopJob():
                await self._ray.stop(required=action.required)
            case RequireNoHead():
                await self._require_no_head()

    async def _or_remember(self, otherwise: RayJobStatus, question: Awaitable[None]) -> None:
        """Throttled when Ray could not be asked; what was remembered already is not written again."""
        try:
            await question
        except Unasked as error:
            since = self._job.status.job_status_check_failure_start_time
            if otherwise.job_status_check_failure_start_time != since:
                await self._patch_status(conditions.unasked(otherwise, str(error)))
            raise Throttled(str(error), retry_after_seconds=AGAIN_SECONDS) from error

    async def _require_no_head(self) -> None:
        """NotCaughtUp when there is a head pod after all: it will be seen."""
        marks = f"{labels.CLUSTER}={self._job.status.ray_cluster_name},{labels.NODE_TYPE}={labels.HEAD}"
        scope = Scope(namespace=self._item.key.namespace, labels=marks)
        found = await self._hands.kube.list_versions(POD, scope)
        if any(pod.deletion_timestamp is None for pod in found.items):
            raise NotCaughtUp("the head pod is there, and not seen yet")

    async def _write_status(self, action: WriteStatus) -> None:
        status = action.status
        found = await self._ray.look() if action.with_answer else None
        if found:
            observed, settings = self._observed, self._hands.settings
            status = answered(observed, status, found, settings, self._hands.now())
        if action.with_log:
            tail = await self._ray.log_tail()
            if tail not in status.message:  # Ray itself often tells the end of the log
                status = msgspec.structs.replace(status, message=f"{status.message}\n{tail}")
        before = self._job
        await self._patch_status(status)
        self._hands.gauges.wrote(before, status, self._hands.now())

    async def _patch_status(self, status: RayJobStatus) -> None:
        empty: manifests.Manifest = {"rayClusterStatus": {}, "rayJobInfo": {}}  # KubeRay writes them all the same
        changes = empty | merge_patch(to_builtins(self._job.status), to_builtins(status))
        body = {"metadata": {"resourceVersion": self._job.metadata.resource_version}, "status": changes}
        self._job = await self._hands.writes.write_status(self._item, RAYJOB, patch=MergePatch(body), into=RayJob)

    def _note(self, action: Tell | Recheck) -> None:
        if isinstance(action, Recheck):
            self._hands.recheck(self._item, action.at)
        else:
            self._voice.tell(action)

    def _cluster_manifest(self) -> manifests.Manifest:
        return manifests.ray_cluster(self._job, self._hands.settings.ray)

    def _submitter(self, url: str) -> manifests.Manifest:
        return manifests.submitter_job(self._job, self._cluster, url, self._hands.settings.ray)

    def _service_manifest(self) -> manifests.Manifest:
        return job_head_service(self._job, self._cluster, self._hands.settings.ray)

    @property
    def _cluster(self) -> RayCluster:
        """The cluster; whoever decided on an act that needs it has seen it."""
        if self._observed.cluster is None:
            raise NotCaughtUp("the cluster is not seen yet")
        return self._observed.cluster
