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
from manta_common.kinds import RAYCLUSTER, RAYJOB, SERVICE

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


class Head(Wire, frozen=True, kw_only=True):
    """The head group."""

    head_service: NamedService | None = None


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


class Outline(Wire, frozen=True, kw_only=True):
    """A report of ours, of which only the existence matters."""


def cluster_of(service: Service) -> Key:
    """The cluster that a Service leads to."""
    return Key(service.metadata.namespace, service.spec.selector.get(CLUSTER, ""))


CLUSTERS = Source(RAYCLUSTER.name, Cluster)
JOBS = Source(RAYJOB.name, Job, {BY_CLUSTER: lambda job: [job.cluster]})
SERVICES = Source(SERVICE.name, Service, {BY_CLUSTER: lambda service: [cluster_of(service)]})
JOB_REPORTS = Source("jobinfo", Outline)
SERVE_REPORTS = Source("serveinfo", Outline)
SOURCES: Sequence[Source[Any]] = (CLUSTERS, JOBS, SERVICES, JOB_REPORTS, SERVE_REPORTS)
