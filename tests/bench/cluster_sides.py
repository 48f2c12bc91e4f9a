"""The two sides of a comparison: KubeRay's operator, and Manta's services, each in a process as in production."""

import os
import pathlib
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.parts.control_plane import ControlPlane
from tests.parts.nats import has_jetstream, native, settings
from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.parts.server import Native, data_folder
from tests.tools.catalogue import TOOLS

RECONCILER = "cluster-reconciler"
MANTA = str(pathlib.Path(sys.executable).parent / "manta")
CALLS = re.compile(r'^manta_api_calls_total\{[^}]*verb="(\w+)",kind="(\w+)",outcome="ok"\} (\S+)$', re.MULTILINE)
PASSES = re.compile(r'^manta_passes_total\{[^}]*outcome="(\w+)"\} (\S+)$', re.MULTILINE)


class Side:
    """Processes that look after the RayClusters of one namespace."""

    def __init__(self, name: str, processes: Mapping[str, Process]) -> None:
        self.name, self.processes = name, dict(processes)

    def cpu_seconds(self) -> float:
        """CPU time of all processes so far."""
        return sum(cpu_seconds(process.pid) for process in self.processes.values())

    def shares(self) -> dict[str, float]:
        """CPU time of each process so far."""
        return {name: cpu_seconds(process.pid) for name, process in self.processes.items()}

    def mib(self) -> dict[str, float]:
        """The most memory that each process has taken so far."""
        return {name: _peak_mib(process.pid) for name, process in self.processes.items()}


class Manta(Side):
    """NATS and services of Manta, each a process."""

    def __init__(self, processes: Mapping[str, Process], ports: Mapping[str, int]) -> None:
        super().__init__("Manta", processes)
        self._ports = ports

    def calls(self, service: str) -> dict[str, float]:
        """The calls that the API server has answered a service so far, by verb and kind."""
        found = CALLS.findall(self.metrics(service))
        return {f"{verb} {kind}": float(number) for verb, kind, number in found}

    def passes(self, service: str) -> dict[str, float]:
        """The passes of a service so far, by outcome."""
        return {outcome: float(number) for outcome, number in PASSES.findall(self.metrics(service))}

    def metrics(self, service: str) -> str:
        """What a service measures."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[service]}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
        return text


def kuberay_operator(
    plane: ControlPlane, namespace: str, folder: pathlib.Path, *, port: int, proxy: str = ""
) -> Process:
    """KubeRay's operator, not started yet; its metrics are at `port`, and it reaches dashboards by a proxy if given."""
    flags = ["--enable-leader-election=false", f"--watch-namespace={namespace}"]
    flags += [f"--metrics-addr=127.0.0.1:{port}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
    settings = {"KUBECONFIG": str(plane.kubeconfig), **({"HTTP_PROXY": proxy} if proxy else {})}
    return Process("kuberay", [str(TOOLS["kuberay"].path), *flags], folder / "kuberay.log", environment=settings)


@contextmanager
def kuberay(plane: ControlPlane, namespace: str, folder: pathlib.Path) -> Iterator[Side]:
    """KubeRay's operator for one namespace."""
    process = kuberay_operator(plane, namespace, folder, port=free_port())
    process.start()
    try:
        yield Side("KubeRay", {"kuberay": process})
    finally:
        process.kill()


@contextmanager
def manta(plane: ControlPlane, namespace: str, folder: pathlib.Path, *, replicas: int = 1) -> Iterator[Manta]:
    """Manta for one namespace: only what RayClusters need."""
    names = ["watcher", *(f"{RECONCILER}-{number}" for number in range(replicas))]
    with services(plane, namespace, folder, names) as side:
        yield side


@contextmanager
def services(
    plane: ControlPlane,
    namespace: str,
    folder: pathlib.Path,
    names: Iterable[str],
    program: Sequence[str] = (MANTA,),
    **settings: str,
) -> Iterator[Manta]:
    """NATS and these services of Manta for one namespace, each a process; a number at the end tells replicas apart."""
    with tempfile.TemporaryDirectory(prefix="manta-") as data:
        bus = _nats(pathlib.Path(data))
        environment = {
            "MANTA_KUBECONFIG": str(plane.kubeconfig),
            "MANTA_NATS_URLS": "nats://{}:{}".format(*bus.address),
            "MANTA_WATCH_NAMESPACES": namespace,
            **settings,
        }
        ports = {name: free_port() for name in names}
        started = {name: _service(name, ports[name], folder, environment) for name in ports}
        for process in started.values():
            process.command[:1] = program
        processes: dict[str, Process] = {"nats": bus, **started}
        try:
            for process in started.values():
                process.start()
            yield Manta(processes, ports)
        finally:
            for process in processes.values():
                process.kill()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _nats(folder: pathlib.Path) -> Native:
    port = free_port()
    server = native(folder, port, settings(f"127.0.0.1:{port}", str(data_folder(folder))))
    server.start()
    server.wait_until("it answers", lambda: has_jetstream(server.address), limit_seconds=30)
    return server


def _service(name: str, port: int, folder: pathlib.Path, environment: Mapping[str, str]) -> Process:
    service = re.sub(r"-\d+$", "", name)
    own = {**environment, "MANTA_HTTP_ADDRESS": f"127.0.0.1:{port}"}
    return Process(name, [MANTA, "run", service], folder / f"{name}.log", environment=own)


def _peak_mib(pid: int) -> float:
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
