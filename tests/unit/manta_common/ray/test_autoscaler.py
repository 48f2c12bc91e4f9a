"""Ray's autoscaler beside the head."""

from typing import Any

import pytest

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import HEAD, container, env_names, env_values, head, ray

START = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
USUAL = [
    "RAY_CLUSTER_NAME",
    "RAY_CLUSTER_NAMESPACE",
    "RAY_HEAD_POD_NAME",
    "KUBERAY_CRD_VER",
    "KUBERAY_GEN_AUTOSCALER_START_CMD",
]


def autoscaling(**options: Any) -> dict[str, Any]:
    return {"spec.enableInTreeAutoscaling": True, "spec.autoscalerOptions": options}


def test_the_container() -> None:
    made = container(head({"spec.enableInTreeAutoscaling": True}), "autoscaler")
    assert (made["image"], made["imagePullPolicy"]) == ("ray:1", "IfNotPresent")
    assert (made["command"], made["args"]) == (["/bin/bash", "-c", "--"], [START])
    assert made["resources"]["limits"] == made["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}
    assert env_names(made) == USUAL
    assert env_values(made)["RAY_HEAD_POD_NAME"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert (env_values(made)["KUBERAY_CRD_VER"], env_values(made)["KUBERAY_GEN_AUTOSCALER_START_CMD"]) == ("v1", START)


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        pytest.param({"image": "mine"}, "image", "mine", id="image"),
        pytest.param({"image": ""}, "image", "", id="an empty image is taken at its word"),
        pytest.param({"imagePullPolicy": "Always"}, "imagePullPolicy", "Always", id="pull policy"),
        pytest.param({"command": ["x"]}, "command", ["x"], id="command"),
        pytest.param({"args": ["x"]}, "args", ["x"], id="arguments"),
        pytest.param({"command": []}, "command", ["/bin/bash", "-c", "--"], id="an empty command is none"),
        pytest.param({"resources": {}}, "resources", {}, id="no requests and no limits"),
        pytest.param({"securityContext": {"runAsUser": 1}}, "securityContext", {"runAsUser": 1}, id="security context"),
        pytest.param({"envFrom": [{"prefix": "x"}]}, "envFrom", [{"prefix": "x"}], id="sources of variables"),
    ],
)
def test_options(options: dict[str, Any], field: str, value: Any) -> None:
    assert container(head(autoscaling(**options)), "autoscaler")[field] == value


def test_variables_and_mounts_are_added() -> None:
    mine = {"name": "v", "mountPath": "/v"}
    made = container(head(autoscaling(env=[{"name": "MINE"}], volumeMounts=[mine])), "autoscaler")
    assert env_names(made) == [*USUAL, "MINE"]
    assert made["volumeMounts"] == [mine, {"name": "ray-logs", "mountPath": "/tmp/ray"}]


@pytest.mark.parametrize(("version", "value"), [("v1", "false"), ("v2", "true")])
def test_a_version_of_the_user_s_choice(version: str, value: str) -> None:
    made = head(autoscaling(version=version))
    assert env_names(ray(made))[0] == "RAY_enable_autoscaler_v2"
    assert env_values(ray(made))["RAY_enable_autoscaler_v2"] == value
    assert "RAY_enable_autoscaler_v2" not in env_names(container(made, "autoscaler"))


def test_without_a_version_the_choice_is_ray_s() -> None:
    assert "RAY_enable_autoscaler_v2" not in env_names(ray(head(autoscaling())))


def test_ray_s_own_monitor_gives_way() -> None:
    assert "--no-monitor " in ray(head(autoscaling()))["args"][0]
    assert "--no-monitor " not in ray(head())["args"][0]


@pytest.mark.parametrize(("given", "account"), [("", "demo"), ("mine", "mine"), ("1" + "a" * 50, "a" * 50)])
def test_the_head_s_account(given: str, account: str) -> None:
    made = head(autoscaling() | ({f"{HEAD}.template.spec.serviceAccountName": given} if given else {}))
    assert made["spec"]["serviceAccountName"] == account


def test_a_login_shell_where_the_administrator_wants_one() -> None:
    made = head(autoscaling(), RaySettings(login_shell=True))
    assert container(made, "autoscaler")["command"] == ["/bin/bash", "-cl", "--"]
