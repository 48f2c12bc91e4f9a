"""The collector for the history server."""

from typing import Any

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import (
    ADDRESS,
    ALL_GATES,
    HEAD,
    RAY,
    container,
    env_names,
    env_values,
    head,
    ray,
    worker,
)

NAME = "ray-history-collector"


def options(**more: Any) -> dict[str, Any]:
    env = [{"name": "STORAGE_BACKEND", "value": "S3"}]
    return {"spec.historyServerOptions": {"collectorOptions": {"image": "collector:1", "env": env, **more}}}


def test_the_container() -> None:
    assert container(head(options(), ALL_GATES), NAME)["image"] == "collector:1"
    made = container(worker(options(), ALL_GATES), NAME)
    assert made["imagePullPolicy"] == "IfNotPresent"
    assert made["resources"] == {
        "limits": {"cpu": "200m", "memory": "256Mi"},
        "requests": {"cpu": "50m", "memory": "64Mi"},
    }
    mine = container(head(options(imagePullPolicy="Always", resources={"limits": {"cpu": "1"}}), ALL_GATES), NAME)
    assert (mine["imagePullPolicy"], mine["resources"]) == ("Always", {"limits": {"cpu": "1"}})


def test_its_variables_in_order() -> None:
    labels = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "job"}
    made = container(
        head(options() | {"metadata.labels": labels, "spec.authOptions": {"mode": "token"}}, ALL_GATES), NAME
    )
    assert env_names(made) == [
        "POD_IP",
        "RAY_CLUSTER_NAME",
        "RAY_CLUSTER_NAMESPACE",
        "RAY_ROLE",
        "EVENTS_PORT",
        "FQ_RAY_IP",
        "OWNER_KIND",
        "OWNER_NAME",
        "RAY_DASHBOARD_ADDRESS",
        "STORAGE_BACKEND",
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN",
    ]
    values = env_values(made)
    assert (values["RAY_CLUSTER_NAME"], values["RAY_CLUSTER_NAMESPACE"]) == ("demo", "team")
    assert (values["RAY_ROLE"], values["EVENTS_PORT"], values["FQ_RAY_IP"]) == ("Head", "8084", ADDRESS)
    assert (values["OWNER_KIND"], values["OWNER_NAME"]) == ("RayJob", "job")
    assert values["RAY_DASHBOARD_ADDRESS"] == "http://localhost:8265"


def test_a_worker_s_collector_asks_no_dashboard() -> None:
    made = container(worker(options(), ALL_GATES), NAME)
    assert env_values(made)["RAY_ROLE"] == "Worker"
    assert not {"RAY_DASHBOARD_ADDRESS", "OWNER_KIND", "OWNER_NAME"} & set(env_names(made))


def test_the_user_s_dashboard_address_stays() -> None:
    made = container(head(options(env=[{"name": "RAY_DASHBOARD_ADDRESS", "value": "mine"}]), ALL_GATES), NAME)
    assert env_names(made).count("RAY_DASHBOARD_ADDRESS") == 1


def test_ray_sends_its_events_there() -> None:
    made = ray(worker(options(), ALL_GATES))
    values = env_values(made)
    assert values["RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"] == "http://localhost:8084/v1/events"
    assert len(values["RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES"].split(",")) == 10
    assert env_names(made)[-5:] == [
        "RAY_enable_ray_event",
        "RAY_enable_core_worker_ray_event_to_aggregator",
        "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR",
        "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES",
        "RAY_DASHBOARD_AGGREGATOR_AGENT_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES",
    ]
    mine = {f"{HEAD}.{RAY}.env": [{"name": "RAY_enable_ray_event", "value": "false"}]}
    assert env_values(ray(head(options() | mine, ALL_GATES)))["RAY_enable_ray_event"] == "false"


def test_nothing_without_the_gate() -> None:
    assert len(head(options(), RaySettings())["spec"]["containers"]) == 1
