"""What is known of one RayService when its next step is decided."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

import msgspec

from manta_common.api import annotations
from manta_common.api.core import Pod, Service
from manta_common.api.gates import Gates
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayservice import RayService, RayServiceSpec, RayServiceStatus, RayServiceStatuses
from manta_common.dashboard.reports import ServeReport
from manta_common.ray.settings import RaySettings
from manta_common.validation.service import is_incremental

HEAD_READY = "HeadPodReady"
READY = "Ready"  # of a pod
Role = Literal["active", "pending"]


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation decides about RayServices."""

    ray: RaySettings = RaySettings()
    zero_downtime: bool = True
    upgrade_deadline_seconds: int = 0

    @property
    def gates(self) -> Gates:
        """The feature gates."""
        return self.ray.gates


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What Serve on a cluster was last given by us, and when; or why it did not take it.

    `scaled_at` is when it was last told its capacity, with a configuration or without.
    """

    config: str = ""
    at: datetime | None = None
    scaled_at: datetime | None = None
    error: str = ""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two clusters; `report` is there only if it speaks of this very cluster.

    `head_ready` is what its head pod says, where the cluster has no conditions to say it.
    """

    role: Role
    status: RayServiceStatus
    cluster: RayCluster | None = None
    heads: tuple[Pod, ...] = ()
    servers: int = 0  # pods that are ready and that the serve Service would send to
    report: ServeReport | None = None
    submitted: Submitted = Submitted()
    head_ready: bool | None = None

    @property
    def name(self) -> str:
        """The cluster's name; empty when there is to be none."""
        return self.status.ray_cluster_name

    @property
    def is_head_ready(self) -> bool:
        """Whether Ray can be asked."""
        if self.head_ready is not None:
            return self.head_ready
        conditions = self.cluster.status.conditions if self.cluster else ()
        return any(each.type == HEAD_READY and each.status == "True" for each in conditions)

    @property
    def answer(self) -> ServeReport | None:
        """What Serve says, if it answers."""
        return self.report if self.report and self.report.trouble is None and self.is_head_ready else None


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One RayService with everything that belongs to it.

    `clusters` bear its labels; `doomed` tells when those that are not needed are to be deleted, by uid; `endpoints` are
    the pods behind each serve Service, as far as its slices were seen; `gateway` and `route` are asked for where
    traffic moves step by step.
    """

    service: RayService
    active: Side
    pending: Side
    clusters: tuple[RayCluster, ...] = ()
    services: Mapping[str, Service] = msgspec.field(default_factory=dict)
    endpoints: Mapping[str, int] = msgspec.field(default_factory=dict)
    doomed: Mapping[str, datetime] = msgspec.field(default_factory=dict)
    gateway: Mapping[str, Any] | None = None
    route: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.service.metadata.name

    @property
    def spec(self) -> RayServiceSpec:
        """What it is to be."""
        return self.service.spec

    @property
    def status(self) -> RayServiceStatuses:
        """What the status says."""
        return self.service.status

    @property
    def sides(self) -> tuple[Side, Side]:
        """The cluster that serves and the one to come."""
        return self.active, self.pending

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else looks after it."""
        return self.spec.managed_by not in {None, MANAGED_BY_KUBERAY}

    @property
    def is_deleting(self) -> bool:
        """Whether it is to go."""
        return self.service.metadata.deletion_timestamp is not None

    @property
    def has_finalizer(self) -> bool:
        """Whether it cannot go without us."""
        return annotations.SERVICE_FINALIZER in self.service.metadata.finalizers

    @property
    def is_untouched(self) -> bool:
        """Whether no reconciler has done anything for it yet: its first write is refused if that is not so."""
        return not self.has_finalizer and not self.status.conditions

    def is_incremental(self, settings: ServeSettings) -> bool:
        """Whether traffic moves step by step in an upgrade."""
        return is_incremental(self.spec, settings.gates)

    def told_by_pods(self) -> Self:
        """The same where clusters have no conditions: their head pods tell whether they are ready."""
        active, pending = (msgspec.structs.replace(side, head_ready=_runs(side.heads)) for side in self.sides)
        return msgspec.structs.replace(self, active=active, pending=pending)

    def after(self, status: RayServiceStatuses) -> Self:
        """The same with another status."""
        return msgspec.structs.replace(
            self,
            service=msgspec.structs.replace(self.service, status=status),
            active=msgspec.structs.replace(self.active, status=status.active_service_status),
            pending=msgspec.structs.replace(self.pending, status=status.pending_service_status),
        )


def _runs(heads: tuple[Pod, ...]) -> bool:
    return any(
        pod.status.phase == "Running"
        and any(each.type == READY and each.status == "True" for each in pod.status.conditions)
        for pod in heads
    )
