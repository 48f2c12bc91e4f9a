"""The head group and the worker groups of a Ray cluster."""

from typing import Annotated, Literal

from msgspec import UNSET, Raw, UnsetType, field

from manta_common.api.wire import Int32, Raws, Strings, Wire, doc

POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
SERVICE = "io.k8s.api.core.v1.Service"
INGRESS_TLS = "io.k8s.api.networking.v1.IngressTLS"


class IngressOptions(Wire, frozen=True, kw_only=True):
    """What the Ingress in front of the dashboard looks like."""

    host: Annotated[str | None, doc("Host name it answers for; absent is any.")] = None
    path: Annotated[str | None, doc("Path it answers for; absent is `/`.")] = None
    path_type: Annotated[
        Literal["Exact", "Prefix", "ImplementationSpecific"] | None,
        doc("How the path is matched; absent is `Prefix`."),
    ] = None
    tls: Annotated[Raws, doc("Certificates it presents.", kubernetes=INGRESS_TLS)] = ()


class HeadGroupSpec(Wire, frozen=True, kw_only=True):
    """The head node of a Ray cluster."""

    template: Annotated[Raw, doc("Template of the head pod; its first container runs Ray.", kubernetes=POD_TEMPLATE)]
    head_service: Annotated[
        Raw | UnsetType, doc("Template of the head Service; a RayService may not name it.", kubernetes=SERVICE)
    ] = UNSET
    enable_ingress: Annotated[bool | None, doc("Make an Ingress for the dashboard.")] = None
    ingress_options: Annotated[
        IngressOptions | None, doc("What that Ingress looks like; read only with `enableIngress`.")
    ] = None
    resources: Annotated[dict[str, str], doc("Ray resources of the node, instead of those in `rayStartParams`.")] = (
        field(default_factory=dict)
    )
    labels: Annotated[dict[str, str], doc("Ray labels of the node, and labels of its pod.")] = field(
        default_factory=dict
    )
    ray_start_params: Annotated[dict[str, str], doc("Flags of `ray start`, without the dashes.")] = field(
        default_factory=dict
    )
    service_type: Annotated[
        str,
        doc("Type of the head Service; absent and `ClusterIP` make it headless unless the operator is told not to."),
    ] = ""


class ScaleStrategy(Wire, frozen=True, kw_only=True):
    """How a worker group shrinks."""

    workers_to_delete: Annotated[Strings, doc("Names of worker pods to delete; written by Ray's autoscaler.")] = ()


class WorkerGroupSpec(Wire, frozen=True, kw_only=True):
    """One group of equal worker nodes."""

    suspend: Annotated[
        bool | None, doc("True deletes the group's pods; set by a RayJob's deletion policy, not with autoscaling.")
    ] = None
    group_name: Annotated[str, doc("Name of the group, unique in the cluster.")]
    replicas: Annotated[
        Int32 | None,
        doc("How many workers there are to be, brought within the two bounds.", default=0),
    ] = None
    min_replicas: Annotated[Int32 | None, doc("Fewest workers.", default=0, required=True)] = None
    max_replicas: Annotated[Int32 | None, doc("Most workers.", default=2**31 - 1, required=True)] = None
    idle_timeout_seconds: Annotated[
        Int32 | None,
        doc("How long a worker may idle before the autoscaler v2 takes it away; absent is the cluster's setting."),
    ] = None
    priority: Annotated[
        Int32 | None,
        doc("Priority of the group among others; a value other than 0 needs autoscaler v2 and Ray 2.56.", default=0),
    ] = None
    resources: Annotated[dict[str, str], doc("Ray resources of each node, instead of those in `rayStartParams`.")] = (
        field(default_factory=dict)
    )
    labels: Annotated[dict[str, str], doc("Ray labels of each node, and labels of its pod.")] = field(
        default_factory=dict
    )
    ray_start_params: Annotated[dict[str, str], doc("Flags of `ray start`, without the dashes.")] = field(
        default_factory=dict
    )
    template: Annotated[
        Raw, doc("Template of the group's pods; its first container runs Ray.", kubernetes=POD_TEMPLATE)
    ]
    scale_strategy: Annotated[ScaleStrategy, doc("How the group shrinks.")] = field(default_factory=ScaleStrategy)
    num_of_hosts: Annotated[Int32, doc("Pods that make up one worker.", default=1)] = 1
