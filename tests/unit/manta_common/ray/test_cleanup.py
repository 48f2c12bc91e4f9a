"""The Job that removes a cluster's keys from Redis."""

import ast
import shlex
from typing import Any

import pytest

from manta_common.ray.cleanup import redis_cleanup_job
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import ALL_GATES, HEAD, RAY, SETTINGS, cluster, env_names, env_values

REDIS = {"redisAddress": "redis:6379", "redisPassword": {"value": "secret"}}
FT = "spec.gcsFaultToleranceOptions"


def job(changes: dict[str, Any] | None = None, settings: RaySettings = SETTINGS) -> dict[str, Any]:
    return redis_cleanup_job(cluster({FT: REDIS} | (changes or {})), settings)


def pod_spec(changes: dict[str, Any] | None = None, settings: RaySettings = SETTINGS) -> dict[str, Any]:
    spec: dict[str, Any] = job(changes, settings)["spec"]["template"]["spec"]
    return spec


def test_the_job() -> None:
    made = job()
    metadata = made["metadata"]
    assert (made["apiVersion"], metadata["name"], metadata["namespace"]) == ("batch/v1", "demo-redis-cleanup", "team")
    assert metadata["labels"]["ray.io/node-type"] == "redis-cleanup"
    assert metadata["labels"]["app.kubernetes.io/created-by"] == "kuberay-operator"
    assert metadata["annotations"] == {
        "ray.io/ft-enabled": "true",
        "ray.io/external-storage-namespace": "12345678-uid",
    }
    assert metadata["ownerReferences"][0]["uid"] == "12345678-uid"
    assert (made["spec"]["backoffLimit"], made["spec"]["activeDeadlineSeconds"]) == (0, 300)
    assert "ttlSecondsAfterFinished" not in made["spec"]


def test_its_pod_has_the_head_s_metadata_with_a_name_only_where_the_user_gave_one() -> None:
    metadata = job()["spec"]["template"]["metadata"]
    assert metadata["generateName"] == "demo-head-"
    assert "name" not in metadata
    assert metadata["labels"]["ray.io/node-type"] == "redis-cleanup"
    named = job({f"{HEAD}.template.metadata": {"name": "mine"}})["spec"]["template"]["metadata"]
    assert (named["name"], named["generateName"]) == ("mine", "demo-head-")


def test_only_ray_s_container_runs_and_never_again() -> None:
    users = [
        {"name": "ray", "image": "ray:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
        {"name": "x", "image": "x"},
    ]
    made = pod_spec({f"{HEAD}.template.spec.containers": users, "spec.enableInTreeAutoscaling": True})
    assert [one["name"] for one in made["containers"]] == ["ray"]
    ray = made["containers"][0]
    assert ray["resources"]["limits"] == ray["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}
    assert not {"livenessProbe", "readinessProbe"} & ray.keys()
    assert made["restartPolicy"] == "Never"


def test_it_runs_where_the_head_would() -> None:
    users = {"nodeSelector": {"a": "b"}, "volumes": [{"name": "v"}], "initContainers": [{"name": "i", "image": "x"}]}
    made = pod_spec({f"{HEAD}.template.spec.{field}": value for field, value in users.items()})
    assert made["nodeSelector"] == {"a": "b"}
    assert {"name": "v"} in made["volumes"]
    assert [one["name"] for one in made["initContainers"]] == ["i"]


def test_it_does_not_wait_for_a_certificate() -> None:
    assert "initContainers" not in pod_spec({"spec.tlsOptions": {"enabled": True}}, ALL_GATES)


def test_its_variables_are_the_head_s_and_two_more() -> None:
    ray = pod_spec()["containers"][0]
    assert env_names(ray)[-2:] == ["RAY_redis_db_connect_retries", "RAY_redis_db_connect_wait_milliseconds"]
    values = env_values(ray)
    assert (values["RAY_redis_db_connect_retries"], values["RAY_redis_db_connect_wait_milliseconds"]) == ("120", "500")
    assert (values["RAY_REDIS_ADDRESS"], values["REDIS_PASSWORD"]) == ("redis:6379", "secret")


@pytest.mark.parametrize(
    ("changes", "by_user"),
    [
        pytest.param({}, False, id="a password alone"),
        pytest.param({FT: REDIS | {"redisUsername": {"value": "me"}}}, True, id="a user name too"),
        pytest.param(
            {f"{HEAD}.{RAY}.env": [{"name": "REDIS_USERNAME", "value": "me"}]}, True, id="one in the environment"
        ),
    ],
)
def test_its_command_is_a_python_program(changes: dict[str, Any], *, by_user: bool) -> None:
    ray = pod_spec(changes)["containers"][0]
    assert ray["command"] == ["/bin/bash", "-c", "--"]
    echo, _, joined, *python = shlex.split(ray["args"][0])
    assert (echo, joined, python[:2]) == ("echo", "&&", ["python", "-c"])
    call = next(
        node
        for node in ast.walk(ast.parse(python[2]))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("cleanup")
    )
    names = ["host", "port", *(["username"] if by_user else []), "password", "use_ssl", "storage_namespace"]
    assert [keyword.arg for keyword in call.keywords] == names


def test_a_login_shell_where_the_administrator_wants_one() -> None:
    assert pod_spec(settings=RaySettings(login_shell=True))["containers"][0]["command"][1] == "-cl"
