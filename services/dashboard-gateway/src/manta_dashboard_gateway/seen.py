"""What the gateway reads of the feed: a few fields of each kind, so that thousands of objects need little memory."""

from collections.abc import Sequence
from typing import Any

from msgspec import field

from manta_common.api.core import Service, StatusCondition
from manta_common.api.labels import CLUSTER
from manta_common.api.raycluster import HeadInfo
from manta_common.api.rayoptions import AuthOptions, TLSOptions
from manta_common.api.wire import Time, Wire
from manta_common.feed import Source
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYJOB, RAYSERVICE, SERVICE

BY_CLUSTER = "cluster"


class Meta(Wire, frozen=True, kw_only=True):
    """Who an object is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    deletion_timestamp: Time | None = None

    @property
    def key(self) -> Key:
        """Its key."""
        return Key(self.namespace, self.name)


class NamedService(Wire, frozen=True, kw_only=True):
    """The template of a head Service, of which only the name matters here."""

    metadata: Meta = field(default_factory=Meta)


class Port(Wire, frozen=True, kw_only=True):
    """A port of a container."""

    name: str = ""
    container_port: int = 0


class Container(Wire, frozen=True, kw_only=True):
    """A container, of which only the ports matter here."""

    ports: tuple[Port, ...] = ()


class PodSpec(Wire, frozen=True, kw_only=True):
    """What matters of a pod's spec."""

    containers: tuple[Container, ...] = ()


class Template(Wire, frozen=True, kw_only=True):
    """A pod's template."""

    spec: PodSpec = field(default_factory=PodSpec)


class Head(Wire, frozen=True, kw_only=True):
    """The head group."""

    head_service: NamedService | None = None
    template: Template = field(default_factory=Template)


class ClusterSpec(Wire, frozen=True, kw_only=True):
    """What matters of a cluster's spec."""

    auth_options: AuthOptions | None = None
    tls_options: TLSOptions | None = None
    head_group_spec: Head = field(default_factory=Head)


class ClusterStatus(Wire, frozen=True, kw_only=True):
    """What matters of a cluster's status."""

    head: HeadInfo = field(default_factory=HeadInfo)
    conditions: tuple[StatusCondition, ...] = ()


class Cluster(Wire, frozen=True, kw_only=True):
    """A RayCluster."""

    metadata: Meta = field(default_factory=Meta)
    spec: ClusterSpec = field(default_factory=ClusterSpec)
    status: ClusterStatus = field(default_factory=ClusterStatus)


class JobSpec(Wire, frozen=True, kw_only=True):
    """What matters of a job's spec."""

    managed_by: str | None = None


class JobStatus(Wire, frozen=True, kw_only=True):
    """What matters of a job's status."""

    job_id: str = ""
    ray_cluster_name: str = ""
    dashboard_url: str = field(default="", name="dashboardURL")
    job_deployment_status: str = ""
    start_time: Time | None = None


class Job(Wire, frozen=True, kw_only=True):
    """A RayJob."""

    metadata: Meta = field(default_factory=Meta)
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)

    @property
    def cluster(self) -> Key:
        """The cluster it runs on."""
        return Key(self.metadata.namespace, self.status.ray_cluster_name)


class RayServiceSpec(Wire, frozen=True, kw_only=True):
    """What matters of a RayService's spec."""

    serve_config_v2: str = ""
    exclude_head_pod_from_serve_svc: bool = False


class Outline(Wire, frozen=True, kw_only=True):
    """Something of which only the existence matters."""


class RayServiceCluster(Wire, frozen=True, kw_only=True):
    """One of the two clusters of a RayService; of its applications only the names matter."""

    ray_cluster_name: str = ""
    target_capacity: int | None = None
    application_statuses: dict[str, Outline] = field(default_factory=dict)


class RayServiceStatus(Wire, frozen=True, kw_only=True):
    """What matters of a RayService's status."""

    active_service_status: RayServiceCluster = field(default_factory=RayServiceCluster)
    pending_service_status: RayServiceCluster = field(default_factory=RayServiceCluster)


class RayService(Wire, frozen=True, kw_only=True):
    """A RayService."""

    metadata: Meta = field(default_factory=Meta)
    spec: RayServiceSpec = field(default_factory=RayServiceSpec)
    status: RayServiceStatus = field(default_factory=RayServiceStatus)

    @property
    def clusters(self) -> dict[Key, RayServiceCluster]:
        """The cluster that serves and the one to come, as far as there are."""
        both = (self.status.active_service_status, self.status.pending_service_status)
        return {Key(self.metadata.namespace, one.ray_cluster_name): one for one in both if one.ray_cluster_name}


def cluster_of(service: Service) -> Key:
    """The cluster that a Service leads to."""
    return Key(service.metadata.namespace, service.spec.selector.get(CLUSTER, ""))


CLUSTERS = Source(RAYCLUSTER.name, Cluster)
JOBS = Source(RAYJOB.name, Job, {BY_CLUSTER: lambda job: [job.cluster]})
SERVICES = Source(SERVICE.name, Service, {BY_CLUSTER: lambda service: [cluster_of(service)]})
RAYSERVICES = Source(RAYSERVICE.name, RayService, {BY_CLUSTER: lambda service: service.clusters})
JOB_REPORTS = Source("jobinfo", Outline, by_version=True)
SERVE_REPORTS = Source("serveinfo", Outline, by_version=True)
SOURCES: Sequence[Source[Any]] = (CLUSTERS, JOBS, SERVICES, RAYSERVICES, JOB_REPORTS, SERVE_REPORTS)
