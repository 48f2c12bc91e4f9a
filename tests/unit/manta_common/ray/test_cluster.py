"""What follows from a cluster before anything is built."""

from typing import Any

import pytest

from manta_common.api.gates import Gates
from manta_common.ray import cluster as facts
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import ALL_GATES, HEAD, RAY, SETTINGS, cluster

FT = "spec.gcsFaultToleranceOptions"


def test_children_belong_to_their_cluster() -> None:
    assert facts.owner_reference(cluster()) == {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "demo",
        "uid": "12345678-uid",
        "controller": True,
        "blockOwnerDeletion": True,
    }


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        pytest.param({}, "demo-head-svc", id="by the cluster's name"),
        pytest.param({f"{HEAD}.headService": {"metadata": {"name": "mine"}}}, "mine", id="by the user's"),
        pytest.param({f"{HEAD}.headService": {"spec": {}}}, "demo-head-svc", id="a user's Service without a name"),
    ],
)
def test_the_head_service_s_name(changes: dict[str, Any], name: str) -> None:
    assert facts.head_service_name(cluster(changes)) == name


def test_the_head_s_address_is_in_the_cluster_s_domain() -> None:
    assert facts.head_address(cluster(), SETTINGS) == "demo-head-svc.team.svc.cluster.local"
    assert facts.head_address(cluster(), RaySettings(cluster_domain="corp.example")).endswith(".svc.corp.example")


def test_the_head_s_port_is_what_the_user_wrote() -> None:
    assert facts.head_port(cluster()) == "6379"
    assert facts.head_port(cluster({f"{HEAD}.rayStartParams": {"port": "$PORT"}})) == "$PORT"


@pytest.mark.parametrize(
    ("ports", "expected", "dashboard"),
    [
        pytest.param(
            [],
            {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000},
            8265,
            id="the usual ports where the container has none",
        ),
        pytest.param(
            [{"name": "dashboard", "containerPort": 9000}, {"containerPort": 7}],
            {"dashboard": 9000, "7-port": 7, "metrics": 8080},
            9000,
            id="the container's, one without a name, and metrics",
        ),
        pytest.param([{"name": "metrics", "containerPort": 9}], {"metrics": 9}, 8265, id="the user's metrics port"),
    ],
)
def test_the_head_s_ports(ports: list[dict[str, Any]], expected: dict[str, int], dashboard: int) -> None:
    made = cluster({f"{HEAD}.{RAY}.ports": ports})
    assert facts.head_ports(made) == expected
    assert facts.dashboard_port(made) == dashboard


@pytest.mark.parametrize(
    ("label", "kind"),
    [("RayJob", "RayJob"), ("RayService", "RayService"), ("Other", "RayCluster"), (None, "RayCluster")],
)
def test_where_a_cluster_comes_from(label: str | None, kind: str) -> None:
    labels = {"ray.io/originated-from-crd": label} if label else {}
    assert facts.origin(cluster({"metadata.labels": labels})) == kind


@pytest.mark.parametrize(
    ("changes", "fault_tolerant", "embedded"),
    [
        pytest.param({}, False, False, id="neither options nor annotation"),
        pytest.param({"metadata.annotations": {"ray.io/ft-enabled": "True"}}, True, False, id="by annotation"),
        pytest.param({"metadata.annotations": {"ray.io/ft-enabled": "yes"}}, False, False, id="only true is true"),
        pytest.param({FT: {}}, True, False, id="empty options mean Redis"),
        pytest.param({FT: {"backend": "redis"}}, True, False, id="Redis by name"),
        pytest.param({FT: {"backend": "rocksdb"}}, True, True, id="embedded storage"),
    ],
)
def test_fault_tolerance(changes: dict[str, Any], *, fault_tolerant: bool, embedded: bool) -> None:
    made = cluster(changes)
    assert facts.is_fault_tolerant(made) is fault_tolerant
    assert facts.has_embedded_storage(made) is embedded
    assert facts.has_redis(made) is (fault_tolerant and not embedded)


