"""Every implementation of `Kube` passes this suite. A new one joins by an entry in IMPLEMENTATIONS."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime

import msgspec
import pytest

from manta_common.clock import SystemClock
from manta_common.errors import AlreadyExists
from manta_common.keys import Key
from manta_common.kinds import CRD, NAMESPACE
from manta_common.kube.client import connect
from manta_common.kube.protocol import Kube
from manta_common.kube.settings import KubeSettings
from manta_embedded.store.admission_quota import Quotas
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.store import Store
from tests.contract.kube.objects import WIDGET, Object, is_served, widget_definition
from tests.parts.cluster import Cluster
from tests.parts.eventually import eventually

MakeKube = Callable[[KubeSettings], AbstractAsyncContextManager[Kube]]
IMPLEMENTATIONS: dict[str, Callable[[pytest.FixtureRequest], MakeKube]] = {
    "embedded": lambda request: _embedded(),
    "http": lambda request: _real(request.getfixturevalue("embedded_cluster")),
    "real": lambda request: _real(request.getfixturevalue("kubernetes")),
}


@pytest.fixture(params=list(IMPLEMENTATIONS))
def make_kube(request: pytest.FixtureRequest) -> MakeKube:
    """Opens an API of the implementation under test with settings of one's own."""
    return IMPLEMENTATIONS[request.param](request)


@pytest.fixture
async def kube(make_kube: MakeKube) -> AsyncIterator[Kube]:
    """The API under test, serving widgets."""
    async with make_kube(KubeSettings(service="contract")) as opened:
        await _serve_widgets(opened)
        yield opened


@pytest.fixture
async def space(kube: Kube) -> AsyncIterator[str]:
    """A namespace for one test."""
    async with _namespace(kube) as name:
        yield name


@pytest.fixture
async def other_space(kube: Kube) -> AsyncIterator[str]:
    """Another namespace for one test."""
    async with _namespace(kube) as name:
        yield name


@asynccontextmanager
async def _namespace(kube: Kube) -> AsyncIterator[str]:
    name = f"contract-{secrets.token_hex(4)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    made = await kube.create(NAMESPACE, "", body, Object)
    yield name
    await kube.delete(NAMESPACE, Key("", name), uid=made.metadata.uid)


def _real(cluster: Cluster) -> MakeKube:
    return lambda settings: connect(settings, kubeconfig=str(cluster.kubeconfig))


def _embedded() -> MakeKube:
    """One store with its controllers for one test, with any number of clients."""
    store = Store(SystemClock(), random.Random(0), epoch=datetime.now(UTC))
    store.admissions += [CustomResources(), Quotas(store)]
    controllers = Controllers(store)

    @asynccontextmanager
    async def opened(settings: KubeSettings) -> AsyncIterator[Kube]:
        working = asyncio.create_task(_work(store, controllers))
        yield EmbeddedKube(store, settings)
        working.cancel()
        await asyncio.wait([working])

    return opened


async def _work(store: Store, controllers: Controllers) -> None:
    """Let the controllers do what there is to do after every change."""
    changed = asyncio.Event()
    leave = store.subscribe(lambda _: changed.set())
    try:
        while True:
            changed.clear()
            controllers.settle()
            await changed.wait()
    finally:
        leave()


async def _serve_widgets(kube: Kube) -> None:
    try:
        await kube.create(CRD, "", widget_definition(), msgspec.Raw)
    except AlreadyExists:
        return
    await eventually("widgets are served", lambda: is_served(kube, WIDGET), limit_seconds=30)
