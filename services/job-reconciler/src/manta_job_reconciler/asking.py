"""What is asked of Ray about one job, by way of the gateway."""

import logging
from typing import Final

import msgspec

from manta_common.dashboard import calls
from manta_common.dashboard.client import Dashboards
from manta_common.dashboard.reports import TERMINAL
from manta_common.errors import AlreadyExists, MantaError, NotCaughtUp, NotFound, Retry
from manta_common.keys import Key
from manta_common.ray.cluster import Unbuildable
from manta_job_reconciler import manifests
from manta_job_reconciler.observed import Observed

LOG_CHARACTERS: Final = 1024
SOON_SECONDS: Final = 2.0
log = logging.getLogger(__name__)


class Unasked(Retry):
    """Ray could not be asked, or would not take the question."""


class Ray:
    """The Ray of a job's cluster."""

    def __init__(self, observed: Observed, dashboards: Dashboards) -> None:
        self._observed, self._dashboards = observed, dashboards

    async def submit(self) -> None:
        """Submit under an id of ours: Ray takes it once."""
        job, cluster = self._observed.job, self._observed.cluster
        if cluster is None:
            raise NotCaughtUp("the cluster is not seen yet")
        try:
            await self._dashboards.submit(manifests.http_submission(job, cluster))
        except AlreadyExists:
            log.warning("another job bears the id and is followed", extra={"job": str(self._place)})
        except (MantaError, Unbuildable) as error:
            raise Unasked(f"The Ray job could not be submitted: {error}") from error

    async def look(self) -> calls.JobDetails | None:
        """What Ray says of the job at this moment, if it does so soon."""
        about = msgspec.structs.replace(self._about, limit_seconds=SOON_SECONDS)
        try:
            return await self._dashboards.get(about)
        except MantaError as error:
            log.debug("ray says nothing of the job yet", extra={"job": str(self._place), "error": str(error)})
            return None

    async def confirm(self, *, absent: bool) -> None:
        """NotCaughtUp when Ray says that the job has ended after all, or is there: the report of it is on its way."""
        try:
            found = await self._dashboards.get(self._about)
        except NotFound:
            return
        except MantaError as error:
            raise Unasked(f"Ray could not be asked how the job has ended: {error}") from error
        if absent or found.status in TERMINAL:
            raise NotCaughtUp(f"ray says that the job is {found.status}, the report has not come yet")

    async def stop(self, *, required: bool) -> None:
        """Stop the job; `required` makes a failure one of the pass, and worth more time."""
        about = self._about if required else msgspec.structs.replace(self._about, limit_seconds=SOON_SECONDS)
        try:
            await self._dashboards.stop(about)
        except NotFound:
            log.debug("ray does not know the job", extra={"job": str(self._place)})
        except MantaError as error:
            if required:
                raise
            log.warning("ray job was not stopped", extra={"job": str(self._place), "error": str(error)})

    async def log_tail(self) -> str:
        """The last lines of the driver's log, if they can be had."""
        about = self._about
        question = calls.LogRange(
            cluster=about.cluster, cluster_uid=about.cluster_uid, job_id=about.job_id, tail=LOG_CHARACTERS
        )
        try:
            text = (await self._dashboards.logs(question)).text
        except MantaError as error:
            log.debug("no log of the driver", extra={"job": str(self._place), "error": str(error)})
            return ""
        return text.strip()[-LOG_CHARACTERS:]

    @property
    def _place(self) -> Key:
        meta = self._observed.job.metadata
        return Key(meta.namespace, meta.name)

    @property
    def _about(self) -> calls.AboutJob:
        status, cluster = self._observed.status, self._observed.cluster
        return calls.AboutJob(
            cluster=Key(self._place.namespace, status.ray_cluster_name),
            cluster_uid=cluster.metadata.uid if cluster else "",
            job_id=status.job_id,
        )
