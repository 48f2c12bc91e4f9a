"""The two sides of a comparison of RayServices: Manta's services and KubeRay's operator, with stubs for Serve."""

import pathlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.bench.cluster_sides import Manta, Side, kuberay_operator, services
from tests.integration.service_world import Services
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import wait_until
from tests.parts.stub_serves import StubServes

RECONCILER = "serve-reconciler"
NEEDED = ("watcher", "cluster-reconciler", RECONCILER, "dashboard-gateway")
LIMIT_SECONDS = 600
PASSES = re.compile(rf'^manta_passes_total\{{[^}}]*worker="{RECONCILER}"[^}}]*\}} (\S+)$', re.MULTILINE)
Start = Callable[[ControlPlane, str, str, pathlib.Path], AbstractContextManager[Side]]


class Operated(Services):
    """A namespace whose RayServices an operator looks after; all dashboards and proxies are stubs."""

    def __init__(self, plane: ControlPlane, namespace: str, side: Side, serves: StubServes) -> None:
        super().__init__(plane, namespace)
        self.side, self.serves = side, serves

    def passes(self) -> float:
        """How many passes RayServices have cost Manta."""
        assert isinstance(self.side, Manta)
        return sum(float(count) for count in PASSES.findall(self.side.metrics(RECONCILER)))


@contextmanager
def manta(plane: ControlPlane, namespace: str, serves: str, folder: pathlib.Path) -> Iterator[Side]:
    """As much of Manta as RayServices need, each service a process as in production."""
    with services(plane, namespace, folder, NEEDED, MANTA_DASHBOARD_GATEWAY_REACH=serves) as side:
        yield side


@contextmanager
def kuberay(plane: ControlPlane, namespace: str, serves: str, folder: pathlib.Path) -> Iterator[Side]:
    """KubeRay, which reaches dashboards and proxies by their names: the stub is its proxy for all."""
    process = kuberay_operator(plane, namespace, folder, port=free_port(), proxy=f"http://{serves}")
    process.start()
    try:
        yield Side("KubeRay", {"kuberay": process})
    finally:
        process.kill()


@contextmanager
def operated(start: Start, plane: ControlPlane, folder: pathlib.Path) -> Iterator[Operated]:
    """A namespace of its own with an operator that serves one RayService already; all is gone before the next."""
    serves = StubServes.start()
    with plane.fresh_namespace("bench-services") as namespace, start(plane, namespace, serves.address, folder) as side:
        world = Operated(plane, namespace, side, serves)
        try:
            world.make("first")
            world.until("it serves", lambda: world.holds("first", "Ready"))
            yield world
        finally:
            serves.hung.clear()
            delete_all(world, "rayservices")
    serves.stop()


def delete_all(world: Services, *plurals: str) -> None:
    """Delete all objects of these kinds, and wait until their pods are gone."""
    for plural in plurals:
        world.plane.kubectl("delete", plural, "--all", "--namespace", world.namespace, "--timeout=300s")
    wait_until("the pods are gone", lambda: not world.names("pods"), limit_seconds=LIMIT_SECONDS)
