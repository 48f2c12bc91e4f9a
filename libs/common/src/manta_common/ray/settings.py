"""The operator's switches that shape what is built from a Ray cluster, with KubeRay's defaults."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.names import DEFAULT_DOMAIN

BatchScheduler = Literal["", "volcano", "yunikorn", "kai-scheduler", "scheduler-plugins"]


class RaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator decides for all Ray clusters."""

    gates: Gates = Gates()
    cluster_domain: str = DEFAULT_DOMAIN
    init_container: bool = True  # workers wait for the head's GCS
    probes: bool = True
    head_cluster_ip: bool = False  # the head Service is not headless
    login_shell: bool = False
    fixed_head_name: bool = False
    container_envs: tuple[Mapping[str, Any], ...] = ()
    pod_annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    pod_labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    head_sidecars: tuple[Mapping[str, Any], ...] = ()
    worker_sidecars: tuple[Mapping[str, Any], ...] = ()
    batch_scheduler: BatchScheduler = ""
    openshift: bool = False  # the API has OpenShift's groups
    ingress_on_openshift: bool = False
    cert_manager: bool = False  # the API has cert-manager's group

    @property
    def uses_routes(self) -> bool:
        """Whether the dashboard gets an OpenShift Route where others get an Ingress."""
        return self.openshift and not self.ingress_on_openshift

    @property
    def shell(self) -> tuple[str, str, str]:
        """The shell that runs Ray's commands."""
        return ("/bin/bash", "-cl" if self.login_shell else "-c", "--")
