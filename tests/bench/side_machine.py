"""What a comparison was measured on and with: facts without names."""

import os
import pathlib
import platform

from tests.bench.side_results import Machine
from tests.tools import images
from tests.tools.catalogue import TOOLS

GIB = 2**30


def machine() -> Machine:
    """This machine."""
    return Machine(
        cores=os.cpu_count() or 0,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        processor=processor(pathlib.Path("/proc/cpuinfo").read_text()),
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
    )


def versions() -> dict[str, str]:
    """What takes part."""
    parts = {"KubeRay": "kuberay", "Kubernetes": "kube-apiserver", "etcd": "etcd", "kwok": "kwok"}
    return {name: TOOLS[tool].version.removeprefix("v") for name, tool in parts.items()} | {
        "nats-server": images.nats_version()
    }


def processor(text: str) -> str:
    """The processor's name; an unknown one says so."""
    named = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return named[0] if named else platform.machine()
