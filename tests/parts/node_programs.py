"""The programs that make a machine a node: containerd, kubelet, kube-proxy and CoreDNS."""

import pathlib
import urllib.request

from tests.parts import node_configs, node_packages
from tests.parts.enclosure import Enclosure
from tests.parts.node_plane import KUBE_PROXY, KUBELET, NODE, NodePlane
from tests.parts.process import PartFailed, Process
from tests.tools.catalogue import TOOLS

START_LIMIT_SECONDS = 90


class NodePrograms:
    """What runs on one node, with everything it writes in one folder."""

    def __init__(self, folder: pathlib.Path, enclosure: Enclosure, *, plane: NodePlane, cgroup: str) -> None:
        self.folder, self.enclosure, self.plane, self.cgroup = folder, enclosure, plane, cgroup
        self.socket = folder / "containerd.sock"
        folder.mkdir(parents=True)
        self.containerd = enclosure.process("containerd", self._containerd(), folder / "containerd.log")
        self.kubelet = self._process("kubelet", *self._kubelet())
        self.kube_proxy = self._process("kube-proxy", *self._kube_proxy())
        self.coredns = self._process("coredns", *self._coredns())
        self.all = (self.containerd, self.kubelet, self.kube_proxy, self.coredns)

    def start_containerd(self) -> None:
        """Start what runs containers and wait until it answers."""
        self.containerd.start()
        self.containerd.wait_until("it answers", self.socket.exists, limit_seconds=START_LIMIT_SECONDS)
        self.enclosure.run("ctr", "--address", str(self.socket), "--connect-timeout", "60s", "version")

    def start_others(self) -> None:
        """Start what needs the API server and wait until services have rules and names resolve."""
        for process in (self.kubelet, self.kube_proxy, self.coredns):
            process.start()
        address = self.enclosure.address
        self.kube_proxy.wait_until(
            "services have rules", lambda: _is_healthy(address, 10256, "healthz"), limit_seconds=START_LIMIT_SECONDS
        )
        self.coredns.wait_until(
            "names resolve", lambda: _is_healthy(address, 8181, "ready"), limit_seconds=START_LIMIT_SECONDS
        )

    def _process(self, tool: str, *flags: str) -> Process:
        return self.enclosure.process(tool, [str(TOOLS[tool].path), *flags], self.folder / f"{tool}.log")

    def _write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def _containerd(self) -> list[str]:
        plugins = node_packages.network_plugins()
        if plugins is None:
            raise PartFailed("the network plugins were there and are gone")
        self._write("network/10-pods.conflist", node_configs.network())
        config = node_configs.containerd(self.folder, plugins=plugins, socket=self.socket)
        return ["containerd", "--config", str(self._write("containerd.toml", config))]

    def _kubelet(self) -> list[str]:
        self._write("resolv.conf", "")
        config = node_configs.kubelet(
            self.folder, address=self.enclosure.address, ca=self.plane.ca, cgroup=self.cgroup, socket=self.socket
        )
        return [
            f"--config={self._write('kubelet.json', config)}",
            f"--kubeconfig={self.plane.kubeconfig_of(KUBELET)}",
            f"--hostname-override={NODE}",
            f"--node-ip={self.enclosure.address}",
            f"--root-dir={self.folder}/kubelet",
            f"--cert-dir={self.folder}/kubelet-certificates",
        ]

    def _kube_proxy(self) -> list[str]:
        kubeconfig = self.plane.kubeconfig_of(KUBE_PROXY)
        config = node_configs.kube_proxy(kubeconfig, address=self.enclosure.address, node=NODE)
        return [f"--config={self._write('kube-proxy.json', config)}"]

    def _coredns(self) -> list[str]:
        config = node_configs.coredns(self.plane.kubeconfig, address=self.enclosure.address)
        return ["-conf", str(self._write("Corefile", config))]


def _is_healthy(address: str, port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}:{port}/{path}", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
