"""Head and worker pods as wholes: labels, order of containers, and what is left as the user wrote it."""

import copy
from typing import Any

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.names import Place, head_pod_name, replica_name
from manta_common.ray.pods import head_pod, worker_pod, worker_pods
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import ALL_GATES, GROUP, HEAD, RAY, SETTINGS, cluster, head, ray, worker

HEAD_LABELS = {
    "ray.io/is-ray-node": "yes",
    "ray.io/cluster": "demo",
    "ray.io/node-type": "head",
    "ray.io/group": "headgroup",
    "ray.io/identifier": "demo-head",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}
WORKER_LABELS = HEAD_LABELS | {
    "ray.io/node-type": "worker",
    "ray.io/group": "small",
    "ray.io/identifier": "demo-worker",
    "ray.io/worker-group-replica-index": "0",
}
EVERYTHING = {
    "spec.enableInTreeAutoscaling": True,
    "spec.historyServerOptions": {"collectorOptions": {"image": "c"}},
    "spec.tlsOptions": {"enabled": True},
}


def test_labels() -> None:
    assert head()["metadata"]["labels"] == HEAD_LABELS
    assert worker()["metadata"]["labels"] == WORKER_LABELS


def test_users_labels_win_where_nothing_is_found_by_them() -> None:
    template = {"labels": {"a": "template", "b": "template", "ray.io/cluster": "x", "ray.io/is-ray-node": "no"}}
    changes = {f"{GROUP}.template.metadata": template, f"{GROUP}.labels": {"b": "group", "ray.io/group": "x"}}
    assert worker(changes)["metadata"]["labels"] == WORKER_LABELS | {
        "a": "template",
        "b": "group",
        "ray.io/is-ray-node": "no",
    }


def test_the_administrator_s_labels_and_annotations_fill_gaps_only() -> None:
    settings = RaySettings(
        pod_labels={"team": "x", "ray.io/group": "y"},
        pod_annotations={"note": "x", "mine": "y", "ray.io/ft-enabled": "z"},
    )
    metadata = head({f"{HEAD}.template.metadata": {"annotations": {"mine": "user"}}}, settings)["metadata"]
    assert metadata["labels"] == HEAD_LABELS | {"team": "x"}
    assert metadata["annotations"].items() >= {"note": "x", "mine": "user", "ray.io/ft-enabled": "false"}.items()


@pytest.mark.parametrize(("made", "value"), [(head, "false"), (worker, "true")], ids=["a head at first", "a worker"])
def test_a_service_s_pods_say_whether_they_serve(made: Any, value: str) -> None:
    changes = {"metadata.labels": {"ray.io/originated-from-crd": "RayService"}}
    assert made(changes)["metadata"]["labels"]["ray.io/serve"] == value
    assert "ray.io/serve" not in made()["metadata"]["labels"]


def test_workers_with_several_hosts_say_which_one_they_are() -> None:
    made = cluster({f"{GROUP}.numOfHosts": 2})
    group = made.spec.worker_group_specs[0]
    pods = worker_pods(made, group, [Place(3, 0), Place(3, 1)], SETTINGS)
    shared = {
        "ray.io/worker-group-replica-index": "3",
        "ray.io/worker-group-replica-name": replica_name(made, "small", Place(3)),
    }
    for number, pod in enumerate(pods):
        assert pod["metadata"]["labels"].items() >= (shared | {"ray.io/replica-host-index": str(number)}).items()
    assert pods[0]["metadata"]["name"] != pods[1]["metadata"]["name"]


def test_without_the_gate_no_worker_is_numbered() -> None:
    settings = RaySettings(gates=Gates(multi_host_indexing=False))
    found = worker({f"{GROUP}.numOfHosts": 2}, settings)["metadata"]["labels"]
    assert not [key for key in found if "replica" in key]


def test_many_workers_are_what_each_would_be_alone() -> None:
    made = cluster()
    group = made.spec.worker_group_specs[0]
    places = [Place(0), Place(1), Place(2, 0, 5)]
    assert worker_pods(made, group, places, SETTINGS) == [worker_pod(made, group, place, SETTINGS) for place in places]


def test_metadata() -> None:
    metadata = worker({f"{GROUP}.template.metadata": {"name": "mine", "namespace": "x", "finalizers": ["f"]}})[
        "metadata"
    ]
    assert metadata["name"].startswith("demo-small-worker-")
    assert metadata["generateName"] == "demo-small-worker-0-0-0-"
    assert (metadata["namespace"], metadata["finalizers"]) == ("team", ["f"])
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["12345678-uid"]
    assert head()["metadata"]["name"] == head_pod_name(cluster(), 0, SETTINGS)
    assert head({f"{HEAD}.template.metadata": {"name": "mine"}})["metadata"]["name"] == "mine"


