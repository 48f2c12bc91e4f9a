"""The control plane of a real node: pods get tokens, reach the API server, and are reached through the kubelet."""

import pathlib
from collections.abc import Mapping
from typing import ClassVar

from tests.parts.control_plane import SYSTEM_USERS, ControlPlane
from tests.parts.enclosure import Enclosure
from tests.parts.process import Process
from tests.tools.catalogue import TOOLS

NODE = "manta-node"
KUBELET, KUBE_PROXY = f"system:node:{NODE}", "system:kube-proxy"


class NodePlane(ControlPlane):
    """Our own control plane in an enclosure, with the identities that a real node needs, and no kwok nodes."""

    users: ClassVar[Mapping[str, str]] = {**SYSTEM_USERS, KUBELET: "system:nodes", KUBE_PROXY: ""}

    def __init__(self, folder: pathlib.Path, enclosure: Enclosure) -> None:
        self.enclosure = enclosure
        super().__init__(folder, address=enclosure.address)
        caller = self.authority.issue_cert(
            "kube-apiserver", organization_name="system:masters", common_name="kube-apiserver"
        )
        caller.private_key_and_cert_chain_pem.write_to_path(folder / "kubelet-client.pem")

    def launch(self) -> None:
        """Start everything and wait until it is ready."""
        self._start_all()

    def kubeconfig_of(self, user: str) -> pathlib.Path:
        """A kubeconfig with the rights of one of the users."""
        return self._kubeconfig(user, self.server, self.ca)

    def _start_nodes(self) -> None:
        """No kwok: a real node joins by itself."""

    def _process(self, tool: str, *flags: str) -> Process:
        return self.enclosure.process(tool, [str(TOOLS[tool].path), *flags], self.folder / f"{tool}.log")

    def _node_flags(self) -> list[str]:
        return [
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={self.folder}/kubelet-client.pem",
            f"--kubelet-client-key={self.folder}/kubelet-client.pem",
            "--kubelet-preferred-address-types=InternalIP",
        ]
