"""The operators of a comparison, each as in production: KubeRay in one process, Manta's services in one each."""

import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from tests.bench.cluster_sides import RECONCILER, Side, kuberay_operator, services
from tests.bench.side_plane import SidePlane
from tests.bench.side_results import KUBERAY, MANTA, RAW, TUNED
from tests.parts.ports import free_port

TUNING = ("--reconcile-concurrency=10", "--qps=500", "--burst=1000")
OTHERS = ("watcher", "job-reconciler", "serve-reconciler", "dashboard-gateway", "janitor")
REPLICAS = (1, 2, 3)
BUS = "nats"  # the one of Manta's processes that is not ours
IN_A_POD = (sys.executable, str(pathlib.Path(__file__).with_name("pod_process.py")))
Start = Callable[[SidePlane, str, pathlib.Path, str], AbstractContextManager[Side]]


def operator(side: str) -> Start:
    """How a side is started: for one namespace, with a folder for its logs and the address of all dashboards."""
    known: dict[str, Start] = {RAW: nobody, KUBERAY: _kuberay(()), TUNED: _kuberay(TUNING), MANTA: _manta(1)}
    return (known | {replicated(number): _manta(number) for number in REPLICAS})[side]


def replicated(number: int) -> str:
    """What Manta with so many cluster-reconcilers is called."""
    return f"{MANTA} x{number}"


def own(side: Side) -> Sequence[str]:
    """The processes of an operator, without the bus."""
    return [name for name in side.processes if name != BUS]


@contextmanager
def nobody(plane: SidePlane, namespace: str, folder: pathlib.Path, dashboards: str) -> Iterator[Side]:
    """No operator at all."""
    yield Side(RAW, {})


def _kuberay(flags: Sequence[str]) -> Start:
    @contextmanager
    def start(plane: SidePlane, namespace: str, folder: pathlib.Path, dashboards: str) -> Iterator[Side]:
        proxy = f"http://{dashboards}" if dashboards else ""
        process = kuberay_operator(plane, namespace, folder, port=free_port(), proxy=proxy)
        process.command += flags
        process.environment["KUBECONFIG"] = str(plane.operator_kubeconfig)
        process.start()
        try:
            yield Side(KUBERAY, {"kuberay": process})
        finally:
            process.kill()

    return start


def _manta(replicas: int) -> Start:
    names = [*OTHERS, *(f"{RECONCILER}-{number}" for number in range(replicas))]

    @contextmanager
    def start(plane: SidePlane, namespace: str, folder: pathlib.Path, dashboards: str) -> Iterator[Side]:
        account = plane.service_account(folder / "account")
        settings = {"MANTA_KUBECONFIG": "", "KUBECONFIG": "", "MANTA_BENCH_ACCOUNT": str(account)}
        settings |= {"KUBERNETES_SERVICE_HOST": plane.address, "KUBERNETES_SERVICE_PORT": str(plane.port)}
        if dashboards:
            settings["MANTA_DASHBOARD_GATEWAY_REACH"] = dashboards
        with services(plane, namespace, folder, names, IN_A_POD, **settings) as side:
            yield side

    return start
