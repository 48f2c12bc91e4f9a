"""What the janitor keeps of jobs and pods: a hundred thousand of them wait for their time, so it is little."""

from typing import Literal

import msgspec

from manta_common.api.core import Job
from manta_common.api.gates import Gates
from manta_common.api.meta import Condition
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import DeletionStrategy
from manta_common.api.wire import Strings, Time, Wire

ENDED = frozenset({"Complete", "Failed"})


class Identity(Wire, frozen=True, kw_only=True):
    """Which object it is, and whether it goes already."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    finalizers: Strings = ()


class EndingSpec(Wire, frozen=True, kw_only=True):
    """What a RayJob says about its end."""

    cluster_selector: dict[str, str] | None = None
    deletion_strategy: DeletionStrategy | None = None
    managed_by: str | None = None
    shutdown_after_job_finishes: bool = False
    ttl_seconds_after_finished: int = 0


class EndingStatus(Wire, frozen=True, kw_only=True):
    """How a RayJob ended, and when."""

    job_status: str = ""
    job_deployment_status: str = ""
    ray_cluster_name: str = ""
    end_time: Time | None = None
    conditions: tuple[Condition, ...] = ()


class EndingJob(Wire, frozen=True, kw_only=True):
    """A RayJob, as far as its end is concerned."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: EndingSpec = msgspec.field(default_factory=EndingSpec)
    status: EndingStatus = msgspec.field(default_factory=EndingStatus)


class NodeMeta(Identity, frozen=True, kw_only=True):
    """Which pod it is, and of which cluster."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Node(Wire, frozen=True, kw_only=True):
    """A Ray pod, as far as its deletion is concerned."""

    metadata: NodeMeta = msgspec.field(default_factory=NodeMeta)


class JanitorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation decides about endings."""

    gates: Gates = Gates()
    deletes_jobs: bool = False  # with shutdownAfterJobFinishes the RayJob itself goes, not only its cluster
    cleans_redis: bool = True


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A RayJob and its cluster, if that is still there."""

    job: EndingJob
    cluster: RayCluster | None = None

    @property
    def is_ours(self) -> bool:
        """Whether anything of it may be deleted: it has ended, is ours to look after, and stays."""
        job = self.job
        is_managed = job.spec.managed_by in {None, MANAGED_BY_KUBERAY}
        has_ended = job.status.job_deployment_status in ENDED and job.status.end_time is not None
        return is_managed and has_ended and job.metadata.deletion_timestamp is None and not job.spec.cluster_selector


class Fading(msgspec.Struct, frozen=True, kw_only=True):
    """A RayCluster that is being deleted, with what is left of it."""

    cluster: RayCluster
    heads: tuple[Node, ...] = ()
    workers: tuple[Node, ...] = ()
    cleanup: Job | None = None


Policy = Literal["DeleteSelf", "DeleteCluster", "DeleteWorkers", "DeleteNone"]
