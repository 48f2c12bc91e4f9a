"""Where a dashboard is."""

import pytest

from manta_common.api.core import Service, ServicePort, ServiceSpec
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import HeadInfo
from manta_common.api.rayoptions import AuthOptions, TLSOptions
from manta_dashboard_gateway.places import Target, Ways, proxy, target
from manta_dashboard_gateway.seen import (
    Cluster,
    ClusterSpec,
    ClusterStatus,
    Container,
    Head,
    Meta,
    NamedService,
    PodSpec,
    Port,
    Template,
)

META = Meta(name="ray", namespace="team", uid="u1")
PLAIN = Cluster(metadata=META)


def service(name: str, **ports: int) -> Service:
    found = tuple(ServicePort(name=name, port=port) for name, port in ports.items())
    return Service(metadata=ObjectMeta(name=name, namespace="team"), spec=ServiceSpec(ports=found))


def at(pod_ip: str) -> Cluster:
    return Cluster(metadata=META, status=ClusterStatus(head=HeadInfo(pod_ip=pod_ip)))


OWN, OF_JOB = service("ray-head-svc", metrics=8080, dashboard=9000), service("job-head-svc", dashboard=9001)
NAMED = Cluster(
    metadata=META, spec=ClusterSpec(head_group_spec=Head(head_service=NamedService(metadata=Meta(name="door"))))
)


@pytest.mark.parametrize(
    ("cluster", "services", "ways", "address", "host"),
    [
        pytest.param(
            PLAIN,
            [OF_JOB, OWN],
            Ways(),
            "ray-head-svc.team.svc.cluster.local:9000",
            "ray-head-svc.team.svc.cluster.local:9000",
            id="by its own head Service",
        ),
        pytest.param(
            PLAIN,
            [OF_JOB],
            Ways(),
            "job-head-svc.team.svc.cluster.local:9001",
            "job-head-svc.team.svc.cluster.local:9001",
            id="by its RayJob's head Service",
        ),
        pytest.param(
            PLAIN,
            [service("ray-head-svc", metrics=8080)],
            Ways(domain="corp.example"),
            "ray-head-svc.team.svc.corp.example:8265",
            "ray-head-svc.team.svc.corp.example:8265",
            id="by what will be made, in a domain of one's own",
        ),
        pytest.param(
            NAMED,
            [OF_JOB, service("door", dashboard=8265)],
            Ways(),
            "door.team.svc.cluster.local:8265",
            "door.team.svc.cluster.local:8265",
            id="by a head Service with a name of its own",
        ),
        pytest.param(
            at("10.0.0.7"),
            [OWN],
            Ways(reach="pod"),
            "10.0.0.7:9000",
            "ray-head-svc.team.svc.cluster.local:9000",
            id="at the head pod",
        ),
        pytest.param(
            at("fd00::7"),
            [],
            Ways(reach="pod"),
            "[fd00::7]:8265",
            "ray-head-svc.team.svc.cluster.local:8265",
            id="at a head pod with an IPv6 address",
        ),
        pytest.param(
            at(""),
            [OWN],
            Ways(reach="pod"),
            "ray-head-svc.team.svc.cluster.local:9000",
            "ray-head-svc.team.svc.cluster.local:9000",
            id="by the Service while the pod has no address",
        ),
        pytest.param(
            PLAIN,
            [OWN],
            Ways(reach="127.0.0.1:5000"),
            "127.0.0.1:5000",
            "ray-head-svc.team.svc.cluster.local:9000",
            id="all at one address",
        ),
    ],
)
def test_a_dashboard_is_found(cluster: Cluster, services: list[Service], ways: Ways, address: str, host: str) -> None:
    found = target(cluster, services, ways)
    assert (found.address, found.host, found.path, found.uid, str(found.cluster)) == (
        address,
        host,
        "",
        "u1",
        "team/ray",
    )


def test_the_api_server_leads_to_it() -> None:
    found = target(PLAIN, [OWN], Ways(reach="proxy", tls=True))
    assert (found.address, found.path) == ("", "/api/v1/namespaces/team/services/ray-head-svc:dashboard/proxy")


