"""TLS between the nodes."""

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import (
    ALL_GATES,
    GROUP,
    container,
    env_names,
    env_values,
    head,
    mounts,
    ray,
    worker,
)

TLS = {"spec.tlsOptions": {"enabled": True}}
VARIABLES = ["RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT"]
FILES = ["1", "/etc/ray/tls/tls.crt", "/etc/ray/tls/tls.key", "/etc/ray/tls/ca.crt"]


def test_head_and_workers_have_a_certificate_each() -> None:
    for made, secret in (
        (head(TLS, ALL_GATES), "ray-head-secret-demo"),
        (worker(TLS, ALL_GATES), "ray-worker-secret-demo"),
    ):
        assert {"name": "ray-tls", "secret": {"secretName": secret}} in made["spec"]["volumes"]
        assert [env_values(ray(made))[name] for name in VARIABLES] == FILES
        assert {"name": "ray-tls", "mountPath": "/etc/ray/tls", "readOnly": True} in ray(made)["volumeMounts"]


def test_what_talks_to_ray_has_it_too() -> None:
    autoscaler = container(head(TLS | {"spec.enableInTreeAutoscaling": True}, ALL_GATES), "autoscaler")
    waiting = container(worker(TLS, ALL_GATES), "wait-gcs-ready")
    for one in (autoscaler, waiting):
        assert set(VARIABLES) <= set(env_names(one))
        assert mounts(one)["/etc/ray/tls"] == "ray-tls"


def test_the_user_s_mounts_of_the_autoscaler_follow_the_certificate() -> None:
    options = {"env": [{"name": "MINE", "value": "1"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    made = head(TLS | {"spec.enableInTreeAutoscaling": True, "spec.autoscalerOptions": options}, ALL_GATES)
    autoscaler = container(made, "autoscaler")
    assert env_names(autoscaler)[-5:] == [*VARIABLES, "MINE"]
    assert [mount["name"] for mount in autoscaler["volumeMounts"]] == ["ray-tls", "v", "ray-logs"]


def test_pods_first_wait_until_the_certificate_names_them() -> None:
    ray_like = {f"{GROUP}.template.spec.containers.0.securityContext": {"runAsUser": 7}}
    made = worker(TLS | ray_like | {f"{GROUP}.template.spec.initContainers": [{"name": "a", "image": "x"}]}, ALL_GATES)
    first = made["spec"]["initContainers"][0]
    assert (first["name"], first["image"], first["command"]) == ("wait-for-tls-ip-san", "ray:1", ["sh", "-c"])
    assert first["securityContext"] == {"runAsUser": 7}
    assert first["resources"]["limits"] == first["resources"]["requests"] == {"cpu": "50m", "memory": "64Mi"}
    assert env_names(first) == ["POD_IP", "FQ_RAY_IP", "RAY_IP"]
    assert env_values(first)["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert 'grep -qE "IP Address:${POD_IP}([^0-9.]|$)"' in first["args"][0]
    assert first["args"][0].endswith("  sleep 5\ndone")
    assert mounts(first) == {"/etc/ray/tls": "ray-tls"}


def test_nothing_without_the_gate() -> None:
    made = head(TLS, RaySettings())
    assert "ray-tls" not in str(made)
