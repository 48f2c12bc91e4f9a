"""Kubernetes' own kinds, trimmed to what Manta reads of them."""

from typing import Generic, Literal, TypeVar

from msgspec import Raw, field

from manta_common.api.meta import ObjectMeta
from manta_common.api.wire import Strings, Time, Wire

Kind = TypeVar("Kind")


class WatchEvent(Wire, Generic[Kind], frozen=True, kw_only=True):
    """One line of a watch; an `ERROR` line holds a `Status` and must be read as `WatchEvent[Status]`."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Kind


class Status(Wire, frozen=True, kw_only=True):
    """What the API server answers when it refuses."""

    code: int = 0
    reason: str = ""
    message: str = ""


class StateOfContainer(Wire, frozen=True, kw_only=True):
    """Why a container waits or how it ended; a running one says only since when."""

    reason: str = ""
    message: str = ""
    exit_code: int = 0
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(Wire, frozen=True, kw_only=True):
    """Exactly one of the three is set."""

    waiting: StateOfContainer | None = None
    running: StateOfContainer | None = None
    terminated: StateOfContainer | None = None


class ContainerStatus(Wire, frozen=True, kw_only=True):
    """How one container of a pod is."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)


class StatusCondition(Wire, frozen=True, kw_only=True):
    """A condition of one of Kubernetes' own kinds, which are laxer than those of `meta.Condition`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class ContainerName(Wire, frozen=True, kw_only=True):
    """A container of a running pod; the first one runs Ray."""

    name: str = ""
    image: str = ""


class PodSpec(Wire, frozen=True, kw_only=True):
    """What is read of the spec of a running pod."""

    node_name: str = ""
    restart_policy: str = ""
    containers: tuple[ContainerName, ...] = ()


class PodStatus(Wire, frozen=True, kw_only=True):
    """How a pod is."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = field(default="", name="podIP")
    start_time: Time | None = None
    conditions: tuple[StatusCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Wire, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class ServicePort(Wire, frozen=True, kw_only=True):
    """One port of a Service."""

    name: str = ""
    port: int = 0
    target_port: int | str = 0
    node_port: int = 0
    protocol: str = ""
    app_protocol: str | None = None


class ServiceSpec(Wire, frozen=True, kw_only=True):
    """Where a Service sends to."""

    type: str = ""
    cluster_ip: str = field(default="", name="clusterIP")
    selector: dict[str, str] = field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False


class Service(Wire, frozen=True, kw_only=True):
    """A Service."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ServiceSpec = field(default_factory=ServiceSpec)


class EndpointConditions(Wire, frozen=True, kw_only=True):
    """Whether an endpoint takes requests; unknown counts as no."""

    ready: bool | None = None


class Endpoint(Wire, frozen=True, kw_only=True):
    """One pod behind a Service."""

    conditions: EndpointConditions = field(default_factory=EndpointConditions)
    target_ref: "ObjectReference | None" = None


class EndpointSlice(Wire, frozen=True, kw_only=True):
    """Some of the pods behind a Service."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    endpoints: tuple[Endpoint, ...] | None = None  # Go writes null for none


class JobSpec(Wire, frozen=True, kw_only=True):
    """What is read of the spec of a Job."""

    backoff_limit: int | None = None
    suspend: bool | None = None


class JobStatus(Wire, frozen=True, kw_only=True):
    """How a Job is."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: Time | None = None
    completion_time: Time | None = None
    conditions: tuple[StatusCondition, ...] = ()


class Job(Wire, frozen=True, kw_only=True):
    """A Job of Kubernetes."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)


class Ingress(Wire, frozen=True, kw_only=True):
    """An Ingress; its spec is only ever compared and written as a whole."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Raw = Raw(b"{}")


class Secret(Wire, frozen=True, kw_only=True):
    """A Secret; it never shows its contents."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    type: str = ""
    data: dict[str, bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, keys={sorted(self.data)})"


class ClaimSpec(Wire, frozen=True, kw_only=True):
    """What a claim asks for."""

    storage_class_name: str | None = None
    access_modes: Strings = ()
    volume_name: str = ""


class ClaimStatus(Wire, frozen=True, kw_only=True):
    """Whether a claim is bound."""

    phase: str = ""


class PersistentVolumeClaim(Wire, frozen=True, kw_only=True):
    """A claim for a volume."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    status: ClaimStatus = field(default_factory=ClaimStatus)


class ObjectReference(Wire, frozen=True, kw_only=True):
    """Which object something is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Event(Wire, frozen=True, kw_only=True):
    """An event of `events.k8s.io/v1`."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = field(default_factory=ObjectReference)
    reporting_controller: str = ""
    event_time: Time | None = None
