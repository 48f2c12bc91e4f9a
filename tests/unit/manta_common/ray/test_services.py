"""The Services of a cluster."""

from typing import Any

import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.api.rayjob import RayJob
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.services import head_service, headless_service, job_head_service, serve_service
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import HEAD, RAY, SETTINGS, cluster

SELECTOR = {
    "ray.io/cluster": "demo",
    "ray.io/node-type": "head",
    "ray.io/identifier": "demo-head",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}
PORTS = [
    {"name": "client", "port": 10001, "appProtocol": "tcp"},
    {"name": "dashboard", "port": 8265, "appProtocol": "tcp"},
    {"name": "gcs-server", "port": 6379, "appProtocol": "tcp"},
    {"name": "metrics", "port": 8080, "appProtocol": "tcp"},
    {"name": "serve", "port": 8000, "appProtocol": "tcp"},
]
HEADLESS = {"clusterIP": "None", "publishNotReadyAddresses": True}


def head_spec(changes: dict[str, Any], settings: RaySettings = SETTINGS) -> dict[str, Any]:
    spec: dict[str, Any] = head_service(cluster(changes), settings)["spec"]
    return spec


def test_the_head_service() -> None:
    made = head_service(cluster({"spec.headServiceAnnotations": {"a": "b"}}), SETTINGS)
    metadata = made["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("demo-head-svc", "team")
    assert (metadata["labels"], metadata["annotations"]) == (SELECTOR, {"a": "b"})
    assert metadata["ownerReferences"][0]["uid"] == "12345678-uid"
    assert made["spec"] == {"selector": SELECTOR, "ports": PORTS, **HEADLESS}


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        pytest.param("ClusterIP", SETTINGS, {"type": "ClusterIP", **HEADLESS}, id="ClusterIP is headless too"),
        pytest.param("NodePort", SETTINGS, {"type": "NodePort"}, id="NodePort"),
        pytest.param("LoadBalancer", SETTINGS, {"type": "LoadBalancer"}, id="LoadBalancer"),
        pytest.param("", RaySettings(head_cluster_ip=True), {}, id="an address by the administrator's wish"),
    ],
)
def test_when_it_is_headless(kind: str, settings: RaySettings, expected: dict[str, Any]) -> None:
    spec = head_spec({f"{HEAD}.serviceType": kind}, settings)
    assert {key: value for key, value in spec.items() if key not in {"ports", "selector"}} == expected


def test_of_the_user_s_labels_only_the_app_s_name_in_the_template_counts() -> None:
    template = {"labels": {"app.kubernetes.io/name": "mine", "ray.io/identifier": "x"}}
    made = head_service(cluster({f"{HEAD}.template.metadata": template, f"{HEAD}.labels": {"a": "b"}}), SETTINGS)
    assert made["spec"]["selector"] == made["metadata"]["labels"] == SELECTOR | {"app.kubernetes.io/name": "mine"}


def test_the_user_s_own_service() -> None:
    own = {
        "metadata": {
            "name": "mine",
            "namespace": "x",
            "labels": {"a": "b", "ray.io/cluster": "x"},
            "annotations": {"k": "own"},
        },
        "spec": {"ports": [{"name": "mine", "port": 1}], "selector": {"x": "y"}, "sessionAffinity": "ClientIP"},
    }
    made = head_service(cluster({f"{HEAD}.headService": own, "spec.headServiceAnnotations": {"k": "spec"}}), SETTINGS)
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("mine", "team")
    assert made["metadata"]["labels"] == {"a": "b", **SELECTOR}
    assert made["metadata"]["annotations"] == {"k": "spec"}
    assert made["spec"] == {
        "ports": [{"name": "mine", "port": 1}, *PORTS],
        "selector": SELECTOR,
        "sessionAffinity": "ClientIP",
    }


@pytest.mark.parametrize(
    ("own", "group", "expected"), [("NodePort", "LoadBalancer", "NodePort"), ("", "LoadBalancer", "LoadBalancer")]
)
def test_the_type_of_the_user_s_own_service(own: str, group: str, expected: str) -> None:
    spec = head_spec({f"{HEAD}.headService": {"spec": {"type": own}}, f"{HEAD}.serviceType": group})
    assert spec["type"] == expected


def test_the_headless_service_for_workers() -> None:
    made = headless_service(cluster())
    assert (made["metadata"]["name"], made["metadata"]["labels"]) == (
        "demo-headless",
        {"ray.io/headless-worker-svc": "demo"},
    )
    selector = {"ray.io/cluster": "demo", "ray.io/node-type": "worker"}
    assert made["spec"] == {"type": "ClusterIP", **HEADLESS, "selector": selector}


def test_the_serve_service() -> None:
    ports = [
        {"name": "serve-grpc", "containerPort": 9},
        {"name": "serve", "containerPort": 8},
        {"name": "x", "containerPort": 7},
    ]
    made = serve_service(cluster({f"{HEAD}.{RAY}.ports": ports, f"{HEAD}.serviceType": "NodePort"}))
    assert made["metadata"]["name"] == "demo-serve-svc"
    assert made["metadata"]["labels"] == {
        "ray.io/originated-from-cr-name": "demo",
        "ray.io/originated-from-crd": "RayCluster",
        "ray.io/serve": "demo-serve",
    }
    assert made["spec"] == {
        "selector": {"ray.io/cluster": "demo"},
        "ports": [{"name": "serve", "port": 8}, {"name": "serve-grpc", "port": 9}],
        "type": "NodePort",
    }


def test_there_is_no_serve_service_without_a_port() -> None:
    with pytest.raises(Unbuildable, match="Please specify a port named 'serve'"):
        serve_service(cluster({f"{HEAD}.{RAY}.ports": [{"name": "server", "containerPort": 8}]}))


def test_a_job_s_service_leads_to_its_cluster() -> None:
    job = RayJob(metadata=ObjectMeta(name="job", namespace="team", uid="job-uid"))
    made = job_head_service(job, cluster({}), SETTINGS)
    assert made["metadata"]["name"] == "job-head-svc"
    assert made["metadata"]["labels"] == {
        "ray.io/originated-from-cr-name": "job",
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/node-type": "head",
        "ray.io/identifier": "job-head",
    }
    assert [(owner["kind"], owner["uid"]) for owner in made["metadata"]["ownerReferences"]] == [("RayJob", "job-uid")]
    assert made["spec"] == head_spec({})


def test_of_annotations_only_those_of_the_user_s_own_service_are_on_a_job_s() -> None:
    job = RayJob(metadata=ObjectMeta(name="job", namespace="team", uid="job-uid"))
    own = {"metadata": {"annotations": {"c": "d"}}}
    plain = cluster({"spec.headServiceAnnotations": {"a": "b"}})
    custom = cluster({"spec.headServiceAnnotations": {"a": "b"}, "spec.headGroupSpec.headService": own})
    assert job_head_service(job, plain, SETTINGS)["metadata"]["annotations"] == {}
    assert job_head_service(job, custom, SETTINGS)["metadata"]["annotations"] == {"c": "d"}
