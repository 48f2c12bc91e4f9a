"""The settings of the job-reconciler: KubeRay's switches under Manta's names and KubeRay's, and our own."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta

import manta_common.config
from manta_common.api import env
from manta_common.config import kuberay
from manta_common.validation.zones import zone_fault
from manta_job_reconciler.observed import JobSettings


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """How jobs are run."""

    SERVICE: ClassVar[str] = "job-reconciler"

    time_zone: Annotated[
        str,
        Meta(
            description="The time zone of schedules that name none; when empty `TZ`, then that of the machine.",
            extra={"also": "TZ"},
        ),
    ] = ""
    grace_seconds: Annotated[
        int,
        kuberay(env.OPERATOR_JOB_GRACE_SECONDS, "How long after its Ray job a RayJob must have ended too."),
    ] = 300
    status_check_seconds: Annotated[
        int, kuberay(env.OPERATOR_JOB_CHECK_SECONDS, "How long Ray may not answer before a job has failed.")
    ] = 300
    delay_retries: Annotated[
        bool, Meta(description="Retries of a job wait, 10s at first and twice as long each time, up to 6m.")
    ] = True
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="Jobs that are worked on at the same time.")] = 64

    def objections(self) -> Iterator[str]:
        """What is wrong with settings that are right one by one."""
        yield from super().objections()
        fault = zone_fault(self.time_zone) if self.time_zone else None
        if fault:
            yield f"MANTA_TIME_ZONE (or TZ) is {self.time_zone!r}: {fault}; give a name such as Europe/Berlin"

    def job_settings(self) -> JobSettings:
        """What decisions depend on."""
        return JobSettings(
            ray=self.ray_settings(),
            grace_seconds=self.grace_seconds,
            status_check_seconds=self.status_check_seconds if self.status_check_seconds > 0 else 300,
            delays_retries=self.delay_retries,
        )
