"""kubectl prints the same against the embedded API as against the real one."""

import secrets

import pytest

from tests.contract.kubectl_session import COMMANDS, run
from tests.parts import crds
from tests.parts.cluster import Cluster
from tests.parts.embedded_api import EmbeddedCluster


@pytest.fixture(scope="module")
def outputs(kubernetes: Cluster, embedded_cluster: EmbeddedCluster) -> dict[str, list[str]]:
    """What every command of the session printed, against both."""
    found = {}
    for name, cluster in {"real": kubernetes, "embedded": embedded_cluster}.items():
        crds.install(cluster)
        namespace = f"session-{secrets.token_hex(3)}"
        cluster.request("POST", "api/v1/namespaces", {"metadata": {"name": namespace}})
        found[name] = [run(cluster, namespace, command) for command in COMMANDS]
        cluster.request("DELETE", f"api/v1/namespaces/{namespace}")
    return found


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[f"{n}: {one.line}" for n, one in enumerate(COMMANDS)])
def test_a_command_prints_what_it_prints_on_a_real_cluster(outputs: dict[str, list[str]], number: int) -> None:
    assert outputs["embedded"][number] == outputs["real"][number]
