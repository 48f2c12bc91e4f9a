"""The job-reconciler as a service: connections, one plane for RayJobs, and one for RayCronJobs if they are on."""

import socket

from manta_common.kube.events import Recorder
from manta_common.parts import Parts
from manta_common.plane import Plane, Shape
from manta_common.wiring import connections, run_planes
from manta_common.worker import Pace
from manta_job_reconciler.config import Config
from manta_job_reconciler.reconcile import JobService
from manta_job_reconciler.schedules import CronService, CronSettings
from manta_job_reconciler.zone import local_zone

ABOUT = "Runs RayJobs and RayCronJobs to their end."


async def main(config: Config, parts: Parts) -> None:
    """Look after jobs and schedules until told to stop."""
    async with connections(config, parts) as found:
        recorder = Recorder(found.kube, socket.gethostname())
        shape = Shape(partitions=config.partitions, pace=Pace(concurrency=config.concurrency))
        planes: list[Plane] = [
            JobService(found.kube, found.means, config.job_settings(), recorder, shape).plane,
        ]
        if config.feature_gates.cron_job:
            settings = CronSettings(gates=config.feature_gates, local=local_zone(config.time_zone))
            planes.append(CronService(found.kube, found.means, settings, recorder, shape).plane)
        await run_planes(parts, recorder, planes)
