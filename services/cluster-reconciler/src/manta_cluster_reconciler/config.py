"""The settings of the cluster-reconciler: KubeRay's switches under Manta's names and KubeRay's, and our limits."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

import manta_common.config
from manta_cluster_reconciler.rules import Rules
from manta_common.api import env
from manta_common.config import OBJECTS, Objects, kuberay


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """How Ray clusters are built and looked after."""

    SERVICE: ClassVar[str] = "cluster-reconciler"

    init_container: Annotated[
        bool, kuberay(env.OPERATOR_INIT_CONTAINER, "Workers wait in an init container until the head answers.")
    ] = True
    probes: Annotated[bool, kuberay(env.OPERATOR_PROBES, "Ray containers get probes where they have none.")] = True
    fixed_head_name: Annotated[bool, kuberay(env.OPERATOR_FIXED_HEAD_NAME, "Head pods have a name without a tail.")] = (
        False
    )
    ingress_on_openshift: Annotated[
        bool, kuberay(env.OPERATOR_INGRESS_ON_OPENSHIFT, "On OpenShift too, dashboards get an Ingress, not a Route.")
    ] = False
    random_pod_delete: Annotated[
        bool, kuberay(env.OPERATOR_RANDOM_POD_DELETE, "With the autoscaler too, surplus workers are deleted.")
    ] = False
    redis_cleanup: Annotated[
        bool, kuberay(env.OPERATOR_REDIS_CLEANUP, "Clusters with Redis get the finalizer for its cleanup.")
    ] = True
    resync_seconds: Annotated[
        int, kuberay(env.OPERATOR_REQUEUE_SECONDS, "How often children that are not watched are looked at; 0: never.")
    ] = 600
    head_sidecar_containers: Annotated[
        Objects, Meta(description="Containers that head pods get beside theirs.", extra={"expected": OBJECTS})
    ] = ()
    worker_sidecar_containers: Annotated[
        Objects, Meta(description="Containers that worker pods get beside theirs.", extra={"expected": OBJECTS})
    ] = ()
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="Clusters that are worked on at the same time.")] = 64
    in_flight: Annotated[int, Meta(ge=1, le=1000, description="Writes for one cluster at the same time.")] = 50

    def rules(self, *, openshift: bool, cert_manager: bool) -> Rules:
        """What decisions depend on, with what the API server was found to serve."""
        ray = msgspec.structs.replace(
            self.ray_settings(),
            init_container=self.init_container,
            probes=self.probes,
            fixed_head_name=self.fixed_head_name,
            head_sidecars=self.head_sidecar_containers,
            worker_sidecars=self.worker_sidecar_containers,
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
