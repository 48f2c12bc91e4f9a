"""Tokens: their Secret, and who gets them."""

import base64

import pytest

from manta_common.ray.auth import auth_secret
from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import (
    ALL_GATES,
    GROUP,
    HEAD,
    RAY,
    cluster,
    container,
    env_names,
    env_values,
    head,
    mounts,
    ray,
    worker,
)

TOKEN = {"spec.authOptions": {"mode": "token"}}
K8S = {"spec.authOptions": {"mode": "token", "enableK8sTokenAuth": True}}
AUTOSCALING = {"spec.enableInTreeAutoscaling": True}
COLLECTING = {"spec.historyServerOptions": {"collectorOptions": {"image": "c"}}}


def test_the_secret_holds_a_token_of_44_characters() -> None:
    made = auth_secret(cluster(), bytes(range(32)))
    assert (made["kind"], made["metadata"]["name"], made["metadata"]["labels"]) == (
        "Secret",
        "demo",
        {"ray.io/cluster": "demo"},
    )
    assert made["metadata"]["ownerReferences"][0]["controller"] is True
    text = base64.b64decode(made["data"]["auth_token"])
    assert (len(text), base64.b64decode(text)) == (44, bytes(range(32)))


def test_the_token_comes_from_the_secret() -> None:
    for made in (head(TOKEN), worker(TOKEN)):
        values = env_values(ray(made))
        assert values["RAY_AUTH_MODE"] == "token"
        assert values["RAY_AUTH_TOKEN"] == {"secretKeyRef": {"name": "demo", "key": "auth_token"}}


def test_the_user_s_secret() -> None:
    made = head({"spec.authOptions": {"mode": "token", "secretName": "mine"}})
    assert env_values(ray(made))["RAY_AUTH_TOKEN"]["secretKeyRef"]["name"] == "mine"


def test_kubernetes_own_tokens_come_from_the_pod_s_account() -> None:
    made = worker(K8S)
    for one in (ray(made), container(made, "wait-gcs-ready")):
        assert env_values(one)["RAY_ENABLE_K8S_TOKEN_AUTH"] == "true"
        assert mounts(one)["/var/run/secrets/ray.io/serviceaccount"] == "ray-token"
        assert "RAY_AUTH_TOKEN" not in env_names(one)
    volumes = [volume for volume in made["spec"]["volumes"] if volume["name"] == "ray-token"]
    assert volumes == [{"name": "ray-token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]


def test_who_gets_the_token() -> None:
    users = {
        f"{HEAD}.template.spec.initContainers": [{"name": "mine", "image": "x"}],
        f"{HEAD}.template.spec.containers": [{"name": "ray", "image": "x"}, {"name": "side", "image": "x"}],
    }
    settings = RaySettings(gates=ALL_GATES.gates, head_sidecars=({"name": "admin", "image": "x"},))
    made = head(TOKEN | AUTOSCALING | COLLECTING | users, settings)
    have = {
        one["name"]: "RAY_AUTH_TOKEN" in env_names(one)
        for one in (*made["spec"]["containers"], *made["spec"]["initContainers"])
    }
    assert have == {
        "ray": True,
        "side": False,
        "autoscaler": True,
        "ray-history-collector": True,
        "admin": False,
        "mine": False,
    }
    assert "RAY_AUTH_TOKEN" in env_names(container(worker(TOKEN), "wait-gcs-ready"))


def test_the_user_s_variables_of_the_autoscaler_follow_the_token_and_win() -> None:
    mine = [{"name": "MINE", "value": "1"}, {"name": "RAY_AUTH_MODE", "value": "disabled"}]
    made = head(TOKEN | AUTOSCALING | {"spec.autoscalerOptions": {"env": mine}})
    names = env_names(container(made, "autoscaler"))
    assert names[-4:] == ["RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "MINE", "RAY_AUTH_MODE"]


def test_the_volume_of_the_token_follows_that_of_the_gcs_storage() -> None:
    storage = {"spec.gcsFaultToleranceOptions": {"backend": "rocksdb"}}
    made = head(K8S | AUTOSCALING | storage, ALL_GATES)
    names = [volume["name"] for volume in made["spec"]["volumes"]]
    assert names == ["gcs-storage", "ray-token", "shared-mem", "ray-logs"]


def test_a_user_s_own_container_gets_no_token_by_its_name() -> None:
    users = {f"{HEAD}.template.spec.containers": [{"name": "ray", "image": "x"}, {"name": "autoscaler", "image": "x"}]}
    assert "env" not in container(head(TOKEN | users), "autoscaler")


def test_what_the_user_set_stays() -> None:
    mine = {f"{GROUP}.{RAY}.env": [{"name": "RAY_AUTH_TOKEN", "value": "mine"}]}
    made = ray(worker(TOKEN | mine))
    assert env_names(made).count("RAY_AUTH_TOKEN") == 1
    assert env_values(made)["RAY_AUTH_TOKEN"] == "mine"


def test_a_token_that_the_user_mounts_elsewhere_is_not_mounted_again() -> None:
    mine = [{"name": "ray-token", "mountPath": "/mine"}]
    made = ray(worker(K8S | {f"{GROUP}.{RAY}.volumeMounts": mine}))
    assert [one["mountPath"] for one in made["volumeMounts"] if one["name"] == "ray-token"] == ["/mine"]


@pytest.mark.parametrize("options", [{}, {"mode": "disabled"}])
def test_nobody_is_asked_without_the_mode(options: dict[str, str]) -> None:
    assert "RAY_AUTH_MODE" not in env_names(ray(head({"spec.authOptions": options})))
