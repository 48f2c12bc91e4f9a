"""The init container that waits for the head."""

import subprocess

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import ADDRESS, GROUP, HEAD, RAY, container, env_names, head, worker

NAME = "wait-gcs-ready"


def test_it_is_like_ray_s_container() -> None:
    like = {
        "imagePullPolicy": "Always",
        "securityContext": {"runAsUser": 1},
        "env": [{"name": "MINE", "value": "1"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    made = container(worker({f"{GROUP}.{RAY}.{field}": value for field, value in like.items()}), NAME)
    assert {field: made[field] for field in like if field != "env"} == {
        field: value for field, value in like.items() if field != "env"
    }
    assert env_names(made) == ["MINE", "FQ_RAY_IP", "RAY_IP"]
    assert made["image"] == "ray:1"
    assert made["resources"]["limits"] == made["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}


def test_it_asks_the_head_and_is_silent_for_two_minutes() -> None:
    script = container(worker({f"{HEAD}.rayStartParams": {"port": "7"}}), NAME)["args"][0]
    assert script.startswith(
        "\n\t\t\t\t\tSECONDS=0\n\t\t\t\t\twhile true; do\n\t\t\t\t\t\tif (( SECONDS <= 120 )); then\n"
    )
    assert script.endswith("\n\t\t\t\t\tdone\n\t\t\t\t")
    assert script.count(f"ray health-check --address {ADDRESS}:7") == 2
    assert script.count("> /dev/null 2>&1") == 1


def test_its_script_is_one_that_bash_can_run() -> None:
    script = container(worker(), NAME)["args"][0]
    checked = subprocess.run(["bash", "-n", "-c", script], capture_output=True, timeout=10, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_it_comes_last_and_only_to_workers() -> None:
    made = worker({f"{GROUP}.template.spec.initContainers": [{"name": "mine", "image": "x"}]})
    assert [one["name"] for one in made["spec"]["initContainers"]] == ["mine", NAME]
    assert "initContainers" not in head()["spec"]


def test_none_where_the_administrator_wants_none() -> None:
    assert "initContainers" not in worker(settings=RaySettings(init_container=False))["spec"]


def test_a_login_shell_where_the_administrator_wants_one() -> None:
    assert container(worker(settings=RaySettings(login_shell=True)), NAME)["command"] == ["/bin/bash", "-cl", "--"]
