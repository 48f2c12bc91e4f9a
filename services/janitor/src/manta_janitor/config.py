"""The settings of the janitor: KubeRay's switches under Manta's names and KubeRay's, and our own."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

import manta_common.config
from manta_common.api import env
from manta_common.api.wire import QUANTITY_PATTERN
from manta_common.config import OBJECTS, Objects, kuberay
from manta_common.ray.cleanup import DEADLINE_SECONDS
from manta_janitor.clusters import CleanupSettings
from manta_janitor.manifests import CleanupJob
from manta_janitor.observed import PATIENCE_SECONDS, JanitorSettings


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """What is deleted, and how."""

    SERVICE: ClassVar[str] = "janitor"

    delete_jobs: Annotated[
        bool,
        kuberay(env.OPERATOR_DELETE_JOB, "With `shutdownAfterJobFinishes` the RayJob goes too, not its cluster alone."),
    ] = False
    redis_cleanup: Annotated[
        bool, kuberay(env.OPERATOR_REDIS_CLEANUP, "A deleted cluster's keys are removed from Redis.")
    ] = True
    redis_cleanup_by: Annotated[
        Literal["job", "janitor"],
        Meta(description="Who removes them: a Job with the head's image, or the janitor itself, which reads Secrets."),
    ] = "job"
    redis_ca_file: Annotated[
        str, Meta(description="The CA of Redis' certificates for the janitor's own clean-up; empty is the system's.")
    ] = ""
    redis_cleanup_timeout_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=86400,
            description="How long a deleted cluster waits, unless its `ray.io/gcs-ft-deletion-timeout` says.",
        ),
    ] = PATIENCE_SECONDS
    cleanup_job_cpu: Annotated[
        str, Meta(pattern=QUANTITY_PATTERN, description="CPU that the Job asks for and may take.")
    ] = "200m"
    cleanup_job_memory: Annotated[
        str, Meta(pattern=QUANTITY_PATTERN, description="Memory that the Job asks for and may take.")
    ] = "256Mi"
    cleanup_job_deadline_seconds: Annotated[
        int, Meta(ge=1, le=86400, description="How long the Job may take before it has failed.")
    ] = DEADLINE_SECONDS
    cleanup_job_labels: Annotated[dict[str, str], Meta(description="Labels that the Job and its pod get.")] = (
        msgspec.field(default_factory=dict)
    )
    cleanup_job_tolerations: Annotated[
        Objects, Meta(description="Tolerations that its pod gets beside the head's.", extra={"expected": OBJECTS})
    ] = ()
    report_orphans: Annotated[
        bool,
        Meta(description="Ray pods, Services and Jobs whose owner is gone are told by event and metric, not deleted."),
    ] = False
    orphan_grace_seconds: Annotated[
        int, Meta(ge=1, le=86400, description="How long their owner must be gone; deleting a cluster takes its time.")
    ] = 600
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="Deletions at the same time.")] = 32

    def settings(self) -> CleanupSettings:
        """What decisions depend on."""
        janitor = JanitorSettings(
            gates=self.feature_gates,
            deletes_jobs=self.delete_jobs,
            cleans_redis=self.redis_cleanup_by if self.redis_cleanup else "none",
            patience_seconds=self.redis_cleanup_timeout_seconds,
        )
        job = CleanupJob(
            cpu=self.cleanup_job_cpu,
            memory=self.cleanup_job_memory,
            deadline_seconds=self.cleanup_job_deadline_seconds,
            labels=self.cleanup_job_labels,
            tolerations=self.cleanup_job_tolerations,
        )
        return CleanupSettings(janitor=janitor, ray=self.ray_settings(), job=job, redis_ca_file=self.redis_ca_file)
