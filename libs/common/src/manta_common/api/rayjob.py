"""RayJob of `ray.io/v1`: its spec and status."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raycluster import RayClusterSpec, RayClusterStatus
from manta_common.api.raygroups import POD_TEMPLATE
from manta_common.api.wire import Int32, Int64, NonNegative32, Positive32, Time, Wire, doc

DeletionPolicyType = Literal["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]


class SubmitterConfig(Wire, frozen=True, kw_only=True):
    """The Kubernetes Job that submits."""

    backoff_limit: Annotated[Int32 | None, doc("How often the submitting Job is tried again; absent is 2.")] = None


class DeletionPolicy(Wire, frozen=True, kw_only=True):
    """What is deleted when the job has ended."""

    policy: Annotated[DeletionPolicyType | None, doc("What is deleted; must be given.")] = None


class DeletionCondition(Wire, frozen=True, kw_only=True):
    """When a deletion rule applies: exactly one of the two states, and a time after it."""

    job_status: Annotated[Literal["SUCCEEDED", "FAILED"] | None, doc("How the Ray job ended.")] = None
    job_deployment_status: Annotated[Literal["Failed"] | None, doc("How the RayJob as a whole ended.")] = None
    ttl_seconds: Annotated[NonNegative32, doc("How long after that the rule applies.", default=0)] = 0


class DeletionRule(Wire, frozen=True, kw_only=True):
    """One thing to delete, and when."""

    policy: Annotated[DeletionPolicyType, doc("What is deleted.")]
    condition: Annotated[DeletionCondition, doc("When it is deleted.")]


class DeletionStrategy(Wire, frozen=True, kw_only=True):
    """What is deleted after the job: either rules, or one policy for success and one for failure."""

    on_success: Annotated[
        DeletionPolicy | None, doc("Deprecated in favour of `deletionRules`: what is deleted after success.")
    ] = None
    on_failure: Annotated[
        DeletionPolicy | None, doc("Deprecated in favour of `deletionRules`: what is deleted after failure.")
    ] = None
    deletion_rules: Annotated[
        Annotated[tuple[DeletionRule, ...], Meta(min_length=1)] | None,
        doc("What is deleted when; not with `shutdownAfterJobFinishes`.", list_type="atomic"),
    ] = None


class RayJobSpec(Wire, frozen=True, kw_only=True):
    """A job and the Ray cluster it runs on."""

    active_deadline_seconds: Annotated[
        Int32 | None, doc("How long the job may take from `status.startTime` on, before it has failed.")
    ] = None
    backoff_limit: Annotated[
        Int32 | None, doc("How often a failed job is tried again, each time on a new cluster.", default=0)
    ] = None
    ray_cluster_spec: Annotated[RayClusterSpec | None, doc("The cluster to make for the job.")] = None
    submitter_pod_template: Annotated[
        Raw | UnsetType, doc("Template of the submitting pod; not in SidecarMode.", kubernetes=POD_TEMPLATE)
    ] = UNSET
    metadata: Annotated[dict[str, str], doc("Metadata of the Ray job.")] = field(default_factory=dict)
    cluster_selector: Annotated[
        dict[str, str], doc("The existing cluster to use instead: its name under `ray.io/cluster`.")
    ] = field(default_factory=dict)
    submitter_config: Annotated[SubmitterConfig | None, doc("The submitting Job; not in SidecarMode.")] = None
    managed_by: Annotated[
        str | None, doc("Which controller looks after the object; absent is the operator itself. Cannot be changed.")
    ] = None
    deletion_strategy: Annotated[DeletionStrategy | None, doc("What is deleted when the job has ended.")] = None
    entrypoint: Annotated[str, doc("The command that the job runs.")] = ""
    runtime_env_yaml: Annotated[str, doc("Ray's runtime environment, as YAML.")] = field(
        default="", name="runtimeEnvYAML"
    )
    job_id: Annotated[
        str, doc("Submission id of the Ray job; absent is generated, and in InteractiveMode waited for.")
    ] = ""
    submission_mode: Annotated[
        str,
        doc("Who submits: `K8sJobMode`, `HTTPMode`, `InteractiveMode` or `SidecarMode`.", default="K8sJobMode"),
    ] = "K8sJobMode"
    entrypoint_resources: Annotated[str, doc("Ray resources that the command itself takes, as JSON.")] = ""
    entrypoint_num_cpus: Annotated[float, doc("CPUs that the command itself takes.")] = 0.0
    entrypoint_num_gpus: Annotated[float, doc("GPUs that the command itself takes.")] = 0.0
    ttl_seconds_after_finished: Annotated[
        Int32, doc("How long the cluster stays after the end; needs `shutdownAfterJobFinishes`.", default=0)
    ] = 0
    pre_running_deadline_seconds: Annotated[
        Positive32 | None,
        doc("How long the job may take from `status.startTime` on until it runs, before it has failed."),
    ] = None
    shutdown_after_job_finishes: Annotated[bool, doc("Delete the cluster after the end.")] = False
    suspend: Annotated[
        bool, doc("True deletes the cluster and waits; needs `shutdownAfterJobFinishes` and a cluster of its own.")
    ] = False


class RayJobStatusInfo(Wire, frozen=True, kw_only=True):
    """When the Ray job ran, by Ray's own clock."""

    start_time: Annotated[Time | None, doc("When the Ray job began.")] = None
    end_time: Annotated[Time | None, doc("When the Ray job ended.")] = None


