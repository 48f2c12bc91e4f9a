"""Manta as its chart installs it: objects in a real cluster, and the services as processes with just their rights."""

import base64
import contextlib
import itertools
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
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
GRACE = "terminationGracePeriodSeconds"
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

    def __init__(self, plane: ControlPlane, namespace: str, folder: pathlib.Path, values: Sequence[str] | None) -> None:
        self.plane, self.namespace, self.folder = plane, namespace, folder
        self.fullname = "manta"
        if values is not None:  # else somebody has installed it already
            flags = [part for value in values for part in ("--set", value)]
            helm(
                "install", self.fullname, str(CHART), "--namespace", namespace, "--skip-crds", "--wait", *flags,
                kubeconfig=plane.kubeconfig,
            )  # fmt: skip
        self.nats_port = free_ports(1)[0]
        self.nats = self._nats()
        self.processes: dict[str, list[Process]] = {}
        self.more: Mapping[str, str] = {}
        self._numbers = itertools.count()

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
        """Start NATS and one process of every service, with some further settings."""
        self.more = more
        self.nats.start()
        self.nats.wait_until("it listens", lambda: accepts(self.nats_port), limit_seconds=UP_LIMIT_SECONDS)
        for service in self.services:
            self.processes[service] = [self._started(service)]

    def complete(self) -> None:
        """Start what is missing of the replicas of every Deployment, and wait until all are ready."""
        for service, running in self.processes.items():
            missing = self._deployment(service)["spec"]["replicas"] - len(running)
            running += [self._started(service) for _ in range(missing)]
        for running in self.processes.values():
            for process in running:
                _wait_until_ready(process)

    def restart(self, between: Callable[[], None]) -> None:
        """Kill every service, do something, and start them again."""
        every = [process for running in self.processes.values() for process in running]
        for process in every:
            process.kill()
        between()
        for process in every:
            process.start()

    def upgrade(self, version: str, *values: str) -> None:
        """Upgrade to another version of the chart, packed as it is shipped, with values over those it has."""
        helm("package", str(CHART), "--version", version, "--destination", str(self.folder))
        flags = [part for value in values for part in ("--set", value)]
        helm(
            "upgrade", self.fullname, str(self.folder / f"manta-{version}.tgz"), "--namespace", self.namespace,
            "--reset-then-reuse-values", "--wait", *flags, kubeconfig=self.plane.kubeconfig,
        )  # fmt: skip

    def replace(self, service: str, number: int) -> Process:
        """Replace one replica as a Deployment does: a new one that is ready, then SIGTERM to the old; which is over."""
        old = self.processes[service][number]
        new = self._started(service)
        _wait_until_ready(new)
        self.processes[service][number] = new
        old.stop(limit_seconds=self._deployment(service)["spec"]["template"]["spec"][GRACE])
        return old

    def uninstall(self) -> None:
        """Take the release away; its pods are gone with it, and so are the processes."""
        helm("uninstall", self.fullname, "--namespace", self.namespace, "--wait", kubeconfig=self.plane.kubeconfig)
        self.stop()

    def stop(self) -> None:
        """End all processes; what is installed stays."""
        for running in self.processes.values():
            for process in running:
                process.kill()
        self.nats.stop()

    def kubeconfig_of(self, account: str) -> pathlib.Path:
        """A kubeconfig by which a program is a service account of the release's namespace."""
        token = self.plane.service_account_token(self.namespace, account)
        path = self.folder / f"{account}.kubeconfig"
        return write_kubeconfig(path, server=self.plane.server, ca=self.plane.ca, token=token)

    def _started(self, service: str) -> Process:
        process = self._process(service, f"{service}-{next(self._numbers)}")
        process.start()
        return process

    def _process(self, service: str, name: str) -> Process:
        account = f"{self.fullname}-{service}"
        (container,) = self._deployment(service)["spec"]["template"]["spec"]["containers"]
        given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        assert re.fullmatch(r"nats://\S+:\$\(NATS_PASSWORD\)@\S+:4222", given["MANTA_NATS_URLS"])
        config = self.folder / f"{name}.yaml"
        config.write_text(self._object("api/v1", "configmaps", self.fullname)["data"]["config.yaml"])
        environment = given | {
            "MANTA_CONFIG": str(config),
            "MANTA_KUBECONFIG": str(self.kubeconfig_of(account)),
            "MANTA_NATS_URLS": self.nats_url(service),
            "MANTA_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
            **self.more,
        }
        return Process(name, [MANTA, *container["args"]], self.folder / f"{name}.log", environment=environment)

    def _deployment(self, service: str) -> Json:
        return self._object("apis/apps/v1", "deployments", f"{self.fullname}-{service}")

    def _nats(self) -> Any:
        """nats-server with the chart's own configuration, on a free port."""
        folder = fresh_folder(self.folder, "nats")
        config = self._object("api/v1", "configmaps", f"{self.fullname}-nats")["data"]["nats.conf"]
        config = config.replace("port: 4222", f'listen: "127.0.0.1:{self.nats_port}"', 1)
        config = config.replace("http: 8222", f'http: "127.0.0.1:{free_port()}"', 1)
        config = config.replace("store_dir: /data", f'store_dir: "{data_folder(folder)}"', 1)
        for user in [*self.services, "routes", "doctor"]:
            config = config.replace(f"$NATS_{user.upper().replace('-', '_')}_PASSWORD", self.password(user))
        return native(folder, self.nats_port, config.replace("$POD_NAME", "nats-0"))

    def _object(self, group: str, plural: str, name: str) -> Json:
        found: Json = self.plane.request("GET", f"{group}/namespaces/{self.namespace}/{plural}/{name}")
        return found

    def _objects(self, group: str, plural: str) -> list[Json]:
        found: list[Json] = self.plane.request("GET", f"{group}/namespaces/{self.namespace}/{plural}")["items"]
        return found


def _wait_until_ready(process: Process) -> None:
    """As the chart's readiness probe does."""
    url = f"http://{process.environment['MANTA_HTTP_ADDRESS']}/readyz"
    process.wait_until("it is ready", lambda: _answers(url), limit_seconds=UP_LIMIT_SECONDS)


def _answers(url: str) -> bool:
    with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False
