"""RayService of `ray.io/v1`: its spec and status."""

from typing import Annotated

from msgspec import UNSET, Raw, UnsetType, field

from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raycluster import RayClusterSpec, RayClusterStatus, empty_spec
from manta_common.api.raygroups import SERVICE
from manta_common.api.wire import Int32, Int64, NonNegative32, Time, Wire, doc


class ClusterUpgradeOptions(Wire, frozen=True, kw_only=True):
    """The pace of an incremental upgrade."""

    max_surge_percent: Annotated[
        Int32 | None, doc("How much target capacity may change in one step, in percent.", default=100)
    ] = None
    step_size_percent: Annotated[Int32, doc("How much traffic moves in one step, in percent.")]
    interval_seconds: Annotated[Int32, doc("How long to wait between two steps.")]
    gateway_class_name: Annotated[str, doc("Class of the Gateway that divides the traffic.")]


class RayServiceUpgradeStrategy(Wire, frozen=True, kw_only=True):
    """What happens when the cluster's spec changes."""

    type: Annotated[
        str | None,
        doc("`NewCluster`, `NewClusterWithIncrementalUpgrade` or `None`; absent is the operator's setting."),
    ] = None
    cluster_upgrade_options: Annotated[
        ClusterUpgradeOptions | None, doc("The pace of `NewClusterWithIncrementalUpgrade`.")
    ] = None


class RayServiceSpec(Wire, frozen=True, kw_only=True):
    """Serve applications and the Ray cluster they run on."""

    ray_cluster_deletion_delay_seconds: Annotated[
        NonNegative32 | None, doc("How long a replaced cluster stays; absent is 60.")
    ] = None
    service_unhealthy_second_threshold: Annotated[Int32 | None, doc("Deprecated and without effect.")] = None
    deployment_unhealthy_second_threshold: Annotated[Int32 | None, doc("Deprecated and without effect.")] = None
    serve_service: Annotated[Raw | UnsetType, doc("Template of the Service for Serve.", kubernetes=SERVICE)] = UNSET
    upgrade_strategy: Annotated[
        RayServiceUpgradeStrategy | None, doc("What happens when `rayClusterConfig` changes.")
    ] = None
    managed_by: Annotated[
        str | None, doc("Which controller looks after the object; absent is the operator itself. Cannot be changed.")
    ] = None
    serve_config_v2: Annotated[str, doc("The Serve applications, as YAML.")] = ""
    # Required in v1, but an object made through v1alpha1 may lack it, and must not be unreadable.
    ray_cluster_config: Annotated[RayClusterSpec, doc("The cluster that serves.", required=True)] = field(
        default_factory=empty_spec
    )
    exclude_head_pod_from_serve_svc: Annotated[bool, doc("Send no requests to the head.")] = False
    suspend: Annotated[bool, doc("True deletes all that the RayService owns and keeps the object.")] = False


class ServeDeploymentStatus(Wire, frozen=True, kw_only=True):
    """How one deployment of an application is."""

    status: Annotated[str, doc("`UPDATING`, `HEALTHY` or `UNHEALTHY`.")] = ""
    message: Annotated[str, doc("What Serve says of it.")] = ""


class AppStatus(Wire, frozen=True, kw_only=True):
    """How one Serve application is."""

    serve_deployment_statuses: Annotated[dict[str, ServeDeploymentStatus], doc("Its deployments, by name.")] = field(
        default_factory=dict
    )
    status: Annotated[
        str,
        doc("`NOT_STARTED`, `DEPLOYING`, `RUNNING`, `DEPLOY_FAILED`, `DELETING` or `UNHEALTHY`."),
    ] = ""
    message: Annotated[str, doc("What Serve says of it.")] = ""


class RayServiceStatus(Wire, frozen=True, kw_only=True):
    """One of the two clusters of a RayService: the one that serves, or the one to come."""

    application_statuses: Annotated[dict[str, AppStatus], doc("Its applications, by name.")] = field(
        default_factory=dict
    )
    target_capacity: Annotated[Int32 | None, doc("Share of its capacity that Serve is to use, in percent.")] = None
    traffic_routed_percent: Annotated[Int32 | None, doc("Share of the traffic it gets, in percent.")] = None
    last_traffic_migrated_time: Annotated[Time | None, doc("When traffic last moved to or from it.")] = None
    ray_cluster_name: Annotated[str, doc("Name of the cluster.")] = ""
    ray_cluster_status: Annotated[RayClusterStatus, doc("Status of the cluster.")] = field(
        default_factory=RayClusterStatus
    )


class RayServiceStatuses(Wire, frozen=True, kw_only=True):
    """What was last seen of a RayService."""

    conditions: Annotated[
        tuple[Condition, ...], doc("The state, one aspect at a time.", list_type="map", list_map_keys=["type"])
    ] = ()
    last_update_time: Annotated[Time | None, doc("When this status was last written.")] = None
    service_status: Annotated[str, doc("`Running` while there are endpoints, else absent.")] = ""
    active_service_status: Annotated[RayServiceStatus, doc("The cluster that serves.")] = field(
        default_factory=RayServiceStatus
    )
    pending_service_status: Annotated[RayServiceStatus, doc("The cluster that is to take over.")] = field(
        default_factory=RayServiceStatus
    )
    num_serve_endpoints: Annotated[Int32, doc("Pods that answer requests.")] = 0
    observed_generation: Annotated[Int64, doc("The generation of the spec that this status speaks of.")] = 0


def empty_service() -> RayServiceSpec:
    """The spec of an object that was stored without one."""
    return RayServiceSpec(ray_cluster_config=empty_spec())


class RayService(Wire, frozen=True, kw_only=True):
    """Serve applications on a Ray cluster that is replaced without a pause."""

    api_version: str = field(default_factory=lambda: "ray.io/v1")
    kind: str = field(default_factory=lambda: "RayService")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[RayServiceSpec, doc("The applications and their cluster.")] = field(default_factory=empty_service)
    status: Annotated[RayServiceStatuses, doc("What was last seen of it.")] = field(default_factory=RayServiceStatuses)
