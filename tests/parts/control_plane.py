"""A real Kubernetes control plane for the tests: etcd, kube-apiserver, controller manager, scheduler and kwok nodes."""

import json
import os
import pathlib
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.parts.audit import POLICY
from tests.parts.cluster import ApiError, Cluster, given_cluster, k3s_cluster
from tests.parts.fault_proxy import FaultProxy
from tests.parts.kubeconfig import write_kubeconfig
from tests.parts.ports import free_port
from tests.parts.process import PartFailed, Process, Unavailable, accepts, wait_until
from tests.tools.build import BuildFailed, ensure
from tests.tools.catalogue import TOOLS, needed_for

NODES = 40
SERVICE_NETWORK = "10.96.0.0/14"
API_SERVICE_ADDRESS = "10.96.0.1"
KWOK_STARTS, KWOK_RACE = 3, "fatal error: concurrent map writes"
START_LIMIT_SECONDS = 90
SYSTEM_USERS = {
    "admin": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
    "nobody": "",
}
STAGES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
# By default the scheduler binds 50 pods a second, and controllers make 20 calls: that would be all we measure.
UNTHROTTLED = ("--kube-api-qps=2000", "--kube-api-burst=2000")


class ControlPlane(Cluster):
    """Our own control plane on free ports of one address, with a fault proxy in front of its API server."""

    users: ClassVar[Mapping[str, str]] = SYSTEM_USERS

    def __init__(self, folder: pathlib.Path, *, address: str = "127.0.0.1") -> None:
        folder.mkdir(parents=True)
        self.folder, self.address = folder, address
        self.audit_log = folder / "audit.log"
        self.port, self.etcd_port = free_port(), free_port()
        self.tokens = {user: secrets.token_hex(16) for user in self.users}
        self.authority = trustme.CA()
        self._write_identities()
        server, ca = f"https://{address}:{self.port}", folder / "ca.pem"
        super().__init__(
            f"kubernetes {TOOLS['kube-apiserver'].version} with etcd {TOOLS['etcd'].version}"
            f" and {NODES} kwok {TOOLS['kwok'].version} nodes, built from source",
            server=server,
            ca=ca,
            token=self.tokens["admin"],
            kubeconfig=self._kubeconfig("admin", server, ca),
        )
        self.etcd = self._process("etcd", *self._etcd_flags())
        self.api_server = self._process("kube-apiserver", *self._api_server_flags())
        self.controller_manager = self._process("kube-controller-manager", *self._controller_manager_flags())
        self.scheduler = self._process("kube-scheduler", *self._scheduler_flags())
        self.kwok = self._process("kwok", *self._kwok_flags())
        self.proxy = FaultProxy(self.server, ca=ca, certificate=folder / "server.pem")
        self.proxy_kubeconfig = folder / "proxy.kubeconfig"

    @classmethod
    def start(cls, folder: pathlib.Path) -> "ControlPlane":
        """Build what is missing, start everything and wait until the nodes are ready."""
        try:
            ensure(needed_for("test"))
        except BuildFailed as error:
            raise Unavailable(f"the control plane cannot be built: {error}") from error
        plane = cls(folder / "control-plane")
        try:
            plane._start_all()
        except BaseException:
            plane.stop()
            raise
        return plane

    def start_api_server(self) -> None:
        """Start the API server (again) and wait until it is ready."""
        self.api_server.start()
        self.api_server.wait_until("it is ready", self._is_ready, limit_seconds=START_LIMIT_SECONDS)

    def kill_api_server(self) -> None:
        """SIGKILL the API server; etcd keeps what it stored."""
        self.api_server.kill()

    def stop(self) -> None:
        """End everything. The API server would take ten seconds to say good-bye, and nothing of it is kept."""
        self.proxy.stop()
        for process in (self.kwok, self.scheduler, self.controller_manager, self.api_server, self.etcd):
            process.kill()

    def log_tail(self) -> str:
        """The ends of all logs."""
        processes = (self.etcd, self.api_server, self.controller_manager, self.scheduler, self.kwok)
        return "\n".join(f"--- {process.name}\n{process.tail(8)}" for process in processes)

    def _start_all(self) -> None:
        self.etcd.start()
        self.etcd.wait_until("it listens", lambda: accepts(self.etcd_port, self.address), limit_seconds=30)
        self.start_api_server()
        for process in (self.controller_manager, self.scheduler):
            process.start()
        self._start_nodes()
        wait_until(
            "the controller manager made a service account", self._has_account, limit_seconds=START_LIMIT_SECONDS
        )
        self.proxy.start()
        write_kubeconfig(self.proxy_kubeconfig, server=self.proxy.url, ca=self.ca, token=self.token)

    def _start_nodes(self) -> None:
        self.kwok.start()
        for number in range(NODES):
            self.request("POST", "api/v1/nodes", _kwok_node(number))
        self._until_nodes_are_ready()

    def _is_ready(self) -> bool:
        try:
            return bool(self.request("GET", "readyz") == "ok")
        except (ApiError, OSError):
            return False

    def _nodes_are_ready(self) -> bool:
        nodes = self.request("GET", "api/v1/nodes")["items"]
        return sum(_is_node_ready(node) for node in nodes) == NODES

    def _has_account(self) -> bool:
        return bool(self.request("GET", "api/v1/namespaces/default/serviceaccounts")["items"])

    def _process(self, tool: str, *flags: str) -> Process:
        return Process(tool, [str(TOOLS[tool].path), *flags], self.folder / f"{tool}.log")

    def _kubeconfig(self, user: str, server: str, ca: pathlib.Path) -> pathlib.Path:
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        return write_kubeconfig(path, server=server, ca=ca, token=self.tokens[user])

    def _write_identities(self) -> None:
        """Write the CA, the server's certificate, the key of service accounts, and the users with their tokens."""
        self.authority.cert_pem.write_to_path(self.folder / "ca.pem")
        names = dict.fromkeys((self.address, "127.0.0.1", "localhost", API_SERVICE_ADDRESS, "kubernetes.default.svc"))
        certificate = self.authority.issue_cert(*names)
        certificate.private_key_and_cert_chain_pem.write_to_path(self.folder / "server.pem")
        key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PrivateFormat.TraditionalOpenSSL
        text = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        (self.folder / "accounts.pem").write_bytes(text)
        rows = (f'{self.tokens[user]},{user},{user},"{group}"\n' for user, group in self.users.items())
        (self.folder / "tokens.csv").write_text("".join(rows))
        (self.folder / "audit.json").write_text(json.dumps(POLICY))

    def _etcd_flags(self) -> list[str]:
        client, peer = f"http://{self.address}:{self.etcd_port}", f"http://{self.address}:{free_port()}"
        return [
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--watch-progress-notify-interval=5s",  # as kubeadm has it: bookmarks for kinds that never change
            "--unsafe-no-fsync=true",
            "--log-level=warn",
        ]

    def _api_server_flags(self) -> list[str]:
        return [
            f"--etcd-servers=http://{self.address}:{self.etcd_port}",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",  # there may be no default route to guess one from
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.folder}/server.pem",
            f"--tls-private-key-file={self.folder}/server.pem",
            f"--token-auth-file={self.folder}/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self.folder}/accounts.pem",
            f"--service-account-key-file={self.folder}/accounts.pem",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            "--allow-privileged=true",
            f"--audit-policy-file={self.folder}/audit.json",
            f"--audit-log-path={self.audit_log}",
            *self._node_flags(),
        ]

    def _node_flags(self) -> list[str]:
        return [
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",  # pods need no token: nothing runs in them
            "--endpoint-reconciler-type=none",
        ]

    def _controller_manager_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self._kubeconfig('system:kube-controller-manager', self.server, self.ca)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.folder}/accounts.pem",
            f"--root-ca-file={self.ca}",
            *UNTHROTTLED,
            "--node-monitor-grace-period=24h",  # a machine that was frozen for a while must not lose its nodes
        ]

    def _scheduler_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self._kubeconfig('system:kube-scheduler', self.server, self.ca)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            *UNTHROTTLED,
        ]

    def _until_nodes_are_ready(self) -> None:
        """Wait for the nodes. kwok v0.8.0 may end as it starts, by a race of its own, and is then started again."""
        what, starts = f"{NODES} nodes are ready", 1
        while True:
            try:
                return self.kwok.wait_until(what, self._nodes_are_ready, limit_seconds=START_LIMIT_SECONDS)
            except PartFailed:
                if self.kwok.alive or starts == KWOK_STARTS or KWOK_RACE not in self.kwok.log.read_text():
                    raise
            starts += 1
            self.kwok.start()

    def _kwok_flags(self) -> list[str]:
        stages = TOOLS["kwok"].path.parent / "kustomize" / "stage"
        return [
            f"--kubeconfig={self.kubeconfig}",
            "--manage-all-nodes=true",
            "--v=WARN",
            "--cidr=10.88.0.0/16",
            "--node-ip=127.0.0.1",
            f"--server-address=127.0.0.1:{free_port()}",
            *(f"--config={file}" for stage in STAGES for file in _stage_files(stages / stage)),
        ]


def _stage_files(path: pathlib.Path) -> list[pathlib.Path]:
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    return [file for file in files if file.name != "kustomization.yaml"]


def _is_node_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _kwok_node(number: int) -> dict[str, Any]:
    name = f"kwok-{number:02}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok"},
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
    }


def cluster(folder: pathlib.Path) -> Cluster:
    """The cluster that the environment asks for: a given one, K3s in a container, or our own control plane."""
    given = os.environ.get("MANTA_TEST_KUBECONFIG")
    if given:
        return given_cluster(pathlib.Path(given), folder)
    if os.environ.get("MANTA_TEST_CLUSTER") == "k3s":
        return k3s_cluster(folder)
    return ControlPlane.start(folder)
