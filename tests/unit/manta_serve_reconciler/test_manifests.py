"""What a RayService makes."""

from typing import Any

import pytest

from manta_common.ray.cluster import Unbuildable
from manta_common.ray.settings import RaySettings
from manta_serve_reconciler import manifests
from tests.examples.example import Json
from tests.unit.manta_serve_reconciler import made


def serve_service(ports: list[Json] | None = None, **own: Any) -> Json:
    """The serve Service of a RayService with these head ports."""
    container: Json = {"name": "ray-head", "image": "ray:1", **({"ports": ports} if ports is not None else {})}
    config = {"headGroupSpec": {"template": {"spec": {"containers": [container]}}, "serviceType": "NodePort"}}
    wanted = made.service({"rayClusterConfig": config, **({"serveService": own} if own else {})})
    return manifests.serve_service(wanted, made.cluster("new", wanted))


def test_a_cluster_bears_the_labels_annotations_and_hash_of_its_service() -> None:
    labelled = made.service(meta={"labels": {"team": "a"}, "annotations": {"note": "b"}})
    cluster = manifests.ray_cluster(labelled, "new", without_replicas=False)
    about = cluster["metadata"]
    assert about["labels"] == {
        "team": "a",
        "ray.io/originated-from-cr-name": "demo",
        "ray.io/originated-from-crd": "RayService",
    }
    assert about["annotations"]["note"] == "b"
    assert about["annotations"]["ray.io/num-worker-groups"] == "1"
    assert len(about["annotations"]["ray.io/hash-without-replicas-and-workers-to-delete"]) == 32
    assert about["ownerReferences"][0]["controller"] is True
    assert cluster["spec"]["workerGroupSpecs"][0]["replicas"] == 1


def test_a_cluster_may_begin_with_as_few_workers_as_it_may() -> None:
    cluster = manifests.ray_cluster(made.service(), "new", without_replicas=True)
    assert "replicas" not in cluster["spec"]["workerGroupSpecs"][0]


def test_the_head_service_leads_to_the_cluster_under_the_name_of_the_service() -> None:
    annotated = made.service({"rayClusterConfig": {"headServiceAnnotations": {"a": "b"}}})
    found = manifests.service_head_service(annotated, made.cluster("new", annotated), RaySettings())
    assert found["metadata"]["name"] == "demo-head-svc"
    assert "annotations" not in found["metadata"]
    assert found["metadata"]["labels"]["ray.io/identifier"] == "demo-head"
    assert found["spec"]["selector"]["ray.io/identifier"] == "new-head"


def test_the_head_service_has_the_annotations_of_the_users_template_alone() -> None:
    own = {"metadata": {"annotations": {"a": "mine", "c": "d"}}, "spec": {}}
    head = {"headServiceAnnotations": {"a": "b", "e": "f"}, "headGroupSpec": {"headService": own}}
    annotated = made.service({"rayClusterConfig": head})
    found = manifests.service_head_service(annotated, made.cluster("new", annotated), RaySettings())
    assert found["metadata"]["annotations"] == {"a": "mine", "c": "d"}


def test_the_serve_service_has_the_ports_for_serve_alone() -> None:
    found = serve_service()
    assert found["metadata"]["name"] == "demo-serve-svc"
    assert found["metadata"]["labels"]["ray.io/serve"] == "demo-serve"
    assert found["spec"] == {
        "selector": {"ray.io/cluster": "new", "ray.io/serve": "true"},
        "ports": [{"name": "serve", "port": 8000}],
        "type": "NodePort",
    }


def test_a_serve_service_of_the_users_own_keeps_what_is_not_ours() -> None:
    port = {"name": "serve", "port": 80, "targetPort": 8000}
    found = serve_service(
        metadata={"name": "mine", "labels": {"a": "b", "ray.io/serve": "x"}, "namespace": "other"},
        spec={"type": "LoadBalancer", "ports": [port, {"name": "more", "port": 1}], "sessionAffinity": "ClientIP"},
    )
    assert (found["metadata"]["name"], found["metadata"]["namespace"]) == ("mine", "ns")
    assert found["metadata"]["labels"]["ray.io/serve"] == "demo-serve"
    assert found["metadata"]["labels"]["a"] == "b"
    assert found["spec"]["ports"] == [port]
    assert (found["spec"]["type"], found["spec"]["sessionAffinity"]) == ("LoadBalancer", "ClientIP")


def test_without_a_port_for_serve_the_users_ports_count_or_there_is_no_service() -> None:
    other = [{"name": "dashboard", "containerPort": 8265}]
    assert serve_service(other, spec={"ports": [{"name": "x", "port": 1}]})["spec"]["ports"] == [
        {"name": "x", "port": 1}
    ]
    with pytest.raises(Unbuildable, match="port named 'serve'"):
        serve_service(other)


def test_serve_is_told_the_configuration_as_yaml_says_it() -> None:
    text = "applications:\n- name: one\n  flag: yes\n  1: 2.0\n  share: 0.5\n"
    assert manifests.serve_config(text, 50) == {
        "applications": [{"name": "one", "flag": True, "1": 2, "share": 0.5}],
        "target_capacity": 50,
    }
    assert manifests.serve_config("", None) == {}


@pytest.mark.parametrize("text", ["a: [", "- a", "just text"], ids=["no YAML", "a list", "a text"])
def test_a_configuration_that_cannot_be_read_names_the_field(text: str) -> None:
    with pytest.raises(Unbuildable, match=r"spec\.serveConfigV2"):
        manifests.serve_config(text, None)


def test_an_application_without_a_name_is_the_default_one() -> None:
    assert manifests.applications("applications:\n- import_path: a:b\n") == {"default": {"import_path": "a:b"}}
    with pytest.raises(Unbuildable, match="list of mappings"):
        manifests.applications("applications: 3\n")
