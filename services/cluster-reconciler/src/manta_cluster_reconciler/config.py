"""The settings of the cluster-reconciler: KubeRay's switches under Manta's names and KubeRay's, and our limits."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

import manta_common.config
from manta_cluster_reconciler.rules import Rules
from manta_common.api import env
from manta_common.api.names import DEFAULT_DOMAIN
from manta_common.ray.settings import BatchScheduler, RaySettings

_Objects = tuple[dict[str, Any], ...]
_OBJECTS = "a list of objects as JSON or YAML"


def _kuberay(name: str, meaning: str) -> Meta:
    """A switch that KubeRay's operator has too; its variable counts unless ours is set."""
    return Meta(description=f"{meaning} KubeRay's `{name}`.", extra={"also": name})


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """How Ray clusters are built and looked after."""

    SERVICE: ClassVar[str] = "cluster-reconciler"

    batch_scheduler: Annotated[
        BatchScheduler, Meta(description="The scheduler that pods are left to. KubeRay's `--batch-scheduler`.")
    ] = ""
    cluster_domain: Annotated[str, _kuberay(env.OPERATOR_CLUSTER_DOMAIN, "The cluster's domain in DNS.")] = (
        DEFAULT_DOMAIN
    )
    init_container: Annotated[
        bool, _kuberay(env.OPERATOR_INIT_CONTAINER, "Workers wait in an init container until the head answers.")
    ] = True
    probes: Annotated[bool, _kuberay(env.OPERATOR_PROBES, "Ray containers get probes where they have none.")] = True
    head_cluster_ip: Annotated[
        bool, _kuberay(env.OPERATOR_HEAD_CLUSTER_IP, "Head Services get an address of their own.")
    ] = False
    login_shell: Annotated[bool, _kuberay(env.OPERATOR_LOGIN_SHELL, "Ray is started by a login shell.")] = False
    fixed_head_name: Annotated[
        bool, _kuberay(env.OPERATOR_FIXED_HEAD_NAME, "Head pods have a name without a tail.")
    ] = False
    ingress_on_openshift: Annotated[
        bool, _kuberay(env.OPERATOR_INGRESS_ON_OPENSHIFT, "On OpenShift too, dashboards get an Ingress, not a Route.")
    ] = False
    random_pod_delete: Annotated[
        bool, _kuberay(env.OPERATOR_RANDOM_POD_DELETE, "With the autoscaler too, surplus workers are deleted.")
    ] = False
    redis_cleanup: Annotated[
        bool, _kuberay(env.OPERATOR_REDIS_CLEANUP, "Clusters with Redis get the finalizer for its cleanup.")
    ] = True
    resync_seconds: Annotated[
        int, _kuberay(env.OPERATOR_REQUEUE_SECONDS, "How often children that are not watched are looked at; 0: never.")
    ] = 600
    default_container_envs: Annotated[
        _Objects, Meta(description="Variables that Ray containers get.", extra={"expected": _OBJECTS})
    ] = ()
    default_pod_annotations: Annotated[
        dict[str, str], Meta(description="Annotations that pods get where they lack them.")
    ] = msgspec.field(default_factory=dict)
    default_pod_labels: Annotated[dict[str, str], Meta(description="Labels that pods get where they lack them.")] = (
        msgspec.field(default_factory=dict)
    )
    head_sidecar_containers: Annotated[
        _Objects, Meta(description="Containers that head pods get beside theirs.", extra={"expected": _OBJECTS})
    ] = ()
    worker_sidecar_containers: Annotated[
        _Objects, Meta(description="Containers that worker pods get beside theirs.", extra={"expected": _OBJECTS})
    ] = ()
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="Clusters that are worked on at the same time.")] = 64
    in_flight: Annotated[int, Meta(ge=1, le=1000, description="Writes for one cluster at the same time.")] = 50

    def rules(self, *, openshift: bool, cert_manager: bool) -> Rules:
        """What decisions depend on, with what the API server was found to serve."""
        ray = RaySettings(
            gates=self.feature_gates,
            cluster_domain=self.cluster_domain,
            init_container=self.init_container,
            probes=self.probes,
            head_cluster_ip=self.head_cluster_ip,
            login_shell=self.login_shell,
            fixed_head_name=self.fixed_head_name,
            container_envs=self.default_container_envs,
            pod_annotations=self.default_pod_annotations,
            pod_labels=self.default_pod_labels,
            head_sidecars=self.head_sidecar_containers,
            worker_sidecars=self.worker_sidecar_containers,
            batch_scheduler=self.batch_scheduler,
            openshift=openshift,
            ingress_on_openshift=self.ingress_on_openshift,
            cert_manager=cert_manager,
        )
        return Rules(
            ray=ray,
            random_pod_delete=self.random_pod_delete,
            redis_cleanup=self.redis_cleanup,
            resync_seconds=self.resync_seconds,
            in_flight=self.in_flight,
        )
