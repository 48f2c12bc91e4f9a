"""A watcher without ownership, for measurements: `python -m tests.bench.watcher_process KUBECONFIG NATS NAMESPACE`."""

import asyncio
import sys

import uvloop

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.kube.client import connect
from manta_common.kube.settings import KubeSettings
from manta_watcher.session import Session, Task


async def main(kubeconfig: str, nats: str, namespace: str) -> None:
    """Reign until killed."""
    async with (
        open_bus(BusSettings(urls=(nats,))) as bus,
        connect(KubeSettings(service="watcher"), kubeconfig=kubeconfig) as kube,
    ):
        await Session(kube, bus, Task(namespaces=(namespace,))).run()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
