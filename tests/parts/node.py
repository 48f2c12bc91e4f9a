"""A real node for end-to-end tests, on a control plane of its own, where nothing of it touches this machine."""

import contextlib
import pathlib
from collections.abc import Iterator

from tests.parts import cgroups, node_configs, node_packages
from tests.parts.cluster import ApiError, Cluster
from tests.parts.enclosure import Enclosure
from tests.parts.node_images import Image, busybox_image, pause_image
from tests.parts.node_plane import NODE, NodePlane
from tests.parts.node_programs import NodePrograms
from tests.parts.process import PartFailed, Unavailable, wait_until
from tests.tools.build import BuildFailed, ensure
from tests.tools.catalogue import TOOLS, needed_for

BUSYBOX_IMAGE = "manta.test/busybox:1"
START_LIMIT_SECONDS = 90
IMPORT_LIMIT_SECONDS = 300
CREATE_LIMIT_SECONDS = 30
DNS_SERVICE = "api/v1/namespaces/kube-system/services"
DNS_ENDPOINTS = "apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"


class RealNode(Cluster):
    """A cluster with one real node: its pods reach each other, services and the API server, and nothing else."""

    def __init__(self, folder: pathlib.Path, enclosure: Enclosure, cgroup: str) -> None:
        folder.mkdir(parents=True)
        self.folder, self.enclosure, self.cgroup = folder, enclosure, cgroup
        self.plane = NodePlane(folder / "control-plane", enclosure)
        super().__init__(
            f"kubernetes {TOOLS['kubelet'].version} with one real node (containerd, kubelet, kube-proxy,"
            f" CoreDNS {TOOLS['coredns'].version}) in an enclosure",
            server=self.plane.server,
            ca=self.plane.ca,
            token=self.plane.token,
            kubeconfig=self.plane.kubeconfig,
        )
        self.programs = NodePrograms(folder / "programs", enclosure, plane=self.plane, cgroup=cgroup)

    @classmethod
    def start(cls, folder: pathlib.Path) -> "RealNode":
        """Build or install what is missing, start everything and wait until pods run and names resolve."""
        node_packages.ensure()
        try:
            ensure([*needed_for("test"), *needed_for("node")])
        except BuildFailed as error:
            raise Unavailable(f"the node cannot be built: {error}") from error
        with contextlib.ExitStack() as undo:
            enclosure = _open_enclosure(folder / "enclosure", undo)
            node = cls(folder / "node", enclosure, _make_cgroup(enclosure, undo))
            undo.callback(node.stop)
            node._start_all()
            undo.pop_all()
        return node

    def import_image(self, image: Image) -> None:
        """Give the node an image made of files on this machine."""
        archive = image.write(self.folder / "image.tar")
        self.import_archive(archive)
        archive.unlink()

    def import_archive(self, archive: pathlib.Path) -> None:
        """Give the node the images of an archive, as `docker save` writes them."""
        ctr = ("ctr", "--address", str(self.programs.socket), "--namespace", "k8s.io")
        self.enclosure.run(*ctr, "images", "import", str(archive), limit_seconds=IMPORT_LIMIT_SECONDS)

    @contextlib.contextmanager
    def fresh_namespace(self, stem: str) -> Iterator[str]:
        """A namespace in which pods can be made at once; deleted, without waiting, at the end."""
        with super().fresh_namespace(stem) as name:
            self._wait_for(f"api/v1/namespaces/{name}/serviceaccounts/default")
            self._wait_for(f"api/v1/namespaces/{name}/configmaps/kube-root-ca.crt")
            yield name

    def stop(self) -> None:
        """End everything: with the enclosure go its processes, pods, mounts and network."""
        self.enclosure.close()
        for process in self.programs.all:
            process.kill()
        self.plane.stop()
        cgroups.remove(self.cgroup)

    def log_tail(self) -> str:
        """The ends of all logs."""
        tails = [f"--- {process.name}\n{process.tail(12)}" for process in self.programs.all]
        return "\n".join([*tails, self.plane.log_tail()])

    def _start_all(self) -> None:
        self._keep_pods_in()
        self.programs.start_containerd()
        self._import_first_images()
        self.plane.launch()
        self._publish_dns()
        self.programs.start_others()
        self.programs.kubelet.wait_until("the node is ready", self._is_ready, limit_seconds=START_LIMIT_SECONDS)

    def _keep_pods_in(self) -> None:
        """Pods may answer this machine, as through a NodePort, but not call it."""
        calls = ("--source", node_configs.POD_NETWORK, "--out-interface", "eth0", "--match", "conntrack")
        self.enclosure.run("iptables", "--append", "FORWARD", *calls, "--ctstate", "NEW", "--jump", "REJECT")

    def _import_first_images(self) -> None:
        """The images that no test should have to bring: the one under every pod, and a shell."""
        busybox = node_packages.busybox()
        if busybox is None:
            raise PartFailed("busybox was there and is gone")
        self.import_image(pause_image(node_configs.PAUSE_IMAGE, busybox))
        self.import_image(busybox_image(BUSYBOX_IMAGE, busybox, self.folder / "busybox"))

    def _publish_dns(self) -> None:
        """CoreDNS is a program on the node, not a pod; pods reach it through a service all the same."""
        self._wait_for("api/v1/namespaces/kube-system")
        self.request("POST", DNS_SERVICE, node_configs.dns_service())
        self.request("POST", DNS_ENDPOINTS, node_configs.dns_endpoints(self.enclosure.address))

    def _is_ready(self) -> bool:
        """Whether the kubelet says so and the scheduler may believe it."""
        if not self._has(f"api/v1/nodes/{NODE}"):
            return False
        node = self.request("GET", f"api/v1/nodes/{NODE}")
        conditions = {condition["type"]: condition["status"] for condition in node["status"].get("conditions", [])}
        return conditions.get("Ready") == "True" and not node["spec"].get("taints")

    def _wait_for(self, path: str) -> None:
        wait_until(f"there is {path}", lambda: self._has(path), limit_seconds=CREATE_LIMIT_SECONDS)

    def _has(self, path: str) -> bool:
        try:
            self.request("GET", path)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True


def _open_enclosure(folder: pathlib.Path, undo: contextlib.ExitStack) -> Enclosure:
    enclosure = Enclosure(folder)
    undo.callback(enclosure.close)
    try:
        enclosure.open()
    except PartFailed as error:
        raise Unavailable(f"this machine does not let even root make namespaces: {error}") from error
    return enclosure


def _make_cgroup(enclosure: Enclosure, undo: contextlib.ExitStack) -> str:
    name = cgroups.name_for(enclosure.pid)
    undo.callback(cgroups.remove, name)
    try:
        cgroups.make(name)
    except OSError as error:
        raise Unavailable(f"this machine does not let even root make control groups: {error}") from error
    return name
