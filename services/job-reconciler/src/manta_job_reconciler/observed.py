"""What is known of one RayJob when its next step is decided."""

from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from manta_common.api import annotations, labels
from manta_common.api.core import Job, Pod, Service
from manta_common.api.gates import Gates
from manta_common.api.names import MANAGED_BY_KUBERAY
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from manta_common.dashboard.reports import JobReport
from manta_common.ray.settings import RaySettings
from manta_job_reconciler.reasons import K8S_JOB_MODE, NEW, SIDECAR_MODE


class JobSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation decides about RayJobs."""

    ray: RaySettings = RaySettings()
    grace_seconds: int = 300
    status_check_seconds: int = 300
    delays_retries: bool = True

    @property
    def gates(self) -> Gates:
        """The feature gates."""
        return self.ray.gates


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One RayJob with everything that belongs to it; `report` is there only if it speaks of this very attempt."""

    job: RayJob
    cluster: RayCluster | None = None
    cluster_service: Service | None = None
    own_service: Service | None = None
    submitter: Job | None = None
    submitter_pods: tuple[Pod, ...] = ()
    pods: tuple[Pod, ...] = ()
    report: JobReport | None = None
    problem: tuple[str, str] | UnsetType | None = UNSET  # what is wrong with the job, if that was worked out already

    @property
    def head_pods(self) -> tuple[Pod, ...]:
        """The pods of the cluster's head."""
        return tuple(pod for pod in self.pods if pod.metadata.labels.get(labels.NODE_TYPE) == labels.HEAD)

    @property
    def spec(self) -> RayJobSpec:
        """What the job is to be."""
        return self.job.spec

    @property
    def status(self) -> RayJobStatus:
        """What the status says."""
        return self.job.status

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else looks after it."""
        return self.spec.managed_by not in {None, MANAGED_BY_KUBERAY}

    @property
    def is_deleting(self) -> bool:
        """Whether it is to go."""
        return self.job.metadata.deletion_timestamp is not None

    @property
    def is_untouched(self) -> bool:
        """Whether no reconciler has done anything for it yet: its first write is refused if that is not so."""
        return self.status.job_deployment_status == NEW and not self.status.failed and not self.has_finalizer

    @property
    def has_finalizer(self) -> bool:
        """Whether it cannot go without us."""
        return annotations.JOB_FINALIZER in self.job.metadata.finalizers

    @property
    def has_selector(self) -> bool:
        """Whether it runs on somebody else's cluster."""
        return bool(self.spec.cluster_selector)

    @property
    def has_submitter(self) -> bool:
        """Whether a process of its own submits."""
        return self.spec.submission_mode in {K8S_JOB_MODE, SIDECAR_MODE}

    def after(self, status: RayJobStatus) -> Self:
        """The same with another status."""
        return msgspec.structs.replace(self, job=msgspec.structs.replace(self.job, status=status), problem=UNSET)