class RayJobStatus(Wire, frozen=True, kw_only=True):
    """How far a job has come."""

    ray_job_info: Annotated[RayJobStatusInfo, doc("When the Ray job ran, by Ray's own clock.")] = field(
        default_factory=RayJobStatusInfo
    )
    job_id: Annotated[str, doc("Submission id of the Ray job.")] = ""
    ray_cluster_name: Annotated[str, doc("Name of the cluster it runs on.")] = ""
    dashboard_url: Annotated[str, doc("Address of that cluster's dashboard.")] = field(default="", name="dashboardURL")
    job_status: Annotated[str, doc("What Ray says: `PENDING`, `RUNNING`, `STOPPED`, `SUCCEEDED` or `FAILED`.")] = ""
    job_deployment_status: Annotated[
        str,
        doc(
            "How far the RayJob has come: `Initializing`, `Waiting`, `Running`, `Complete`, `Failed`, `Retrying`, "
            "`Suspending`, `Suspended` or `ValidationFailed`."
        ),
    ] = ""
    reason: Annotated[str, doc("Why it failed, in one word.")] = ""
    message: Annotated[str, doc("What Ray or the validation said last.")] = ""
    start_time: Annotated[Time | None, doc("When this attempt began.")] = None
    end_time: Annotated[Time | None, doc("When the RayJob completed or failed.")] = None
    succeeded: Annotated[Int32 | None, doc("Attempts that succeeded.", default=0)] = None
    failed: Annotated[Int32 | None, doc("Attempts that failed.", default=0)] = None
    ray_cluster_status: Annotated[RayClusterStatus, doc("Status of the cluster it runs on.")] = field(
        default_factory=RayClusterStatus
    )
    job_status_check_failure_start_time: Annotated[
        Time | None, doc("Since when the dashboard has not answered; absent while it does.")
    ] = None
    observed_generation: Annotated[Int64, doc("The generation of the spec that this status speaks of.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        doc("The state, one aspect at a time.", list_type="map", list_map_keys=["type"], ours=True),
    ] = ()


class RayJob(Wire, frozen=True, kw_only=True):
    """A job that is submitted to a Ray cluster, which may be made for it."""

    api_version: str = field(default_factory=lambda: "ray.io/v1")
    kind: str = field(default_factory=lambda: "RayJob")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[RayJobSpec, doc("The job and its cluster.")] = field(default_factory=RayJobSpec)
    status: Annotated[RayJobStatus, doc("How far it has come.")] = field(default_factory=RayJobStatus)
