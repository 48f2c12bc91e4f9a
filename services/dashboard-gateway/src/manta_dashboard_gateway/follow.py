"""What is to be polled, derived from the feed alone; pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from manta_common.api.core import StatusCondition
from manta_common.api.labels import ORIGINATED_FROM_KIND
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.keys import Key
from manta_common.kinds import RAYSERVICE
from manta_common.store import Held
from manta_dashboard_gateway.seen import Cluster, Job, RayService

FOLLOWED: Final = frozenset({"Initializing", "Waiting", "Running"})
HEAD_READY: Final = "HeadPodReady"
TRUE: Final = "True"
NEW_FOR: Final = timedelta(seconds=30)


class FollowedJob(msgspec.Struct, frozen=True, order=True):
    """One RayJob and the job of Ray that it waits for."""

    key: Key
    uid: str
    job_id: str
    partition: int = 0  # where its report belongs


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be learnt of Serve on a cluster, and what its RayService wants there: a change is worth a look."""

    ready: bool = True  # whether the head is there to be asked for applications
    proxy: bool = True  # whether anybody wants to know of the proxy in the head pod
    config: str = ""
    capacity: int | None = None


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be asked of one cluster's dashboard. `new_until`: until then every moment counts.

    `untold`: nobody has told Serve yet what to run, so that there is nothing to learn of it until somebody does.
    """

    jobs: tuple[FollowedJob, ...] = ()
    serve: Serving | None = None
    new_until: datetime | None = None
    untold: bool = False

    def __bool__(self) -> bool:
        return bool(self.jobs or self.serve)


def followed(cluster: Cluster, jobs: Iterable[Held[Job]], services: Iterable[RayService] = ()) -> Followed:
    """What the state of a cluster, and of the jobs and RayServices that name it, says is to be followed."""
    if cluster.metadata.deletion_timestamp:
        return Followed()
    waiting = [job for job in jobs if is_followed(job.object)]
    found = sorted(FollowedJob(job.key, job.uid, job.object.status.job_id, job.partition) for job in waiting)
    moments = [*(job.object.status.start_time for job in waiting), _head_ready_at(cluster)]
    latest = max((moment for moment in moments if moment), default=None)
    named = list(services)
    serving = _serving(cluster, named)
    untold = not found and any(not each.clusters[cluster.metadata.key].application_statuses for each in named)
    new_until = latest + NEW_FOR if latest else None
    return Followed(jobs=tuple(found), serve=serving, new_until=new_until, untold=untold)


def is_followed(job: Job) -> bool:
    """Whether there is something to learn of a job: its cluster and job id are known, and it has not ended."""
    status = job.status
    ours = job.spec.managed_by in (None, "", MANAGED_BY_KUBERAY)
    known = status.job_id and status.ray_cluster_name and status.dashboard_url
    alive = status.job_deployment_status in FOLLOWED and not job.metadata.deletion_timestamp
    return bool(ours and known and alive)


def _serving(cluster: Cluster, services: Iterable[RayService]) -> Serving | None:
    """What to learn of Serve: nothing, unless the cluster is a RayService's and has a head to be asked.

    A head pod that is not ready (any more) is still asked for its proxy, which gets requests by its label.
    """
    ready = _is_ready(cluster)
    if cluster.metadata.labels.get(ORIGINATED_FROM_KIND) != RAYSERVICE.kind:
        return None
    if not ready and not cluster.status.head.pod_ip:
        return None
    for service in services:
        spec, capacity = service.spec, service.clusters[cluster.metadata.key].target_capacity
        wanted = not spec.exclude_head_pod_from_serve_svc
        return Serving(ready=ready, proxy=wanted, config=spec.serve_config_v2, capacity=capacity)
    return Serving(ready=ready)


def _is_ready(cluster: Cluster) -> bool:
    """By its condition, or where conditions are switched off, by there being a pod."""
    if any(found.type == HEAD_READY for found in cluster.status.conditions):
        return bool(_head_ready(cluster))
    return bool(cluster.status.head.pod_ip)


def _head_ready_at(cluster: Cluster) -> datetime | None:
    return next((found.last_transition_time for found in _head_ready(cluster)), None)


def _head_ready(cluster: Cluster) -> list[StatusCondition]:
    return [found for found in cluster.status.conditions if found.type == HEAD_READY and found.status == TRUE]