def test_only_heads_tell_what_they_were_made_from() -> None:
    assert set(head()["metadata"]["annotations"]) == {
        "ray.io/ft-enabled",
        "ray.io/upgrade-strategy-recreate-hash",
        "ray.io/kuberay-version",
    }
    assert worker()["metadata"]["annotations"] == {}


def test_the_order_of_containers() -> None:
    settings = RaySettings(
        gates=ALL_GATES.gates,
        head_sidecars=({"name": "admin-head", "image": "x"},),
        worker_sidecars=({"name": "admin-worker", "image": "x"},),
    )
    users = [{"name": "ray", "image": "ray:1"}, {"name": "side", "image": "x"}]
    changes = EVERYTHING | {
        f"{HEAD}.template.spec.containers": users,
        f"{GROUP}.template.spec.containers": users,
        f"{GROUP}.template.spec.initContainers": [{"name": "first", "image": "x"}],
    }
    of_head, of_worker = head(changes, settings)["spec"], worker(changes, settings)["spec"]
    names = [one["name"] for one in of_head["containers"]]
    assert names == ["ray", "side", "autoscaler", "ray-history-collector", "admin-head"]
    assert [one["name"] for one in of_worker["containers"]] == ["ray", "side", "ray-history-collector", "admin-worker"]
    assert [one["name"] for one in of_worker["initContainers"]] == ["wait-for-tls-ip-san", "first", "wait-gcs-ready"]
    assert [one["name"] for one in of_head["initContainers"]] == ["wait-for-tls-ip-san"]


def test_ray_s_container_has_a_metrics_port() -> None:
    metrics = {"name": "metrics", "containerPort": 8080}
    assert ray(worker())["ports"] == [metrics]
    other = {"name": "x", "containerPort": 1}
    assert ray(worker({f"{GROUP}.{RAY}.ports": [other]}))["ports"] == [other, metrics]
    mine = {"name": "metrics", "containerPort": 9}
    assert ray(worker({f"{GROUP}.{RAY}.ports": [mine]}))["ports"] == [mine]


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        pytest.param({}, "OnFailure", id="no autoscaler"),
        pytest.param({"spec.enableInTreeAutoscaling": True}, "OnFailure", id="an autoscaler of Ray's choice"),
        pytest.param(
            {"spec.enableInTreeAutoscaling": True, "spec.autoscalerOptions": {"version": "v1"}},
            "OnFailure",
            id="version 1",
        ),
        pytest.param(
            {"spec.enableInTreeAutoscaling": True, "spec.autoscalerOptions": {"version": "v2"}}, "Never", id="version 2"
        ),
    ],
)
def test_pods_are_restarted_in_place_unless_the_autoscaler_forbids_it(changes: dict[str, Any], policy: str) -> None:
    given = {f"{HEAD}.template.spec.restartPolicy": "OnFailure", f"{GROUP}.template.spec.restartPolicy": "OnFailure"}
    assert head(given | changes)["spec"]["restartPolicy"] == policy
    assert worker(given | changes)["spec"]["restartPolicy"] == policy


def test_what_the_user_wrote_passes_through() -> None:
    mine: dict[str, Any] = {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "serviceAccountName": "mine",
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "fieldOfTheFuture": {"deep": [1, {"x": None}]},
    }
    spec = worker({f"{GROUP}.template.spec.{key}": value for key, value in mine.items()})["spec"]
    assert {key: spec[key] for key in mine} == mine | {"fieldOfTheFuture": {"deep": [1, {}]}}


def test_an_amount_that_only_kubernetes_refuses_is_passed_on_to_it() -> None:
    limits = {"limits": {"cpu": "1e1.5", "memory": "1e1.5"}}
    assert ray(worker({f"{GROUP}.{RAY}.resources": limits}))["resources"] == limits
    assert ray(head({f"{HEAD}.{RAY}.resources": limits}))["resources"] == limits


def test_building_changes_nothing_that_was_given() -> None:
    sidecar = {"name": "side", "image": "x", "env": []}
    settings = RaySettings(gates=ALL_GATES.gates, head_sidecars=(sidecar,), container_envs=({"name": "A"},))
    made = cluster(EVERYTHING | {f"{HEAD}.rayStartParams": {"num-cpus": "1"}})
    before, sidecar_before = msgspec.json.encode(made), copy.deepcopy(sidecar)
    head_pod(made, 0, settings)["spec"]["containers"][-1]["env"].append("changed")
    assert msgspec.json.encode(made) == before
    assert sidecar == sidecar_before


@pytest.mark.parametrize("build", [head, worker])
def test_a_template_without_containers_cannot_be_built(build: Any) -> None:
    with pytest.raises(Unbuildable, match="at least one container"):
        build({f"{HEAD}.template": {}, f"{GROUP}.template": {}})
