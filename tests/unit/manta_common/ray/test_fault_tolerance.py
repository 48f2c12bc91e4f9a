"""What pods get when the GCS' state outlives the head."""

from typing import Any

import pytest

from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, env_names, env_values, head, mounts, ray, worker

FT = "spec.gcsFaultToleranceOptions"
BY_ANNOTATION = {"metadata.annotations": {"ray.io/ft-enabled": "true"}}
SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"


def test_without_it_the_head_only_says_so() -> None:
    made = head()
    assert made["metadata"]["annotations"]["ray.io/ft-enabled"] == "false"
    assert "RAY_external_storage_namespace" not in env_names(ray(made))
    assert RECONNECT not in env_names(ray(worker()))


@pytest.mark.parametrize("changes", [BY_ANNOTATION, {FT: {}}, {FT: {"backend": "rocksdb"}}])
def test_workers_wait_longer_for_the_head(changes: dict[str, Any]) -> None:
    assert env_values(ray(worker(changes)))[RECONNECT] == "600"
    assert worker(changes)["metadata"]["annotations"] == {}
    mine = {f"{GROUP}.{RAY}.env": [{"name": RECONNECT, "value": "9"}]}
    assert env_values(ray(worker(changes | mine)))[RECONNECT] == "9"


def test_redis_by_options() -> None:
    options = {"redisAddress": "redis:6379", "redisUsername": {"value": "me"}, "redisPassword": SECRET}
    made = head({FT: options})
    assert env_names(ray(made))[:4] == [
        "RAY_external_storage_namespace",
        "RAY_REDIS_ADDRESS",
        "REDIS_USERNAME",
        "REDIS_PASSWORD",
    ]
    values = env_values(ray(made))
    assert [values[name] for name in env_names(ray(made))[:4]] == [
        "12345678-uid",
        "redis:6379",
        "me",
        SECRET["valueFrom"],
    ]
    assert "--redis-password=$REDIS_PASSWORD  --redis-username=$REDIS_USERNAME " in ray(made)["args"][0]
    assert made["metadata"]["annotations"]["ray.io/ft-enabled"] == "true"
    assert made["metadata"]["annotations"]["ray.io/external-storage-namespace"] == "12345678-uid"


def test_empty_options_still_name_an_address() -> None:
    assert {"name": "RAY_REDIS_ADDRESS", "value": ""} in ray(head({FT: {}}))["env"]


def test_the_user_s_namespace_variable_stays() -> None:
    mine = {f"{HEAD}.{RAY}.env": [{"name": "RAY_external_storage_namespace", "value": "mine"}]}
    assert env_values(ray(head({FT: {}} | mine)))["RAY_external_storage_namespace"] == "mine"


def test_redis_by_annotation() -> None:
    namespace = {"metadata.annotations": {"ray.io/ft-enabled": "true", "ray.io/external-storage-namespace": "mine"}}
    made = head(namespace | {f"{HEAD}.rayStartParams": {"redis-password": "$SECRET"}})
    assert env_names(ray(made))[:2] == ["RAY_external_storage_namespace", "REDIS_PASSWORD"]
    assert env_values(ray(made))["REDIS_PASSWORD"] == "$SECRET"
    assert "--redis-password=$SECRET " in ray(made)["args"][0]
    assert made["metadata"]["annotations"]["ray.io/external-storage-namespace"] == "mine"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {f"{HEAD}.{RAY}.env": [{"name": "REDIS_PASSWORD", "value": "mine"}]}, id="the user's own variable"
        ),
        pytest.param({}, id="no password"),
    ],
)
def test_no_password_is_made_up(changes: dict[str, Any]) -> None:
    assert env_values(ray(head(BY_ANNOTATION | changes))).get("REDIS_PASSWORD") in {None, "mine"}


@pytest.mark.parametrize(
    ("storage", "claim", "mount"),
    [
        pytest.param({}, "demo-gcs-pvc", {}, id="the operator's claim"),
        pytest.param(
            {"claimName": "mine", "subPath": "a"}, "mine", {"subPath": "a"}, id="the user's claim, a folder of it"
        ),
    ],
)
def test_embedded_storage(storage: dict[str, str], claim: str, mount: dict[str, str]) -> None:
    made = head({FT: {"backend": "rocksdb", "storage": storage}})
    values = env_values(ray(made))
    assert (values["RAY_gcs_storage"], values["RAY_gcs_storage_path"]) == ("rocksdb", "/data/gcs")
    assert {"name": "gcs-storage", "mountPath": "/data/gcs"} | mount in ray(made)["volumeMounts"]
    assert {"name": "gcs-storage", "persistentVolumeClaim": {"claimName": claim}} in made["spec"]["volumes"]
    assert "ray.io/external-storage-namespace" not in made["metadata"]["annotations"]
    assert "/data/gcs" not in mounts(ray(worker({FT: {"backend": "rocksdb"}})))
