"""kubectl prints the same against the embedded API as against the real one."""

import functools
import secrets
import subprocess

import pytest

from tests.contract.kubectl_session import COMMANDS, Command, run
from tests.parts import crds
from tests.parts.cluster import Cluster
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.process import wait_until


@pytest.fixture(scope="module")
def outputs(kubernetes: Cluster, embedded_cluster: EmbeddedCluster) -> dict[str, list[str]]:
    """What every command of the session printed, against both."""
    found = {}
    for name, cluster in {"real": kubernetes, "embedded": embedded_cluster}.items():
        crds.install(cluster)
        namespace = f"session-{secrets.token_hex(3)}"
        cluster.request("POST", "api/v1/namespaces", {"metadata": {"name": namespace}})
        found[name] = [_run(cluster, namespace, command) for command in COMMANDS]
        cluster.request("DELETE", f"api/v1/namespaces/{namespace}")
    return found


def _run(cluster: Cluster, namespace: str, command: Command) -> str:
    """What a command prints; before the next one what it has begun is done, as far as that can be seen."""
    printed = run(cluster, namespace, command)
    if command is COMMANDS[0]:
        cluster.kubectl("wait", "job/later", "--for=condition=Suspended", "--timeout=200s", "-n", namespace)
    if command.line.startswith("create rolebinding"):
        wait_until("the binding counts", functools.partial(_may_list, cluster, namespace), limit_seconds=30)
    return printed


def _may_list(cluster: Cluster, namespace: str) -> bool:
    account = f"--as=system:serviceaccount:{namespace}:worker"
    try:
        return cluster.kubectl("auth", "can-i", account, "list", "pods", "-n", namespace).strip() == "yes"
    except subprocess.CalledProcessError:
        return False


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[f"{n}: {one.line}" for n, one in enumerate(COMMANDS)])
def test_a_command_prints_what_it_prints_on_a_real_cluster(outputs: dict[str, list[str]], number: int) -> None:
    assert outputs["embedded"][number] == outputs["real"][number]
