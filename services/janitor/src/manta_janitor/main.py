"""The janitor as a service: connections, and a plane each for ended RayJobs, deleted RayClusters and the rest."""

import socket
from datetime import timedelta

from manta_common.kube.events import Recorder
from manta_common.parts import Parts
from manta_common.plane import Shape
from manta_common.wiring import connections, run_planes
from manta_common.worker import Pace
from manta_janitor.clusters import FadingService
from manta_janitor.config import Config
from manta_janitor.history import HistoryService
from manta_janitor.jobs import AHEAD, EndingService
from manta_janitor.orphans import OrphanService

ABOUT = "Deletes what RayJobs ask to be deleted, in time, and cleans up after clusters that keep state in Redis."


async def main(config: Config, parts: Parts) -> None:
    """Clean up until told to stop."""
    async with connections(config, parts) as found:
        recorder = Recorder(found.kube, socket.gethostname())
        shape = Shape(partitions=config.partitions, pace=Pace(concurrency=config.concurrency))
        settings = config.settings()
        wide = Shape(partitions=config.partitions, pace=Pace(concurrency=AHEAD * config.concurrency))
        jobs = EndingService(found.kube, found.means, settings.janitor, recorder, wide)
        clusters = FadingService(found.kube, found.means, settings, recorder, shape)
        history = HistoryService(found.kube, found.means, shape)
        planes = [jobs.plane, clusters.plane, history.plane]
        if config.report_orphans:
            grace = timedelta(seconds=config.orphan_grace_seconds)
            planes.append(OrphanService(found.kube, found.means, recorder, grace, shape).plane)
        parts.show("deletions", jobs.queue.shown)
        await run_planes(parts, recorder, planes)
