"""RayCluster of `ray.io/v1`: its spec and status."""

from typing import Annotated, Literal

from msgspec import Raw, field

from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raygroups import HeadGroupSpec, WorkerGroupSpec
from manta_common.api.rayoptions import (
    AuthOptions,
    AutoscalerOptions,
    GcsFaultToleranceOptions,
    HistoryServerOptions,
    NetworkPolicyConfig,
    TLSOptions,
)
from manta_common.api.wire import EMPTY, Int32, Int64, Quantity, Time, Wire, doc, zero


class RayClusterUpgradeStrategy(Wire, frozen=True, kw_only=True):
    """What happens to the pods when the spec changes."""

    type: Annotated[
        Literal["Recreate", "None"] | None,
        doc("`Recreate` replaces all pods when the spec changes; absent and `None` leave them as they are."),
    ] = None


class RayClusterSpec(Wire, frozen=True, kw_only=True):
    """What a Ray cluster is to look like."""

    upgrade_strategy: Annotated[
        RayClusterUpgradeStrategy | None,
        doc("What happens to running pods when this spec changes; not for clusters of a RayJob or RayService."),
    ] = None
    auth_options: Annotated[AuthOptions | None, doc("How clients of the cluster prove who they are.")] = None
    suspend: Annotated[
        bool | None,
        doc("True deletes all pods and keeps the object; a suspended cluster resumes on an explicit false only."),
    ] = None
    managed_by: Annotated[
        str | None, doc("Which controller looks after the object; absent is the operator itself. Cannot be changed.")
    ] = None
    autoscaler_options: Annotated[
        AutoscalerOptions | None, doc("Settings of the autoscaler that runs beside the head.")
    ] = None
    head_service_annotations: Annotated[
        dict[str, str], doc("Annotations of the head Service; they win over those of `headService`.")
    ] = field(default_factory=dict)
    enable_in_tree_autoscaling: Annotated[
        bool | None, doc("Run Ray's autoscaler, which then sets the number of workers.")
    ] = None
    gcs_fault_tolerance_options: Annotated[
        GcsFaultToleranceOptions | None,
        doc("Keep the state of Ray's GCS outside the head, so that it survives a restart; `{}` already turns it on."),
    ] = None
    history_server_options: Annotated[
        HistoryServerOptions | None, doc("Collect logs and events for the history server.")
    ] = None
    network_policy: Annotated[
        NetworkPolicyConfig | None, doc("Make NetworkPolicies that shut the cluster off; `{}` denies all.")
    ] = None
    tls_options: Annotated[TLSOptions | None, doc("Encrypt the traffic between the cluster's nodes.")] = None
    head_group_spec: Annotated[HeadGroupSpec, doc("The head node.")]
    ray_version: Annotated[str, doc("The Ray version in the images; decides which features may be used.")] = ""
    worker_group_specs: Annotated[tuple[WorkerGroupSpec, ...], doc("The groups of worker nodes.")] = ()


class HeadInfo(Wire, frozen=True, kw_only=True):
    """Where the head is to be found."""

    pod_ip: Annotated[str, doc("Address of the head pod.")] = field(default="", name="podIP")
    service_ip: Annotated[
        str, doc("Address of the head Service, or of the head pod where the Service is headless.")
    ] = field(default="", name="serviceIP")
    pod_name: Annotated[str, doc("Name of the head pod.")] = ""
    service_name: Annotated[str, doc("Name of the head Service.")] = ""


class RayClusterStatus(Wire, frozen=True, kw_only=True):
    """What was last seen of a Ray cluster."""

    state: Annotated[str, doc("`ready`, `suspended` or absent; the conditions say more.")] = ""
    desired_cpu: Annotated[Quantity, doc("CPUs that head and desired workers ask for.")] = field(
        default_factory=zero, name="desiredCPU"
    )
    desired_memory: Annotated[Quantity, doc("Memory that head and desired workers ask for.")] = field(
        default_factory=zero
    )
    desired_gpu: Annotated[Quantity, doc("GPUs that head and desired workers ask for.")] = field(
        default_factory=zero, name="desiredGPU"
    )
    desired_tpu: Annotated[Quantity, doc("TPUs that head and desired workers ask for.")] = field(
        default_factory=zero, name="desiredTPU"
    )
    last_update_time: Annotated[Time | None, doc("When this status was last written.", nullable=True)] = None
    state_transition_times: Annotated[dict[str, Time], doc("When each state was last entered.")] = field(
        default_factory=dict
    )
    endpoints: Annotated[dict[str, str], doc("Port of each named endpoint of the head Service.")] = field(
        default_factory=dict
    )
    head: Annotated[HeadInfo, doc("Where the head is to be found.")] = field(default_factory=HeadInfo)
    reason: Annotated[str, doc("Why the state is what it is; no longer written.")] = ""
    conditions: Annotated[
        tuple[Condition, ...],
        doc("The state, one aspect at a time.", list_type="map", list_map_keys=["type"]),
    ] = ()
    ready_worker_replicas: Annotated[Int32, doc("Worker pods that run and are ready.")] = 0
    available_worker_replicas: Annotated[Int32, doc("Worker pods that run.")] = 0
    desired_worker_replicas: Annotated[Int32, doc("Worker pods that should be there.")] = 0
    min_worker_replicas: Annotated[Int32, doc("Fewest worker pods the groups allow.")] = 0
    max_worker_replicas: Annotated[Int32, doc("Most worker pods the groups allow.")] = 0
    observed_generation: Annotated[Int64, doc("The generation of the spec that this status speaks of.")] = 0


def empty_spec() -> RayClusterSpec:
    """The spec of an object that was stored without one: the schema admits it, and validation finds no container."""
    return RayClusterSpec(head_group_spec=HeadGroupSpec(template=Raw(EMPTY)))


class RayCluster(Wire, frozen=True, kw_only=True):
    """A Ray cluster: one head and any number of workers."""

    api_version: str = field(default_factory=lambda: "ray.io/v1")
    kind: str = field(default_factory=lambda: "RayCluster")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[RayClusterSpec, doc("What the cluster is to look like.")] = field(default_factory=empty_spec)
    status: Annotated[RayClusterStatus, doc("What was last seen of it.")] = field(default_factory=RayClusterStatus)
