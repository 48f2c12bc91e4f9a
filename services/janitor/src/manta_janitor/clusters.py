"""Deleted RayClusters on the plane: what is left of them goes, their keys leave Redis, then the finalizer is taken."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

import msgspec

from manta_common.api import annotations, labels, names
from manta_common.api.core import Job
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_common.errors import AlreadyExists, MantaError, NotCaughtUp, NotFound, Refused
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import JOB, POD, RAYCLUSTER
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, Scope, guarded
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape
from manta_common.ray.cluster import Manifest, Unbuildable, storage_namespace
from manta_common.ray.settings import RaySettings
from manta_common.settle import Children, Settler
from manta_common.store import Held
from manta_common.telemetry import names as telemetry
from manta_common.writes import Writes
from manta_janitor.actions import CleanRedis, ClusterAction, CreateCleanup, DeletePod, RemoveFinalizer
from manta_janitor.manifests import CleanupJob, cleanup_job
from manta_janitor.observed import Fading, FadingCluster, JanitorSettings, Node
from manta_janitor.picked import Picked
from manta_janitor.policies.fading import decide
from manta_janitor.redis_keys import RedisCleaner
from manta_janitor.telling import QUIET, Teller

log = logging.getLogger(__name__)


def cluster_of(child: Node | Job) -> Iterable[Key]:
    """The cluster that a pod or Job says it belongs to."""
    name = child.metadata.labels.get(labels.CLUSTER)
    return [Key(child.metadata.namespace, name)] if name else []


def _is_of(*node_types: str) -> Callable[[Node | Job], bool]:
    return lambda child: child.metadata.labels.get(labels.NODE_TYPE) in node_types


CLUSTERS = Picked("raycluster", FadingCluster, lambda one: annotations.CLUSTER_FINALIZER in one.metadata.finalizers)
NODES = Picked("pod", Node, _is_of(labels.HEAD, labels.WORKER), {"cluster": cluster_of})
CLEANUPS = Picked("job", Job, _is_of(labels.REDIS_CLEANUP), {"cluster": cluster_of})


class CleanupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the clean-up of clusters is set up."""

    janitor: JanitorSettings = JanitorSettings()
    ray: RaySettings = RaySettings()
    job: CleanupJob = CleanupJob()
    redis_ca_file: str = ""


