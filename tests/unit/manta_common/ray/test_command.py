"""How Ray is started."""

from typing import Any

import pytest

from manta_common.ray.settings import RaySettings
from tests.unit.manta_common.ray.clusters import ADDRESS, GROUP, HEAD, RAY, SETTINGS, env_values, head, ray, worker

ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "
START = (
    "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0 "
    " --metrics-export-port=8080 "
)
BASH = ["/bin/bash", "-c", "--"]
OVERWRITE = {"ray.io/overwrite-container-cmd": "True"}


@pytest.mark.parametrize(
    ("changes", "command", "args"),
    [
        pytest.param({}, BASH, [ULIMIT + START], id="Ray alone"),
        pytest.param(
            {f"{HEAD}.{RAY}.command": ["echo", "a"], f"{HEAD}.{RAY}.args": ["b"]},
            BASH,
            [f" echo  a  b  && {ULIMIT}{START}"],
            id="Ray after the user's command",
        ),
        pytest.param(
            {f"{HEAD}.{RAY}.args": ["sleep 1 && ray start --head"]},
            None,
            ["sleep 1 && ray start --head"],
            id="a user who starts Ray is left alone",
        ),
        pytest.param(
            {"metadata.annotations": OVERWRITE, f"{HEAD}.{RAY}.args": ["x"]},
            None,
            ["x"],
            id="the cluster says to overwrite",
        ),
        pytest.param(
            {f"{HEAD}.template.metadata": {"annotations": OVERWRITE}}, None, None, id="the template says to overwrite"
        ),
    ],
)
def test_the_head_s_command(changes: dict[str, Any], command: list[str] | None, args: list[str] | None) -> None:
    made = ray(head(changes))
    assert made.get("command") == command
    assert made.get("args") == args


def test_a_worker_joins_the_head() -> None:
    flags = f"--address={ADDRESS}:6379  --block  --dashboard-agent-listen-port=52365  --metrics-export-port=8080 "
    assert ray(worker())["args"] == [f"{ULIMIT}ray start  {flags}"]


def test_a_login_shell_where_the_administrator_wants_one() -> None:
    assert ray(head(settings=RaySettings(login_shell=True)))["command"] == ["/bin/bash", "-cl", "--"]


def test_the_generated_command_is_told_even_where_it_is_not_used() -> None:
    made = head({"metadata.annotations": OVERWRITE})
    assert env_values(ray(made))["KUBERAY_GEN_RAY_START_CMD"] == START
    assert made["metadata"]["annotations"]["ray.io/overwrite-container-cmd"] == "true"


def test_a_worker_s_parameters_are_its_own() -> None:
    changes = {f"{GROUP}.rayStartParams": {"num-cpus": "3"}, f"{HEAD}.rayStartParams": {"num-cpus": "1"}}
    assert "--num-cpus=3 " in ray(worker(changes, SETTINGS))["args"][0]
    assert "--num-cpus=1 " in ray(head(changes, SETTINGS))["args"][0]
