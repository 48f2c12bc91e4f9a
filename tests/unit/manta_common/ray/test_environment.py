"""The environment of Ray's container, in order."""

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import (
    ADDRESS,
    GROUP,
    HEAD,
    RAY,
    container,
    env_names,
    env_values,
    head,
    ray,
    worker,
)

IDENTITY = ["RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME"]
START = "KUBERAY_GEN_RAY_START_CMD"
SERVE = ["RAY_timeout_ms_task_wait_for_death_info", "RAY_gcs_server_request_timeout_seconds", "RAY_SERVE_KV_TIMEOUT_S"]
BY_SERVICE = {"metadata.labels": {"ray.io/originated-from-crd": "RayService"}}


def test_the_head_s_variables() -> None:
    made = ray(head({f"{HEAD}.{RAY}.env": [{"name": "MINE", "value": "1"}]}))
    usage = ["RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_USAGE_STATS_EXTRA_TAGS", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"]
    assert env_names(made) == ["MINE", *IDENTITY, START, "RAY_PORT", "RAY_ADDRESS", *usage]
    values = env_values(made)
    assert values["RAY_CLUSTER_NAME"] == {"fieldRef": {"fieldPath": "metadata.labels['ray.io/cluster']"}}
    assert values["RAY_CLOUD_INSTANCE_ID"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert values["RAY_NODE_TYPE_NAME"] == {"fieldRef": {"fieldPath": "metadata.labels['ray.io/group']"}}
    assert values["RAY_ADDRESS"] == "127.0.0.1:6379"
    assert values["RAY_USAGE_STATS_EXTRA_TAGS"] == "kuberay_version=v1.7.0;kuberay_crd=RayCluster"


def test_a_worker_s_variables() -> None:
    made = ray(worker({f"{HEAD}.rayStartParams": {"port": "7000"}}))
    usage = ["RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"]
    assert env_names(made) == ["FQ_RAY_IP", "RAY_IP", *IDENTITY, START, "RAY_PORT", "RAY_ADDRESS", *usage]
    values = env_values(made)
    assert (values["FQ_RAY_IP"], values["RAY_IP"]) == (ADDRESS, "demo-head-svc")
    assert (values["RAY_PORT"], values["RAY_ADDRESS"]) == ("7000", f"{ADDRESS}:7000")


def test_a_cluster_of_a_service_gives_up_sooner() -> None:
    for made in (head(BY_SERVICE), worker(BY_SERVICE)):
        names = env_names(ray(made))
        assert names[names.index("RAY_PORT") + 1 :][:3] == SERVE
        assert [env_values(ray(made))[name] for name in SERVE] == ["0", "5", "5"]
    assert env_values(ray(head(BY_SERVICE)))["RAY_USAGE_STATS_EXTRA_TAGS"].endswith("kuberay_crd=RayService")


def test_the_user_s_values_stay_where_nothing_depends_on_them() -> None:
    kept = ["RAY_PORT", "RAY_ADDRESS", "RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"]
    values = env_values(ray(head({f"{HEAD}.{RAY}.env": [{"name": name, "value": "mine"} for name in kept]})))
    assert [values[name] for name in kept] == ["mine"] * 4


def test_what_identifies_a_pod_is_appended_whatever_the_user_says() -> None:
    made = ray(worker({f"{GROUP}.{RAY}.env": [{"name": "RAY_IP", "value": "mine"}]}))
    assert env_names(made).count("RAY_IP") == 2
    assert env_values(made)["RAY_IP"] == "demo-head-svc"


def test_the_administrator_s_variables_come_before_ours_and_give_way_to_the_user_s() -> None:
    settings = RaySettings(container_envs=({"name": "A", "value": "admin"}, {"name": "B", "value": "admin"}))
    made = ray(worker({f"{GROUP}.{RAY}.env": [{"name": "A", "value": "user"}]}, settings))
    assert env_names(made)[:3] == ["A", "B", "FQ_RAY_IP"]
    assert env_values(made)["A"] == "user"


def test_every_init_container_learns_where_the_head_is() -> None:
    mine = [{"name": "mine", "image": "x", "env": [{"name": "RAY_IP", "value": "user"}]}]
    made = worker({f"{GROUP}.template.spec.initContainers": mine})
    assert env_names(container(made, "mine")) == ["RAY_IP", "FQ_RAY_IP", "RAY_IP"]
    on_head = head({f"{HEAD}.template.spec.initContainers": mine})
    assert env_values(container(on_head, "mine"))["FQ_RAY_IP"] == ADDRESS