class FadingService:
    """Implements the plane's `Service` for RayClusters that are being deleted."""

    name = "janitor-clusters"
    sources: Sequence[Source[Any]] = (CLUSTERS, NODES, CLEANUPS)

    def __init__(self, kube: Kube, means: Means, settings: CleanupSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings, self._teller = kube, settings, Teller(recorder, RAYCLUSTER)
        self._redis = RedisCleaner(kube, settings.ray, settings.redis_ca_file)
        self._ended = means.metrics.numbers(telemetry.REDIS_CLEANUPS)
        self.plane = Plane(means, self, shape)
        self._writes = Writes(kube, self.plane, self.sources)

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A cluster marks itself, all else the cluster it belongs to if that is being deleted."""
        if word == CLUSTERS.word:
            return [held.key]
        return [key for key in cluster_of(held.object) if self._may_fade(Item(held.partition, key))]

    async def settle(self, item: Item) -> None:
        """One pass."""
        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=self._decide,
            carry_out=self._carry_out,
            children=CHILDREN,
        ).settle(item)

    def _may_fade(self, item: Item) -> bool:
        view = self.plane.view_of(item)
        cluster = view.of(CLUSTERS).get(item.key) if view else None
        return view is None or (cluster is not None and cluster.metadata.deletion_timestamp is not None)

    def _decide(self, view: View, item: Item) -> Sequence[Phase[ClusterAction]]:
        cluster = view.of(CLUSTERS).get(item.key)
        if cluster is None or cluster.metadata.deletion_timestamp is None:
            return []
        nodes = view.of(NODES).find("cluster", item.key)
        fading = Fading(
            cluster=cluster,
            heads=_of_type(nodes, labels.HEAD),
            workers=_of_type(nodes, labels.WORKER),
            cleanup=view.of(CLEANUPS).get(Key(item.key.namespace, names.redis_cleanup_job(item.key.name))),
        )
        return decide(fading, self._settings.janitor, self._kube.now())

    async def _carry_out(self, item: Item, action: ClusterAction) -> None:
        match action:
            case DeletePod():
                await self._delete_pod(item, action)
            case CreateCleanup():
                await self._create_cleanup(item)
            case CleanRedis():
                await self._clean_redis(item)
            case RemoveFinalizer():
                await self._remove_finalizer(item, action)
            case Recheck():
                self.plane.worker.recheck(item, action.at)
                return
            case _:
                assert_never(action)
        log.info("action was carried out", extra={"action": type(action).__name__, "key": str(item)})

    async def _delete_pod(self, item: Item, action: DeletePod) -> None:
        if not await self._writes.delete(item, POD, Key(item.key.namespace, action.name), uid=action.uid):
            raise NotCaughtUp(f"pod {action.name} is gone or another one by now")

    async def _create_cleanup(self, item: Item) -> None:
        cluster = self._cluster(item)
        await self._require_there(item, cluster)
        place, uid = Key(item.key.namespace, names.redis_cleanup_job(item.key.name)), cluster.metadata.uid
        try:
            await self._writes.create(item, JOB, self._cleanup(cluster), into=Job)
        except QUIET:
            raise
        except AlreadyExists as error:
            raise NotCaughtUp(f"the clean-up {place} is there already") from error
        except MantaError as error:
            note = f"Failed to create Redis cleanup Job {place}, {error}"
            self._teller.failed(item.key, uid, reason="FailedToCreateRedisCleanupJob", note=note)
            raise
        self._teller.did(item.key, uid, reason="CreatedRedisCleanupJob", note=f"Created Redis cleanup Job {place}")

    async def _require_there(self, item: Item, cluster: RayCluster) -> None:
        """The API server itself is asked: a clean-up that has gone with its cluster may be seen to go before it."""
        try:
            found = await self._kube.get(RAYCLUSTER, item.key, RayCluster)
        except NotFound as error:
            raise NotCaughtUp("the cluster is gone") from error
        if found.metadata.uid != cluster.metadata.uid:
            raise NotCaughtUp("the cluster is another one by now")

    def _cleanup(self, cluster: RayCluster) -> Manifest:
        try:
            return cleanup_job(cluster, self._settings.ray, self._settings.job)
        except Unbuildable as error:
            raise Refused(422, "Unbuildable", str(error)) from error

    async def _clean_redis(self, item: Item) -> None:
        cluster = self._cluster(item)
        try:
            removed = await self._redis.clean(cluster)
        except MantaError as error:
            note = f"Failed to remove the keys of {storage_namespace(cluster)} from Redis: {error}"
            self._teller.failed(item.key, cluster.metadata.uid, reason="FailedToCleanUpRedis", note=note)
            raise
        note = f"Removed {removed} keys of {storage_namespace(cluster)} from Redis"
        self._teller.did(item.key, cluster.metadata.uid, reason="CleanedUpRedis", note=note)

    async def _remove_finalizer(self, item: Item, action: RemoveFinalizer) -> None:
        cluster = self._cluster(item)
        meta = cluster.metadata
        kept = [name for name in meta.finalizers if name != annotations.CLUSTER_FINALIZER]
        patch = guarded(meta.resource_version, [{"op": "replace", "path": "/metadata/finalizers", "value": kept}])
        try:
            await self._writes.patch(item, RAYCLUSTER, item.key, patch=patch, into=RayCluster)
        except NotFound:
            return
        self._ended.at("forced" if action.forced else "done").add()
        if action.forced:
            self._teller.failed(item.key, meta.uid, reason="ForceDeletedStuckCluster", note=self._forced(cluster))

    def _forced(self, cluster: RayCluster) -> str:
        since = cluster.metadata.deletion_timestamp or self._kube.now()
        seconds = int((self._kube.now() - since).total_seconds())
        return (
            f"Force-removed GCS FT finalizer after {seconds}s due to Redis cleanup timeout; Redis storage namespace "
            f'"{storage_namespace(cluster)}" may need manual cleanup'
        )

    def _cluster(self, item: Item) -> RayCluster:
        view = self.plane.view_of(item)
        cluster = view.of(CLUSTERS).get(item.key) if view else None
        if cluster is None:
            raise NotCaughtUp("the cluster is not seen any more")
        return cluster


def _of_type(nodes: Iterable[Node], node_type: str) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node.metadata.labels.get(labels.NODE_TYPE) == node_type)


def _scope(further: str) -> Callable[[Item], Scope]:
    """The objects of a cluster that the feed shows: others may label what they like with its name."""
    return lambda item: Scope(namespace=item.key.namespace, labels=f"{labels.CLUSTER}={item.key.name},{further}")


def _pods(view: View, item: Item) -> list[Key]:
    return [Key(node.metadata.namespace, node.metadata.name) for node in view.of(NODES).find("cluster", item.key)]


def _jobs(view: View, item: Item) -> list[Key]:
    return [Key(job.metadata.namespace, job.metadata.name) for job in view.of(CLEANUPS).find("cluster", item.key)]


_OURS = f"{labels.CREATED_BY}={labels.CREATED_BY_VALUE}"
CHILDREN = (
    Children(POD, NODES, _scope(f"{labels.NODE_TYPE} in ({labels.HEAD},{labels.WORKER})"), _pods),
    Children(JOB, CLEANUPS, _scope(f"{_OURS},{labels.NODE_TYPE}={labels.REDIS_CLEANUP}"), _jobs),
)
