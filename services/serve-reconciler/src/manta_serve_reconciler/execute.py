"""Carries out what was decided about a RayService: one branch per action, an event after each act."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar, assert_never

import msgspec

from manta_common.api import annotations, labels
from manta_common.api.core import Pod, Service
from manta_common.api.documents import merge_patch
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService
from manta_common.api.wire import to_builtins
from manta_common.dashboard.calls import ServeConfig
from manta_common.dashboard.client import Dashboards
from manta_common.deeds import Recheck, Tell
from manta_common.errors import MantaError, NotCaughtUp, NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import GATEWAY, HTTPROUTE, POD, RAYCLUSTER, RAYSERVICE, SERVICE, Kind
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import MergePatch, guarded, operations
from manta_common.plane import Item
from manta_common.ray.cluster import Unbuildable
from manta_common.telling import QUIET, Voice
from manta_common.writes import Writes
from manta_serve_reconciler import deeds, manifests
from manta_serve_reconciler.actions import (
    Action,
    AddFinalizer,
    CreateCluster,
    CreateService,
    DeleteCluster,
    DeleteObject,
    DeleteService,
    LabelHead,
    MoveService,
    PutObject,
    RemoveFinalizer,
    Submit,
    UpdateCluster,
    WriteStatus,
)
from manta_serve_reconciler.memory import Memory
from manta_serve_reconciler.observed import Observed, ServeSettings, Side, Submitted

CONTROLLER: Final = "rayservice-controller"
Child = TypeVar("Child", RayCluster, Service)
log = logging.getLogger(__name__)


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """What acts are carried out with; `recheck` asks for another pass at a time."""

    writes: Writes
    dashboards: Dashboards
    recorder: Recorder
    settings: ServeSettings
    memory: Memory
    recheck: Callable[[Item, datetime], None]
    now: Callable[[], datetime]


class Errand:
    """One RayService whose actions are carried out."""

    def __init__(self, item: Item, observed: Observed, hands: Hands) -> None:
        self._item, self._observed, self._hands = item, observed, hands
        self._service = observed.service
        self._voice = Voice(
            hands.recorder, CONTROLLER, kind=RAYSERVICE, key=item.key, uid=observed.service.metadata.uid
        )
        self._version = observed.service.metadata.resource_version  # moves with our own writes in this pass

    async def carry_out(self, action: Action) -> None:
        """Do one thing."""
        match action:
            case AddFinalizer() | RemoveFinalizer():
                await self._set_finalizer(present=isinstance(action, AddFinalizer))
            case CreateCluster() | UpdateCluster() | DeleteCluster():
                await self._change_cluster(action)
            case CreateService() | MoveService() | DeleteService():
                await self._change_service(action)
            case PutObject() | DeleteObject():
                await self._change_routing(action)
            case LabelHead() | Submit():
                await (self._label(action) if isinstance(action, LabelHead) else self._submit(action))
            case WriteStatus():
                await self._write_status(action)
            case Tell() | Recheck():
                self._note(action)
            case _:
                assert_never(action)
        log.info("action was carried out", extra={"action": type(action).__name__, "key": str(self._item)})

    def _note(self, action: Tell | Recheck) -> None:
        if isinstance(action, Recheck):
            self._hands.recheck(self._item, action.at)
        else:
            self._voice.tell(action)

    async def _set_finalizer(self, *, present: bool) -> None:
        others = [name for name in self._service.metadata.finalizers if name != annotations.SERVICE_FINALIZER]
        wanted = [*others, annotations.SERVICE_FINALIZER] if present else others
        patch = guarded(self._version, [{"op": "add", "path": "/metadata/finalizers", "value": wanted}])
        try:
            made = await self._hands.writes.patch(self._item, RAYSERVICE, self._item.key, patch=patch, into=RayService)
        except NotFound:
            if present:
                raise
            log.debug("object is gone already", extra={"key": str(self._item)})
        else:
            self._version = made.metadata.resource_version

    async def _change_cluster(self, action: CreateCluster | UpdateCluster | DeleteCluster) -> None:
        match action:
            case CreateCluster():
                make = self._create(RAYCLUSTER, self._cluster_manifest(action.name), RayCluster)
                await self._voice.telling(deeds.CREATED_CLUSTER, action.name, make)
            case UpdateCluster():
                await self._voice.telling(deeds.updated_cluster(action.role), action.name, self._rewrite(action))
            case DeleteCluster():
                words = deeds.SUSPENDED_CLUSTER if action.suspending else deeds.DELETED_CLUSTER
                await self._voice.telling(words, action.name, self._delete_cluster(action))

    async def _rewrite(self, action: UpdateCluster) -> None:
        """Bring a cluster to the spec; whether it is suspended is its own."""
        cluster = self._side(action.name).cluster
        if cluster is None:
            raise NotCaughtUp("the cluster is not seen yet")
        made = self._cluster_manifest(action.name)
        spec = {name: value for name, value in made["spec"].items() if name != "suspend"}
        if cluster.spec.suspend is not None:
            spec["suspend"] = cluster.spec.suspend
        parts = {"/spec": spec, "/metadata/labels": made["metadata"]["labels"]}
        parts["/metadata/annotations"] = made["metadata"]["annotations"]
        steps = [{"op": "add", "path": path, "value": value} for path, value in parts.items()]
        patch = guarded(cluster.metadata.resource_version, steps)
        key = Key(self._item.key.namespace, action.name)
        await self._hands.writes.patch(self._item, RAYCLUSTER, key, patch=patch, into=RayCluster)

    async def _delete_cluster(self, action: DeleteCluster) -> bool:
        """Delete a cluster, unless the API server's own status says by now that it is needed."""
        if not action.suspending and not self._observed.is_deleting:
            found = await self._hands.writes.kube.get(RAYSERVICE, self._item.key, RayService)
            status = found.status
            named = {status.active_service_status.ray_cluster_name, status.pending_service_status.ray_cluster_name}
            if action.name in named:
                raise NotCaughtUp(f"cluster {action.name} is needed by the status that the API server has")
        key = Key(self._item.key.namespace, action.name)
        return await self._hands.writes.delete(self._item, RAYCLUSTER, key, uid=action.uid)

    async def _change_service(self, action: CreateService | MoveService | DeleteService) -> None:
        key = Key(self._item.key.namespace, action.name)
        match action:
            case CreateService():
                make = self._create(SERVICE, self._service_manifest(action), Service)
                await (
                    make if action.which == "cluster" else self._voice.telling(deeds.CREATED_SERVICE, action.name, make)
                )
            case MoveService():
                made = self._service_manifest(action)
                change = self._hands.writes.move_service(self._item, made, version=action.version)
                await self._voice.telling(deeds.MOVED_SERVICE, action.name, change)
            case DeleteService():
                deletion = self._hands.writes.delete(self._item, SERVICE, key, uid=action.uid)
                await self._voice.telling(deeds.DELETED_SERVICE, action.name, deletion)

    async def _change_routing(self, action: PutObject | DeleteObject) -> None:
        kind = GATEWAY if action.which == "gateway" else HTTPROUTE
        match action:
            case DeleteObject():
                key = Key(self._item.key.namespace, action.name)
                deletion = self._hands.writes.delete(self._item, kind, key, uid=action.uid)
                await self._voice.telling(deeds.deleted_routing(action.which), action.name, deletion)
            case PutObject():
                name = action.manifest["metadata"]["name"]
                words = deeds.updated_routing(action.which) if action.version else deeds.CREATED_ROUTING[action.which]
                await self._voice.telling(words, name, self._put(kind, action))

    async def _put(self, kind: Kind, action: PutObject) -> None:
        if not action.version:
            await self._hands.writes.create_object(self._item, kind, action.manifest)
            return
        key = Key(self._item.key.namespace, action.manifest["metadata"]["name"])
        # All of it: what somebody else has put beside our fields would make it differ for ever.
        patch = guarded(action.version, [{"op": "replace", "path": "/spec", "value": action.manifest["spec"]}])
        await self._hands.writes.patch_object(self._item, kind, key, patch=patch)

    async def _label(self, action: LabelHead) -> None:
        path = f"/metadata/labels/{labels.SERVE.replace('/', '~1')}"
        patch = operations(
            {"op": "test", "path": "/metadata/uid", "value": action.uid},
            {"op": "add", "path": path, "value": action.value},
        )
        key = Key(self._item.key.namespace, action.pod)
        change = self._hands.writes.patch(self._item, POD, key, patch=patch, into=Pod)
        await self._voice.telling(deeds.labelled_head(action.value), action.pod, change)

    async def _submit(self, action: Submit) -> None:
        side = self._side(action.cluster)
        if side.cluster is None:
            raise NotCaughtUp("the cluster is not seen yet")
        uid, remember = side.cluster.metadata.uid, self._hands.memory.told
        words = deeds.CAPACITY if action.keeps_config else deeds.SUBMITTED
        try:
            await self._voice.telling(words, action.cluster, self._deploy(side, action))
        except QUIET:
            raise
        except MantaError as error:
            remember(self._item, uid, msgspec.structs.replace(side.submitted, error=str(error)))
            raise
        now, text = self._hands.now(), self._service.spec.serve_config_v2
        kept = msgspec.structs.replace(side.submitted, scaled_at=now, error="")
        told = kept if action.keeps_config else Submitted(config=text, at=now, scaled_at=now)
        remember(self._item, uid, told)

    def _config(self, side: Side, action: Submit) -> manifests.Manifest:
        """What Serve is to be told; Refused when it cannot be read."""
        if action.keeps_config and side.submitted.at is None and side.report:
            return manifests.running_config(side.report, action.capacity)
        is_kept = action.keeps_config and side.submitted.at is not None
        text = side.submitted.config if is_kept else self._service.spec.serve_config_v2
        try:
            return manifests.serve_config(text, action.capacity)
        except Unbuildable as error:
            raise Refused(422, "Unbuildable", str(error)) from error

    async def _deploy(self, side: Side, action: Submit) -> None:
        place = Key(self._item.key.namespace, side.name)
        uid = side.cluster.metadata.uid if side.cluster else ""
        question = ServeConfig(cluster=place, cluster_uid=uid, config=self._config(side, action))
        await self._hands.dashboards.deploy(question)

    async def _write_status(self, action: WriteStatus) -> None:
        before, now = self._service.status, self._hands.now().replace(microsecond=0)
        after = to_builtins(msgspec.structs.replace(action.status, last_update_time=now))
        # What was never written is not there, though our types show its defaults.
        changes = merge_patch(to_builtins(before), after) if before.last_update_time else after
        body = {"metadata": {"resourceVersion": self._version}, "status": changes}
        made = await self._hands.writes.write_status(self._item, RAYSERVICE, patch=MergePatch(body), into=RayService)
        self._version = made.metadata.resource_version

    async def _create(self, kind: Kind, manifest: manifests.Manifest, into: type[Child]) -> None:
        owners = [owner["uid"] for owner in manifest["metadata"]["ownerReferences"]]
        await self._hands.writes.create_own(self._item, kind, manifest, into=into, owners=owners)

    def _cluster_manifest(self, name: str) -> manifests.Manifest:
        has_active = bool(self._service.status.active_service_status.ray_cluster_name)
        begins_small = has_active and self._observed.is_incremental(self._hands.settings)
        return manifests.ray_cluster(self._service, name, without_replicas=begins_small)

    def _service_manifest(self, action: CreateService | MoveService) -> manifests.Manifest:
        cluster = self._side(action.cluster).cluster
        if cluster is None:
            raise NotCaughtUp("the cluster is not seen yet")
        if action.which == "cluster":
            return manifests.cluster_serve_service(self._service, cluster)
        if action.which == "head":
            return manifests.service_head_service(self._service, cluster, self._hands.settings.ray)
        return manifests.serve_service(self._service, cluster)

    def _side(self, cluster: str) -> Side:
        return self._observed.active if cluster == self._observed.active.name else self._observed.pending
