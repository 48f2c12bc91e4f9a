"""The whole of standalone Manta in a test: the embedded API, a process node, and `manta up` against them."""

import contextlib
import pathlib
import sys
from collections.abc import AsyncIterator
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CRD, RAYCLUSTER
from manta_embedded.api.serve import Api, serve
from manta_embedded.api.settings import ApiSettings
from manta_embedded.node.network import Network
from manta_embedded.node.settings import Api as Reach
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.ray import definitions
from tests.examples import manifests
from tests.integration.node_world import NodeWorld, node_settings
from tests.parts.ports import free_port
from tests.parts.process import Process

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
START_SECONDS = 120.0  # Ray gives up after 30 s of a busy machine, and is started again
RAY_VERSION = "2.60.0"
HEAD_ROOM = {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}
WORKER_ROOM = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}


class RayWorld(NodeWorld):
    """A node and everything that makes pods of RayClusters."""

    def __init__(self, served: Api, folder: pathlib.Path, **settings: Any) -> None:
        super().__init__(served.store, folder, tokens=served.token_for, **settings)
        served.node = self.node
        self.served = served
        self.http = f"127.0.0.1:{free_port()}"
        self.operator = self._operator(folder.parent / "manta.log")

    def _operator(self, log: pathlib.Path) -> Process:
        """Manta's services, as one program beside the node."""
        command = [MANTA, "up", "--kubeconfig", str(self.served.kubeconfig), "--http", self.http]
        by_pod = {"MANTA_DASHBOARD_GATEWAY_REACH": "pod"}  # there is no DNS here
        return Process("manta up", command, log, environment=by_pod)

    def cluster(self, name: str, *, workers: int = 1, head: Obj | None = None, **spec: Any) -> None:
        """Create a RayCluster with small pods; `head` are further parameters of the head's Ray."""
        container = {"image": f"rayproject/ray:{RAY_VERSION}"}
        ray = {"name": "ray-head", "resources": HEAD_ROOM, **container}
        worker = {"name": "ray-worker", "resources": WORKER_ROOM, **container}
        group = {"replicas": workers, "maxReplicas": 5, "template": {"spec": {"containers": [worker]}}}
        heads = {"rayStartParams": head or {}, "template": {"spec": {"containers": [ray]}}}
        patch = {"rayVersion": RAY_VERSION, "headGroupSpec": heads}
        made = manifests.cluster({**patch, **manifests.worker(**group), **spec}, name=name)
        self.create(RAYCLUSTER, made)

    def ray(self, name: str) -> Obj:
        """The status of a RayCluster."""
        found: Obj = self.store.get(RAYCLUSTER, Key("default", name)).get("status") or {}
        return found

    async def until_ready(self, name: str, *, workers: int = 1) -> None:
        """Wait until a RayCluster says so."""

        def is_ready() -> bool:
            status = self.ray(name)
            return status.get("state") == "ready" and status.get("readyWorkerReplicas", 0) == workers

        await self.until(f"{name} is ready", is_ready, START_SECONDS)


@contextlib.asynccontextmanager
async def ray_world(folder: pathlib.Path) -> AsyncIterator[RayWorld]:
    """All of it until the end of the block."""
    settings = node_settings(folder / "node")
    network = Network(settings.bridge, settings.subnet)
    network.open()
    addresses = ("127.0.0.1", network.gateway)
    async with serve(ApiSettings(folder=folder / "api", addresses=addresses, persistent=False)) as api:
        for definition in definitions():
            api.store.create(CRD, "", definition)
        port = int(api.url.rpartition(":")[2])
        reach = Reach(host=network.gateway, port=port, ca=api.ca.read_text())
        world = RayWorld(api, folder / "node", bridge=settings.bridge, subnet=settings.subnet, api=reach)
        await world.start()
        world.operator.start()
        try:
            yield world
        finally:
            world.operator.kill()
            await world.stop()
