"""The serve-reconciler as a service: connections, and one plane for RayServices."""

import socket

from manta_common.kube.events import Recorder
from manta_common.parts import Parts
from manta_common.plane import Shape
from manta_common.wiring import connections, run_planes
from manta_common.worker import Pace
from manta_serve_reconciler.config import Config
from manta_serve_reconciler.reconcile import ServeService

ABOUT = "Keeps Serve applications running on Ray clusters that are replaced without a pause."


async def main(config: Config, parts: Parts) -> None:
    """Look after RayServices until told to stop."""
    async with connections(config, parts) as found:
        recorder = Recorder(found.kube, socket.gethostname())
        shape = Shape(partitions=config.partitions, pace=Pace(concurrency=config.concurrency))
        service = ServeService(found.kube, found.means, config.serve_settings(), recorder, shape)
        await run_planes(parts, recorder, [service.plane])
