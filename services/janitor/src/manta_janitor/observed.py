"""What the janitor keeps of jobs, clusters and pods: a hundred thousand wait for their time, so it is little. Pure."""

import functools
import sys
import zlib
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from manta_common.api import annotations, labels
from manta_common.api.core import Job
from manta_common.api.gates import Gates
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.api.raycluster import RayCluster, RayClusterStatus, empty_spec
from manta_common.api.rayjob import DeletionStrategy, RayJob
from manta_common.api.wire import Time, Wire

ENDED: Final = frozenset({"Complete", "Failed"})
CONDITION: Final = "CleanupScheduled"
PATIENCE_SECONDS: Final = 300
Policy = Literal["DeleteSelf", "DeleteCluster", "DeleteWorkers", "DeleteNone"]
Way = Literal["job", "janitor", "none"]
_NO_SPEC: Final = empty_spec()
_NO_STATUS: Final = RayClusterStatus()


class Said(Wire, frozen=True, kw_only=True):
    """A condition, as far as it must be compared with what it should say."""

    type: str = ""
    status: str = ""
    message: str = ""
    observed_generation: int = 0

    @property
    def digest(self) -> str:
        """A short text that stands for what it says."""
        return f"{self.status} {zlib.crc32(self.message.encode()):x}"


class Heeded(Wire, frozen=True, kw_only=True):
    """The annotations that may make a RayJob invalid; changing them does not change its generation."""

    ft_enabled: str = msgspec.field(default="", name=annotations.FT_ENABLED)
    storage_namespace: str = msgspec.field(default="", name=annotations.EXTERNAL_STORAGE_NAMESPACE)


NOT_HEEDED: Final = Heeded()


class Going(Wire, frozen=True, kw_only=True):
    """Whether an object goes already, and whether we have seen of this very state that it is valid."""

    deletion_timestamp: Time | None = None
    generation: int = 0
    annotations: Heeded = NOT_HEEDED
    approved: bool = False


class EndingSpec(Wire, frozen=True, kw_only=True):
    """What a RayJob says about its end."""

    cluster_selector: dict[str, str] | None = None
    deletion_strategy: DeletionStrategy | None = None
    managed_by: str | None = None
    shutdown_after_job_finishes: bool = False
    ttl_seconds_after_finished: int = 0


class EndingStatus(Wire, frozen=True, kw_only=True):
    """How a RayJob ended and when, and what was announced."""

    job_status: str = ""
    job_deployment_status: str = ""
    ray_cluster_name: str = ""
    end_time: Time | None = None
    conditions: tuple[Said, ...] = ()
    announced: str = ""  # the digest of our own condition, which is all that is kept of them

    def __post_init__(self) -> None:
        """Words that all jobs share are kept once."""
        for name in ("job_status", "job_deployment_status"):
            msgspec.structs.force_setattr(self, name, sys.intern(getattr(self, name)))


class EndingJob(Wire, frozen=True, kw_only=True):
    """A RayJob, as far as its end is concerned."""

    metadata: Going = Going()
    spec: EndingSpec = EndingSpec()
    status: EndingStatus = EndingStatus()

    def __post_init__(self) -> None:
        """Most jobs say the same about their end, and that they stay; of their conditions only ours matters."""
        said = next((each for each in self.status.conditions if each.type == CONDITION), None)
        if said:
            msgspec.structs.force_setattr(self.status, "announced", said.digest)
        msgspec.structs.force_setattr(self.status, "conditions", ())
        if not self.spec.cluster_selector:
            msgspec.structs.force_setattr(
                self, "spec", _shared(msgspec.structs.replace(self.spec, cluster_selector=None))
            )
        if self.metadata.deletion_timestamp is None:
            msgspec.structs.force_setattr(
                self, "metadata", _APPROVED if _is_approved(self.metadata, said) else _STAYING
            )


_STAYING: Final = Going()
_APPROVED: Final = Going(approved=True)


def _is_approved(meta: Going, said: Said | None) -> bool:
    """Whether our condition speaks of this very spec: it is written for valid jobs only."""
    speaks = said is not None and said.status == "True" and said.observed_generation == meta.generation
    return meta.approved or (speaks and meta.annotations == NOT_HEEDED)


@functools.lru_cache(maxsize=4096)
def _shared(spec: EndingSpec) -> EndingSpec:
    """The one of all equal specs that is kept."""
    return spec


class Owner(Wire, frozen=True, kw_only=True):
    """Who owns a cluster."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Owned(Wire, frozen=True, kw_only=True):
    """Which state of a cluster it is, whose it is, and whether it goes already."""

    resource_version: str = ""
    deletion_timestamp: Time | None = None
    owner_references: tuple[Owner, ...] = ()


class Group(Wire, frozen=True, kw_only=True):
    """A group of workers: whether they are to be away."""

    suspend: bool | None = None


class Groups(Wire, frozen=True, kw_only=True):
    """The groups of workers of a cluster."""

    worker_group_specs: tuple[Group, ...] = ()


class JobCluster(Wire, frozen=True, kw_only=True):
    """The RayCluster of a RayJob, as far as its end is concerned."""

    metadata: Owned = Owned()
    spec: Groups = Groups()

    @property
    def controller(self) -> Owner | None:
        """The one object that looks after it, if there is one."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)

    @property
    def has_workers(self) -> bool:
        """Whether some group of workers is not suspended."""
        return not all(group.suspend for group in self.spec.worker_group_specs)


class JanitorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation decides about endings."""

    gates: Gates = Gates()
    deletes_jobs: bool = False  # with shutdownAfterJobFinishes the RayJob itself goes, not only its cluster
    cleans_redis: Way = "job"
    patience_seconds: int = PATIENCE_SECONDS


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A RayJob and its cluster, if that is still there."""

    job: EndingJob | RayJob
    cluster: JobCluster | None = None

    @property
    def is_ours(self) -> bool:
        """Whether anything of it may be deleted: it has ended, is ours to look after, and stays."""
        job = self.job
        is_managed = job.spec.managed_by in {None, MANAGED_BY_KUBERAY}
        has_ended = job.status.job_deployment_status in ENDED and job.status.end_time is not None
        return is_managed and has_ended and job.metadata.deletion_timestamp is None and not job.spec.cluster_selector


class NodeMeta(Wire, frozen=True, kw_only=True):
    """Which pod it is, and of which cluster."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Of the labels, those that say where it belongs."""
        msgspec.structs.force_setattr(self, "labels", _only(self.labels, (labels.CLUSTER, labels.NODE_TYPE)))


class Node(Wire, frozen=True, kw_only=True):
    """A Ray pod, as far as its deletion is concerned."""

    metadata: NodeMeta = msgspec.field(default_factory=NodeMeta)


class FadingCluster(RayCluster, frozen=True, kw_only=True):
    """A RayCluster; of one that does not wait for us nothing is kept but its metadata."""

    def __post_init__(self) -> None:
        """Forget the status, and the spec unless it will be needed."""
        msgspec.structs.force_setattr(self, "status", _NO_STATUS)
        if annotations.CLUSTER_FINALIZER not in self.metadata.finalizers:
            msgspec.structs.force_setattr(self, "spec", _NO_SPEC)


class Fading(msgspec.Struct, frozen=True, kw_only=True):
    """A RayCluster that is being deleted, with what is left of it."""

    cluster: RayCluster
    heads: tuple[Node, ...] = ()
    workers: tuple[Node, ...] = ()
    cleanup: Job | None = None


def _only(found: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    return {name: found[name] for name in wanted if name in found}
