"""Manta as its chart installs it: objects in a real cluster, and the services as processes with just their rights."""

import base64
import pathlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.parts.control_plane import ControlPlane
from tests.parts.kubeconfig import write_kubeconfig
from tests.parts.nats import native
from tests.parts.ports import free_port, free_ports
from tests.parts.process import Process, accepts
from tests.parts.server import data_folder, fresh_folder
from tests.tools.catalogue import TOOLS

CHART = pathlib.Path(__file__).parents[2] / "deploy" / "helm" / "manta"
MANTA = str(pathlib.Path(sys.executable).parent / "manta")
UP_LIMIT_SECONDS = 60
Json = dict[str, Any]


def helm(*arguments: str, kubeconfig: pathlib.Path | None = None) -> str:
    """Run the pinned helm; its output, or an AssertionError with what it said."""
    where = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    command = [str(TOOLS["helm"].path), *arguments, *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr[-3000:]}"
    return done.stdout


def rendered(*flags: str) -> list[Json]:
    """What the chart makes of values."""
    version = TOOLS["kube-apiserver"].version
    text = helm("template", "manta", str(CHART), "--namespace", "manta-system", "--kube-version", version, *flags)
    return [document for document in yaml.safe_load_all(text) if document]


class Installed:
    """A release of the chart. Its pods run nothing; the same commands run here, as the same service accounts."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: pathlib.Path, values: Sequence[str]) -> None:
        self.plane, self.namespace, self.folder = plane, namespace, folder
        self.fullname = "manta"
        flags = [part for value in values for part in ("--set", value)]
        helm(
            "install", self.fullname, str(CHART), "--namespace", namespace, "--skip-crds", "--wait", *flags,
            kubeconfig=plane.kubeconfig,
        )  # fmt: skip
        self.nats_port = free_ports(1)[0]
        self.nats = self._nats()
        self.processes: dict[str, Process] = {}

    @property
    def services(self) -> list[str]:
        """The services that were installed."""
        found = self._objects("apis/apps/v1", "deployments")
        return [one["metadata"]["labels"]["app.kubernetes.io/component"] for one in found]

    def password(self, service: str) -> str:
        """The password by which a service is known to NATS."""
        secret = self._object("api/v1", "secrets", f"{self.fullname}-nats")
        return base64.b64decode(secret["data"][service]).decode()

    def nats_url(self, service: str) -> str:
        """Where NATS is, for a service."""
        return f"nats://{service}:{self.password(service)}@127.0.0.1:{self.nats_port}"

    def start(self, more: Mapping[str, str]) -> None:
        """Start NATS and every service, with some further settings."""
        self.nats.start()
        self.nats.wait_until("it listens", lambda: accepts(self.nats_port), limit_seconds=UP_LIMIT_SECONDS)
        config = self.folder / "config.yaml"
        config.write_text(self._object("api/v1", "configmaps", self.fullname)["data"]["config.yaml"])
        for service in self.services:
            self.processes[service] = self._process(service, config, more)
            self.processes[service].start()

    def restart(self) -> None:
        """Kill every service and start it again."""
        for process in self.processes.values():
            process.kill()
            process.start()

    def stop(self) -> None:
        """End all processes; what is installed stays."""
        for process in self.processes.values():
            process.kill()
        self.nats.stop()

    def _process(self, service: str, config: pathlib.Path, more: Mapping[str, str]) -> Process:
        account = f"{self.fullname}-{service}"
        (container,) = self._object("apis/apps/v1", "deployments", account)["spec"]["template"]["spec"]["containers"]
        given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        assert re.fullmatch(r"nats://\S+:\$\(NATS_PASSWORD\)@\S+:4222", given["MANTA_NATS_URLS"])
        token = self.plane.service_account_token(self.namespace, account)
        kubeconfig = write_kubeconfig(
            self.folder / f"{service}.kubeconfig", server=self.plane.server, ca=self.plane.ca, token=token
        )
        environment = given | {
            "MANTA_CONFIG": str(config),
            "MANTA_KUBECONFIG": str(kubeconfig),
            "MANTA_NATS_URLS": self.nats_url(service),
            "MANTA_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
            **more,
        }
        return Process(service, [MANTA, *container["args"]], self.folder / f"{service}.log", environment=environment)

    def _nats(self) -> Any:
        """nats-server with the chart's own configuration, on a free port."""
        folder = fresh_folder(self.folder, "nats")
        config = self._object("api/v1", "configmaps", f"{self.fullname}-nats")["data"]["nats.conf"]
        config = config.replace("port: 4222", f'listen: "127.0.0.1:{self.nats_port}"', 1)
        config = config.replace("http: 8222", f'http: "127.0.0.1:{free_port()}"', 1)
        config = config.replace("store_dir: /data", f'store_dir: "{data_folder(folder)}"', 1)
        for user in [*self.services, "routes"]:
            config = config.replace(f"$NATS_{user.upper().replace('-', '_')}_PASSWORD", self.password(user))
        return native(folder, self.nats_port, config.replace("$POD_NAME", "nats-0"))

    def _object(self, group: str, plural: str, name: str) -> Json:
        found: Json = self.plane.request("GET", f"{group}/namespaces/{self.namespace}/{plural}/{name}")
        return found

    def _objects(self, group: str, plural: str) -> list[Json]:
        found: list[Json] = self.plane.request("GET", f"{group}/namespaces/{self.namespace}/{plural}")["items"]
        return found