@pytest.mark.parametrize(
    ("auth", "secret", "shut"),
    [
        pytest.param(None, "", False, id="no auth"),
        pytest.param(AuthOptions(), "", False, id="no mode asks nobody"),
        pytest.param(AuthOptions(mode="disabled"), "", False, id="disabled"),
        pytest.param(AuthOptions(mode="token"), "ray", False, id="the Secret that was made"),
        pytest.param(AuthOptions(mode="token", secret_name=""), "ray", False, id="an empty name counts as none"),
        pytest.param(AuthOptions(mode="token", secret_name="mine"), "mine", False, id="a Secret of one's own"),
        pytest.param(AuthOptions(mode="token", enable_k8s_token_auth=True), "", True, id="tokens of Kubernetes"),
    ],
)
def test_the_token_is_in_a_secret(auth: AuthOptions | None, secret: str, shut: bool) -> None:
    found = target(Cluster(metadata=META, spec=ClusterSpec(auth_options=auth)), [], Ways())
    assert (found.token_secret, bool(found.shut)) == (secret, shut)


@pytest.mark.parametrize(
    ("options", "ways", "secret", "scheme"),
    [
        pytest.param(TLSOptions(enabled=True), Ways(tls=True), "ray-worker-secret-ray", "https", id="both say so"),
        pytest.param(TLSOptions(enabled=True), Ways(), "", "http", id="Ray itself speaks plainly"),
        pytest.param(TLSOptions(enabled=False), Ways(tls=True), "", "http", id="a cluster without"),
        pytest.param(None, Ways(tls=True), "", "http", id="a cluster that says nothing"),
    ],
)
def test_tls_is_spoken_where_it_is_understood(options: TLSOptions | None, ways: Ways, secret: str, scheme: str) -> None:
    found = target(Cluster(metadata=META, spec=ClusterSpec(tls_options=options)), [], ways)
    assert (found.tls_secret, found.scheme) == (secret, scheme)


def head(pod_ip: str, *ports: Port, pod: str = "ray-head") -> Cluster:
    containers = (Container(ports=ports), Container(ports=(Port(name="serve", container_port=1),)))
    spec = ClusterSpec(head_group_spec=Head(template=Template(spec=PodSpec(containers=containers))))
    return Cluster(metadata=META, spec=spec, status=ClusterStatus(head=HeadInfo(pod_ip=pod_ip, pod_name=pod)))


SERVE = Port(name="serve", container_port=9000)


@pytest.mark.parametrize(
    ("cluster", "reach", "address", "host", "path"),
    [
        pytest.param(head("10.0.0.7"), "service", "10.0.0.7:8000", "10.0.0.7:8000", "", id="at the usual port"),
        pytest.param(head("10.0.0.7", SERVE), "pod", "10.0.0.7:9000", "10.0.0.7:9000", "", id="at its own port"),
        pytest.param(head("fd00::7", SERVE), "service", "[fd00::7]:9000", "[fd00::7]:9000", "", id="by IPv6"),
        pytest.param(head("10.0.0.7"), "127.0.0.1:5", "127.0.0.1:5", "10.0.0.7:8000", "", id="all at one address"),
        pytest.param(
            head("10.0.0.7", SERVE),
            "proxy",
            "",
            "10.0.0.7:9000",
            "/api/v1/namespaces/team/pods/ray-head:9000/proxy",
            id="by the API server",
        ),
    ],
)
def test_the_proxy_in_the_head_pod_is_found(cluster: Cluster, reach: str, address: str, host: str, path: str) -> None:
    expected = Target(cluster=META.key, uid="u1", address=address, host=host, path=path, pod="ray-head")
    assert proxy(cluster, Ways(reach=reach, tls=True)) == expected


@pytest.mark.parametrize("cluster", [PLAIN, at("10.0.0.7"), head("")])
def test_without_a_head_pod_there_is_no_proxy(cluster: Cluster) -> None:
    assert proxy(cluster, Ways()) is None
