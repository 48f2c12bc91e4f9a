"""A gateway without Kubernetes, for measurements: `python -m tests.bench.gateway_process NATS`."""

import asyncio
import signal
import sys
from datetime import UTC, datetime
from random import Random

import uvloop

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_common.plane import Means
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_dashboard_gateway.places import Ways
from manta_dashboard_gateway.ray.transport import Transport
from tests.parts.gateway_world import PARTITIONS, Secrets


async def main(nats: str) -> None:
    """Poll at the usual pace until SIGTERM."""
    clock = SystemClock()
    async with open_bus(BusSettings(urls=(nats,))) as bus:
        means = Means(bus=bus, now=lambda: datetime.now(UTC), clock=clock, chance=Random())
        transport = Transport(Credentials(Secrets(), clock.monotonic), None)
        gateway = Gateway(means, transport, Setup(ways=Ways(reach="pod"), partitions=PARTITIONS))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, gateway.stop)
        await gateway.run()
        await transport.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