@pytest.mark.parametrize(
    ("changes", "namespace"),
    [
        pytest.param({}, "12345678-uid", id="the cluster's uid"),
        pytest.param(
            {"metadata.annotations": {"ray.io/external-storage-namespace": ""}},
            "",
            id="an annotation, even an empty one",
        ),
        pytest.param(
            {
                FT: {"externalStorageNamespace": "mine"},
                "metadata.annotations": {"ray.io/external-storage-namespace": "x"},
            },
            "mine",
            id="the option before the annotation",
        ),
    ],
)
def test_the_namespace_in_redis(changes: dict[str, Any], namespace: str) -> None:
    assert facts.storage_namespace(cluster(changes)) == namespace


@pytest.mark.parametrize(
    ("options", "secret", "asks"),
    [
        pytest.param(None, False, False, id="no options"),
        pytest.param({}, True, False, id="no mode: a Secret that nobody asks for"),
        pytest.param({"mode": "disabled"}, False, False, id="disabled"),
        pytest.param({"mode": "token"}, True, True, id="a token"),
        pytest.param({"mode": "token", "secretName": ""}, True, True, id="an empty Secret name is none"),
        pytest.param({"mode": "token", "secretName": "mine"}, False, True, id="the user's Secret"),
        pytest.param({"mode": "token", "enableK8sTokenAuth": True}, False, True, id="Kubernetes' tokens"),
    ],
)
def test_tokens(options: dict[str, Any] | None, *, secret: bool, asks: bool) -> None:
    made = cluster({} if options is None else {"spec.authOptions": options})
    assert facts.needs_auth_secret(made) is secret
    assert facts.asks_for_token(made) is asks


@pytest.mark.parametrize(
    ("options", "settings", "on"),
    [
        pytest.param({"enabled": True}, ALL_GATES, True, id="on"),
        pytest.param({"enabled": True}, SETTINGS, False, id="the gate is off"),
        pytest.param({}, ALL_GATES, False, id="not enabled"),
    ],
)
def test_tls(options: dict[str, Any], settings: RaySettings, *, on: bool) -> None:
    assert facts.has_tls(cluster({"spec.tlsOptions": options}), settings) is on


def test_a_collector_needs_gate_and_options() -> None:
    options = {"spec.historyServerOptions": {"collectorOptions": {"image": "c"}}}
    gate = RaySettings(gates=Gates.parse("RayClusterHistoryServer=true"))
    assert facts.has_collector(cluster(options), gate)
    assert not facts.has_collector(cluster(options), SETTINGS)
    assert not facts.has_collector(cluster({"spec.historyServerOptions": {}}), gate)


def test_what_else_a_cluster_needs() -> None:
    assert not facts.needs_headless_service(cluster())
    assert facts.needs_headless_service(cluster({"spec.workerGroupSpecs.0.numOfHosts": 2}))
    assert facts.needs_serve_service(cluster({"metadata.annotations": {"ray.io/enable-serve-service": "true"}}))
    assert not facts.needs_serve_service(cluster({"metadata.annotations": {"ray.io/enable-serve-service": "True"}}))
    assert facts.needs_ingress(cluster({f"{HEAD}.enableIngress": True}))
    assert not facts.needs_ingress(cluster())


def test_autoscaler_v2_counts_only_where_the_autoscaler_runs() -> None:
    version = {"spec.autoscalerOptions": {"version": "v2"}}
    assert not facts.runs_autoscaler_v2(cluster(version))
    assert facts.runs_autoscaler_v2(cluster(version | {"spec.enableInTreeAutoscaling": True}))


@pytest.mark.parametrize(
    ("settings", "routes"),
    [
        (RaySettings(), False),
        (RaySettings(openshift=True), True),
        (RaySettings(openshift=True, ingress_on_openshift=True), False),
    ],
    ids=["elsewhere an Ingress", "on OpenShift a Route", "on OpenShift an Ingress by choice"],
)
def test_route_or_ingress(settings: RaySettings, *, routes: bool) -> None:
    assert settings.uses_routes is routes


def test_a_head_without_containers_cannot_be_built() -> None:
    with pytest.raises(facts.Unbuildable, match="at least one container"):
        facts.head_ports(cluster({f"{HEAD}.template.spec.containers": []}))
