"""Where a cluster's dashboard is; pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from manta_common.api import names
from manta_common.api.core import Service
from manta_common.api.labels import WORKER
from manta_common.keys import Key
from manta_dashboard_gateway.seen import Cluster

DASHBOARD_PORT: Final = "dashboard"
USUAL_PORT: Final = 8265
SERVE_PORT: Final = "serve"
USUAL_SERVE_PORT: Final = 8000
BY_SERVICE, BY_POD, BY_PROXY = "service", "pod", "proxy"


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """How dashboards are reached: by head `service`, head `pod`, the API server's `proxy`, or all at one address."""

    reach: str = BY_SERVICE
    domain: str = names.DEFAULT_DOMAIN
    tls: bool = False


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A dashboard: where it is, and what Secrets lead in. An empty address means: by the API server."""

    cluster: Key
    uid: str
    address: str  # host:port to connect to
    host: str  # host:port that it is called
    path: str = ""  # what stands before every path
    token_secret: str = ""
    tls_secret: str = ""
    shut: str = ""  # why nobody can get in
    pod: str = ""  # when it is one pod and no other

    @property
    def scheme(self) -> str:
        """How it speaks."""
        return "https" if self.tls_secret else "http"


def target(cluster: Cluster, services: Iterable[Service], ways: Ways) -> Target:
    """Where the dashboard of a cluster is; what its Service does not say (yet) is what KubeRay would make of it."""
    service, port = _head_service(cluster, list(services))
    namespace = cluster.metadata.namespace
    called = f"{names.service_address(service, namespace, ways.domain)}:{port}"
    proxied = ways.reach == BY_PROXY
    auth = cluster.spec.auth_options
    token = auth is not None and auth.mode == "token"
    by_kubernetes = token and auth is not None and bool(auth.enable_k8s_token_auth)
    return Target(
        cluster=cluster.metadata.key,
        uid=cluster.metadata.uid,
        address="" if proxied else _address(cluster, called, port=port, ways=ways),
        host=called,
        path=f"/api/v1/namespaces/{namespace}/services/{service}:{DASHBOARD_PORT}/proxy" if proxied else "",
        token_secret=_token_secret(cluster) if token and not by_kubernetes else "",
        tls_secret=_tls_secret(cluster) if ways.tls and not proxied else "",
        shut=_BY_KUBERNETES if by_kubernetes else "",
    )


def proxy(cluster: Cluster, ways: Ways) -> Target | None:
    """Where Serve's proxy in the head pod is; None while there is no such pod."""
    head, namespace = cluster.status.head, cluster.metadata.namespace
    if not head.pod_ip or not head.pod_name:
        return None
    port = _serve_port(cluster)
    called, proxied = _joined(head.pod_ip, port), ways.reach == BY_PROXY
    direct = called if ways.reach in (BY_SERVICE, BY_POD) else ways.reach
    return Target(
        cluster=cluster.metadata.key,
        uid=cluster.metadata.uid,
        address="" if proxied else direct,
        host=called,
        path=f"/api/v1/namespaces/{namespace}/pods/{head.pod_name}:{port}/proxy" if proxied else "",
        pod=head.pod_name,
    )


# Our own account's token would do, but it must not be shown to pods that users write.
_BY_KUBERNETES = "the cluster takes tokens of Kubernetes only (authOptions.enableK8sTokenAuth), and Manta shows it none"


def _head_service(cluster: Cluster, services: list[Service]) -> tuple[str, int]:
    """The cluster's own head Service, else the one of its RayJob or RayService, else what will be made."""
    template = cluster.spec.head_group_spec.head_service
    own = names.head_service(cluster.metadata.name, template.metadata.name if template else "")
    for service in sorted(services, key=lambda found: (found.metadata.name != own, found.metadata.name)):
        port = next((port.port for port in service.spec.ports if port.name == DASHBOARD_PORT), 0)
        if port:
            return service.metadata.name, port
    return own, USUAL_PORT


def _address(cluster: Cluster, called: str, *, port: int, ways: Ways) -> str:
    if ways.reach == BY_SERVICE:
        return called
    if ways.reach != BY_POD:
        return ways.reach
    ip = cluster.status.head.pod_ip
    return _joined(ip, port) if ip else called


def _joined(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _serve_port(cluster: Cluster) -> int:
    """The port called `serve` of the head's first container, which is Ray's."""
    for container in cluster.spec.head_group_spec.template.spec.containers[:1]:
        for port in container.ports:
            if port.name == SERVE_PORT:
                return port.container_port
    return USUAL_SERVE_PORT


def _token_secret(cluster: Cluster) -> str:
    options = cluster.spec.auth_options
    return names.auth_secret(cluster.metadata.name, (options.secret_name or "") if options else "")


def _tls_secret(cluster: Cluster) -> str:
    """The workers' certificate: the CA that signed the head's, and a client's certificate that cannot play the head."""
    options = cluster.spec.tls_options
    return names.node_secret(cluster.metadata.name, WORKER) if options and options.enabled else ""
