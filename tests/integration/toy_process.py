"""One process of the toy system: `python -m tests.integration.toy_process ROLE KUBECONFIG NATS NAMESPACE`."""

import asyncio
import logging
import random
import signal
import sys

from manta_common.api.meta import ObjectMeta
from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings
from manta_common.plane import Means, Plane
from manta_watcher.reign import Watcher
from manta_watcher.roots import Place
from manta_watcher.session import Task
from manta_watcher.watched import Watched
from tests.integration.toy_reconciler import OWNER, TOY, Part, Toy, ToyService


def parent(kind: str, metadata: ObjectMeta) -> Place | None:
    """A part belongs to the toy that its label names."""
    if kind == "toy":
        return None
    return Place("toy", Key(metadata.namespace, metadata.labels[OWNER]))


def runner(role: str, namespace: str, kube: Client, bus: NatsBus) -> Watcher | Plane:
    """The watcher, or the reconciler on its plane."""
    means = Means(bus=bus, now=kube.now, clock=SystemClock(), chance=random.Random())
    if role == "watcher":
        watched = (Watched(TOY, Toy), Watched(CONFIGMAP, Part, (OWNER,)))
        return Watcher(means, kube, Task(watched=watched, namespaces=(namespace,), parent=parent))
    service = ToyService(kube)
    service.plane = Plane(means, service)
    return service.plane


async def main(role: str, kubeconfig: str, nats: str, namespace: str) -> None:
    """Run until SIGTERM."""
    async with (
        open_bus(BusSettings(urls=tuple(nats.split(",")))) as bus,
        connect(KubeSettings(service=role), kubeconfig=kubeconfig) as kube,
    ):
        running = runner(role, namespace, kube, bus)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.stop)
        await running.run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(main(*sys.argv[1:]))
