"""The settings that every service has; a service's own Config adds to them and names its SERVICE."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from manta_common.api import env
from manta_common.api.gates import Gates
from manta_common.api.names import DEFAULT_DOMAIN
from manta_common.ray.settings import BatchScheduler, RaySettings
from manta_common.settings.fields import Settings, between
from manta_common.settings.load import changed, load, shown
from manta_common.settings.values import Address, Secret

__all__ = ["OBJECTS", "Address", "Config", "Objects", "Secret", "between", "changed", "kuberay", "load", "shown"]

_Url = Annotated[str, Meta(pattern=r"^(nats|tls|ws|wss)://\S+$", extra={"expected": "URLs such as nats://nats:4222"})]
_Namespace = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", extra={"expected": "namespaces"})]
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LISTEN = "an address such as :8080 or 127.0.0.1:8080"
_REPLICAS = "1, 3 or 5 (of an even number, half cannot decide), or keep"
_GATES = "gates such as RayCronJob=true,RayClusterMTLS=false"
Objects = tuple[dict[str, Any], ...]
OBJECTS = "a list of objects as JSON or YAML"


def kuberay(name: str, meaning: str) -> Meta:
    """A switch that KubeRay's operator has too; its variable counts unless ours is set."""
    return Meta(description=f"{meaning} KubeRay's `{name}`.", extra={"also": name})


class Config(Settings, frozen=True, kw_only=True, rename="camel"):
    """What every service must know."""

    nats_urls: Annotated[
        tuple[_Url, ...], Meta(description="Where NATS answers, with `user:password@` if it asks for that.")
    ] = ("nats://127.0.0.1:4222",)
    nats_credentials_file: Annotated[
        str, Meta(description="A `.creds` file with JWT and key to connect to NATS with; none when empty.")
    ] = ""
    nats_ca_file: Annotated[
        str, Meta(description="Certificates (PEM) that NATS' own is checked by; the system's when empty.")
    ] = ""
    nats_replicas: Annotated[
        Literal["keep", 1, 3, 5],
        Meta(
            description="NATS servers that keep each stream; `keep` leaves those that exist as they are, new get 1.",
            extra={"expected": _REPLICAS},
        ),
    ] = "keep"
    kubeconfig: Annotated[
        str,
        Meta(description="A kubeconfig file; when empty `KUBECONFIG`, the pod's own account, then `~/.kube/config`."),
    ] = ""
    kube_qps: Annotated[
        float, Meta(ge=0, description="Most calls per second to the API server; 0 is no limit of our own.")
    ] = 0
    kube_burst: Annotated[
        int, Meta(ge=1, description="Calls that may be made at once before `MANTA_KUBE_QPS` holds them back.")
    ] = 200
    watch_namespaces: Annotated[
        tuple[_Namespace, ...], Meta(description="The namespaces to look after; all when empty.")
    ] = ()
    partitions: Annotated[
        int,
        Meta(
            ge=1,
            le=1024,
            description="Into how many parts the work is divided; the same for all services, fixed at installation.",
        ),
    ] = 32
    feature_gates: Annotated[
        Gates, Meta(description="KubeRay's feature gates that are not at their default.", extra={"expected": _GATES})
    ] = Gates()
    batch_scheduler: Annotated[
        BatchScheduler, Meta(description="The scheduler that pods are left to. KubeRay's `--batch-scheduler`.")
    ] = ""
    cluster_domain: Annotated[str, kuberay(env.OPERATOR_CLUSTER_DOMAIN, "The cluster's domain in DNS.")] = (
        DEFAULT_DOMAIN
    )
    head_cluster_ip: Annotated[
        bool, kuberay(env.OPERATOR_HEAD_CLUSTER_IP, "Head Services get an address of their own.")
    ] = False
    login_shell: Annotated[
        bool, kuberay(env.OPERATOR_LOGIN_SHELL, "Ray, submitters and clean-ups are started by a login shell.")
    ] = False
    default_container_envs: Annotated[
        Objects, Meta(description="Variables that Ray containers get.", extra={"expected": OBJECTS})
    ] = ()
    default_pod_annotations: Annotated[
        dict[str, str], Meta(description="Annotations that pods get where they lack them.")
    ] = msgspec.field(default_factory=dict)
    default_pod_labels: Annotated[dict[str, str], Meta(description="Labels that pods get where they lack them.")] = (
        msgspec.field(default_factory=dict)
    )
    http_address: Annotated[
        Address,
        Meta(
            description="Where `/healthz`, `/readyz`, `/metrics` and `/debug/state` are served; port 0: any free one.",
            extra={"expected": _LISTEN},
        ),
    ] = Address("", 8080)
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least important messages to log.")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "text"], Meta(description="How to log; `auto` is text on a terminal, else JSON lines.")
    ] = "auto"
    drain_limit: Annotated[
        timedelta,
        Meta(
            description="How long a stop may take until what still runs is cancelled; Kubernetes kills after 30s.",
            extra=between("0s", "1h"),
        ),
    ] = timedelta(seconds=20)

    def objections(self) -> Iterator[str]:
        """What a list cannot say of itself."""
        if not self.nats_urls:
            yield "MANTA_NATS_URLS is empty; expected at least one URL such as nats://nats:4222"
        if not _DOMAIN.fullmatch(self.cluster_domain):
            yield f"MANTA_CLUSTER_DOMAIN is {self.cluster_domain!r}; expected a domain such as cluster.local"
        if self.batch_scheduler and self.feature_gates.workload_scheduling:
            told = f"MANTA_BATCH_SCHEDULER is {self.batch_scheduler!r} and the feature gate KubernetesWAS is on"
            yield f"{told}; expected one of them at most"

    def ray_settings(self) -> RaySettings:
        """How Ray's objects are built, as far as all services must agree on it."""
        return RaySettings(
            gates=self.feature_gates,
            cluster_domain=self.cluster_domain,
            head_cluster_ip=self.head_cluster_ip,
            login_shell=self.login_shell,
            container_envs=self.default_container_envs,
            pod_annotations=self.default_pod_annotations,
            pod_labels=self.default_pod_labels,
            batch_scheduler=self.batch_scheduler,
        )
