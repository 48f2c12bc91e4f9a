"""Takes away what a deletion is about, by the version or the uid that was decided on, and tells users of it."""

from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.errors import MantaError, NotCaughtUp
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYJOB, Kind
from manta_common.kube.protocol import guarded
from manta_common.plane import Item
from manta_common.store import Held
from manta_common.writes import Writes
from manta_janitor.observed import JobCluster
from manta_janitor.policies.endings import Deletion
from manta_janitor.telling import QUIET, Teller


class Remover:
    """The hands of the plane of ended RayJobs. NotCaughtUp when something else bears a name by now."""

    def __init__(self, writes: Writes, teller: Teller) -> None:
        self._writes, self._teller = writes, teller

    async def remove(self, item: Item, deletion: Deletion, job: RayJob, cluster: Held[JobCluster] | None) -> None:
        """Do what a deletion says of a job that was just read; a cluster that is gone needs nothing."""
        if deletion.policy == "DeleteSelf":
            await self.remove_job(item, uid=job.metadata.uid, version=job.metadata.resource_version)
        elif cluster and deletion.policy == "DeleteCluster":
            await self._remove_cluster(item, job, cluster)
        elif cluster:
            await self._suspend_workers(item, job, cluster)

    async def remove_job(self, item: Item, *, uid: str, version: str) -> None:
        """Delete a job; Conflict when it is another one or has changed since the version."""
        await self._delete(item, RAYJOB, item.key, uid=uid, version=version)

    async def _remove_cluster(self, item: Item, job: RayJob, cluster: Held[JobCluster]) -> None:
        uid = job.metadata.uid
        try:
            await self._delete(item, RAYCLUSTER, cluster.key, uid=cluster.uid)
        except QUIET:
            raise
        except MantaError as error:
            note = f"Failed to delete cluster {cluster.key}: {error}"
            self._teller.failed(item.key, uid, reason="FailedToDeleteRayCluster", note=note)
            raise
        self._teller.did(item.key, uid, reason="DeletedRayCluster", note=f"Deleted cluster {cluster.key}")

    async def _suspend_workers(self, item: Item, job: RayJob, cluster: Held[JobCluster]) -> None:
        uid, groups = job.metadata.uid, cluster.object.spec.worker_group_specs
        steps = [
            {"op": "add", "path": f"/spec/workerGroupSpecs/{index}/suspend", "value": True}
            for index in range(len(groups))
        ]
        patch = guarded(cluster.object.metadata.resource_version, steps)
        try:
            await self._writes.patch(item, RAYCLUSTER, cluster.key, patch=patch, into=RayCluster)
        except QUIET:
            raise
        except MantaError as error:
            note = f"Failed to suspend worker groups in cluster {cluster.key}: {error}"
            self._teller.failed(item.key, uid, reason="FailedToUpdateRayCluster", note=note)
            raise
        note = f"Set the `suspend` field to true for all worker groups in cluster {cluster.key}"
        self._teller.did(item.key, uid, reason="UpdatedRayCluster", note=note)

    async def _delete(self, item: Item, kind: Kind, key: Key, *, uid: str, version: str = "") -> None:
        if not await self._writes.delete(item, kind, key, uid=uid, version=version):
            raise NotCaughtUp(f"{kind.name} {key} is gone or another one by now")
