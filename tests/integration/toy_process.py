"""One process of the toy system: `python -m tests.integration.toy_process JSON`, the JSON being its `Settings`."""

import asyncio
import logging
import random
import signal
import sys
from typing import Literal

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings
from manta_common.ownership.settings import Times
from manta_common.plane import Means, Plane, Shape
from manta_common.settings.values import Address
from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Listener, Pages
from manta_common.telemetry.logs import JsonLines
from manta_common.telemetry.metrics import Registry
from manta_watcher.reign import Watcher
from manta_watcher.roots import Place
from manta_watcher.session import Task
from manta_watcher.watched import Watched
from tests.integration.toy_reconciler import OWNER, TOY, Part, Toy, ToyService

log = logging.getLogger(__name__)


def times(lease_seconds: float) -> Times:
    """The times of ownership in their usual proportion."""
    lease = lease_seconds
    return Times(ttl_seconds=lease, renew_seconds=lease / 3, fence_seconds=lease * 2 / 3, look_seconds=lease / 6)


QUICK = times(3)  # half of what is usual, so that nobody waits for long


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Who it is, where its parts are, and what is not as usual."""

    name: str
    role: Literal["watcher", "reconciler"]
    kubeconfig: str
    nats: tuple[str, ...]
    namespace: str
    service: str = "toy-reconciler"  # replicas of one service share the partitions
    lease_seconds: float = QUICK.ttl_seconds
    replicas: int = 1  # of the stream
    tombstone_seconds: float = 3600
    watch_idle_seconds: float = 90


def parent(kind: str, metadata: ObjectMeta) -> Place | None:
    """A part belongs to the toy that its label names."""
    if kind == "toy":
        return None
    return Place("toy", Key(metadata.namespace, metadata.labels[OWNER]))


def runner(settings: Settings, means: Means, kube: Client) -> Watcher | Plane:
    """The watcher, or the reconciler on its plane."""
    if settings.role == "watcher":
        task = Task(
            watched=(Watched(TOY, Toy), Watched(CONFIGMAP, Part, (OWNER,))),
            namespaces=(settings.namespace,),
            parent=parent,
            tombstone_seconds=settings.tombstone_seconds,
        )
        return Watcher(means, kube, task, times(settings.lease_seconds))
    service = ToyService(kube, settings.service)
    service.plane = Plane(means, service, Shape(times=times(settings.lease_seconds)))
    return service.plane


async def main(settings: Settings) -> None:
    """Run until SIGTERM."""
    client = KubeSettings(service=settings.name, watch_idle_seconds=settings.watch_idle_seconds)
    metrics = Registry(settings.name)
    async with (
        Listener(Address("127.0.0.1", 0), Health(), registries=[metrics], pages=Pages()) as listener,
        open_bus(BusSettings(urls=settings.nats, replicas=settings.replicas)) as bus,
        connect(client, kubeconfig=settings.kubeconfig) as kube,
    ):
        for _ in range(2):  # the second answer without the time that connecting takes, so that the clock is close
            await kube.server_version()
        log.info("toy starts", extra={"port": listener.port})
        means = Means(bus=bus, now=kube.now, clock=SystemClock(), chance=random.Random(), metrics=metrics)
        running = runner(settings, means, kube)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.stop)
        await running.run()


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Settings)
    to_stream = logging.StreamHandler()
    to_stream.setFormatter(JsonLines(given.name))
    logging.basicConfig(level=logging.INFO, handlers=[to_stream])
    asyncio.run(main(given))
