"""A scripted dashboard and the toy system, for every test of this folder that wants them."""

import contextlib
import pathlib
from collections.abc import Iterator

import pytest

from tests.integration.toy_world import CRD, World
from tests.parts.cluster import ApiError
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.process import wait_until
from tests.parts.registry import Parts
from tests.parts.stub_dashboard import StubDashboard


@pytest.fixture(scope="module")
def stub() -> Iterator[StubDashboard]:
    """One dashboard for all clusters of a module."""
    dashboard = StubDashboard.start()
    yield dashboard
    dashboard.stop()


@pytest.fixture(scope="session")
def toy_crd(control_plane: ControlPlane) -> None:
    """Toys can be made."""
    control_plane.request("POST", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    wait_until("the API server serves toys", lambda: _serves_toys(control_plane), limit_seconds=30)


@pytest.fixture(scope="module")
def toy_nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """The NATS of the toy system, which may be killed and wiped."""
    yield from parts.obtain("toy_nats", lambda: Nats.start_own(parts_folder))


@pytest.fixture(scope="module")
def toy_system(
    control_plane: ControlPlane, toy_crd: None, toy_nats: Nats, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The processes of the toy system; the tests of a module use them one after another."""
    with control_plane.fresh_namespace("plane") as name, contextlib.ExitStack() as stack:
        world = World(control_plane, [toy_nats.url], name, tmp_path_factory.mktemp("toys"))
        stack.callback(world.end)
        yield world


@pytest.fixture
def world(toy_system: World) -> Iterator[World]:
    """The toy system with a watcher and two reconcilers, its toys settled, whatever was done to it before."""
    toy_system.restore()
    yield toy_system
    toy_system.plane.proxy.clear()


@pytest.fixture
def empty_world(
    control_plane: ControlPlane, toy_crd: None, own_nats: Nats, namespace: str, tmp_path: pathlib.Path
) -> Iterator[World]:
    """The parts of a toy system for one test, and none of its processes yet."""
    world = World(control_plane, [own_nats.url], namespace, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(control_plane.proxy.clear)
        stack.callback(world.end)
        yield world


def _serves_toys(plane: ControlPlane) -> bool:
    try:
        plane.request("GET", "apis/example.test/v1/toys")
    except ApiError:
        return False
    return True
