"""What a service loads when it starts: every process pays for it in memory, whether it is ever used or not."""

import json
import pathlib
import subprocess
import sys

import pytest

from manta_cli.services import BUILT

SELDOM = {  # by what needs it
    "kubernetes_asyncio": "a kubeconfig with a sign-on",
    "opentelemetry.exporter": "traces that are sent",
    "opentelemetry.sdk": "traces that are sent",
    "psutil": "OpenTelemetry's SDK",
    "redis": "clusters with state in Redis that the janitor itself cleans up",
    "requests": "OpenTelemetry's exporter",
    "yaml": "settings in a file",
    "manta_embedded": "a standalone Manta",
}
READS_YAML = {"job-reconciler", "serve-reconciler", "janitor"}  # what users write into RayJobs and RayServices
START = """
import sys
from manta_cli.running import run_service
from manta_cli.services import BUILT
service = BUILT[sys.argv[1]]
assert run_service and service.config and service.main and service.about
print(*sys.modules)
"""
READ = """
import asyncio, sys
from manta_common.kube.access import source
assert asyncio.run(source(sys.argv[1])()).authorization == "Bearer t"
print(*sys.modules)
"""


@pytest.mark.parametrize("name", BUILT)
def test_a_service_loads_neither_another_one_nor_what_few_need(name: str) -> None:
    loaded = modules(START, name)
    assert BUILT[name].package in loaded
    others = {service.package for other, service in BUILT.items() if other != name}
    seldom = SELDOM.keys() - ({"yaml"} if name in READS_YAML else set())
    assert not loaded & (others | seldom)


def test_to_read_a_kubeconfig_needs_no_client_of_another(tmp_path: pathlib.Path) -> None:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://10.1.2.3:6443"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(document))
    assert "kubernetes_asyncio" not in modules(READ, str(path))


def modules(script: str, argument: str) -> set[str]:
    """What a process of its own has loaded in the end."""
    command = [sys.executable, "-c", script, argument]
    return set(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split())
