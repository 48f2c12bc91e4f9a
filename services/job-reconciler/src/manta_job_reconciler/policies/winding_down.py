"""The end of an attempt that is suspended or will be tried again: all of it goes, then the status begins anew."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.api.names import suffix
from manta_common.api.raycluster import RayClusterStatus
from manta_common.api.rayjob import RayJobStatus, RayJobStatusInfo
from manta_job_reconciler import reasons
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import clusters, gangs
from manta_job_reconciler.step import Step, find, said

SHORTEST_SECONDS: Final = 10
LONGEST_SECONDS: Final = 360
_BECAUSE: Final = {reasons.SUSPENDING: "the job is suspended", reasons.RETRYING: "the job is tried again"}


def step(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    """Delete what is left, wait until it is gone and, before another try, for a while; then begin anew."""
    state = observed.status.job_deployment_status
    if clusters.remains(observed):
        return Step(status=observed.status, phases=(clusters.removal(observed, _BECAUSE[state]),))
    again_at = retry_at(observed, settings) if state == reasons.RETRYING else None
    if again_at and now < again_at:
        return Step(status=observed.status, due=(again_at,))
    after = reasons.SUSPENDED if state == reasons.SUSPENDING else reasons.NEW
    return Step(status=_reset(observed.status, after), phases=(gangs.ending(observed, settings),))


def retry_at(observed: Observed, settings: JobSettings) -> datetime | None:
    """When the next attempt may begin: later and later, and not all jobs at once."""
    failure = find(observed.status, reasons.CONDITION_FAILED)
    if not settings.delays_retries or failure is None:
        return None
    failures = observed.status.failed or 0
    seconds = min(LONGEST_SECONDS, SHORTEST_SECONDS * 2 ** min(max(failures - 1, 0), 10))
    return failure.last_transition_time + timedelta(seconds=seconds * (1 + _jitter(observed)))


def _jitter(observed: Observed) -> float:
    """Up to a fifth, always the same for the same attempt."""
    text = suffix(observed.job.metadata.uid, str(observed.status.failed or 0))
    return sum(map(ord, text)) % 100 / 500


def _reset(status: RayJobStatus, state: str) -> RayJobStatus:
    return said(
        status,
        job_deployment_status=state,
        job_status="",
        job_id="",
        ray_cluster_name="",
        ray_cluster_status=RayClusterStatus(),
        ray_job_info=RayJobStatusInfo(),
        dashboard_url="",
        reason="",
        message="",
        job_status_check_failure_start_time=None,
    )
