"""The end of the RayJob object: the Ray job is stopped, then the object may go."""

from datetime import datetime, timedelta
from typing import Final

from manta_common.dashboard.reports import TERMINAL
from manta_job_reconciler.actions import Action, RemoveFinalizer, StopJob
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.step import Step

# A cluster of its own goes with the job; on a shared one the Ray job would go on, so that it is worth waiting.
PATIENCE: Final = timedelta(seconds=60)


def step(observed: Observed, now: datetime) -> Step:
    """Stop the Ray job if it may still run, and let the object go."""
    if not observed.has_finalizer:
        return Step(status=observed.status)
    stop: tuple[Action, ...] = (StopJob(required=_is_required(observed, now)),) if _may_run(observed) else ()
    return Step(status=observed.status, phases=(stop, (RemoveFinalizer(),)))


def _may_run(observed: Observed) -> bool:
    status = observed.status
    return bool(status.job_id and status.dashboard_url) and status.job_status not in TERMINAL


def _is_required(observed: Observed, now: datetime) -> bool:
    since = observed.job.metadata.deletion_timestamp
    is_reachable = observed.cluster is not None
    return observed.has_selector and is_reachable and since is not None and now < since + PATIENCE
