"""The Node object that stands for this machine. Pure but for asking what the machine is."""

import platform

from manta_embedded.node.settings import NodeSettings
from manta_embedded.store.objects import Obj

ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}


def labels(name: str) -> dict[str, str]:
    """By which pods may choose this node."""
    system, machine = platform.system().lower(), platform.machine()
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
        "kubernetes.io/arch": ARCHITECTURES.get(machine, machine),
    }


def node(settings: NodeSettings, address: str, now: str) -> Obj:
    """The object, with its status."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "manta runs pods as processes of this machine",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    room = dict(settings.capacity)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": settings.name, "labels": labels(settings.name)},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [ready],
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": settings.name},
            ],
            "nodeInfo": _info(),
        },
    }


def _info() -> Obj:
    machine = platform.machine()
    return {
        "architecture": ARCHITECTURES.get(machine, machine),
        "operatingSystem": platform.system().lower(),
        "kernelVersion": platform.release(),
        "osImage": platform.platform(terse=True),
        "kubeletVersion": "v1.36.0-manta",
        "kubeProxyVersion": "",
        "containerRuntimeVersion": f"process://{platform.python_version()}",
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
    }
