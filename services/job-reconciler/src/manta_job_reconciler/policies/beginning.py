"""How an attempt begins: the finalizer first, then its names, which are written before anything bears them.

All of it is one pass: each write is refused unless the job is still as the one before has left it.
"""

from datetime import datetime

from manta_common.api import labels, names
from manta_job_reconciler.actions import Action, AddFinalizer
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import initializing
from manta_job_reconciler.reasons import INITIALIZING, INTERACTIVE_MODE
from manta_job_reconciler.step import Step, said


def step(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    """Add the finalizer, name the Ray job and its cluster, and make that cluster."""
    status = said(
        observed.status,
        job_id=_job_id(observed),
        ray_cluster_name=_cluster_name(observed),
        job_deployment_status=INITIALIZING,
        start_time=now.replace(microsecond=0),
    )
    first = () if observed.has_finalizer else ((AddFinalizer(),),)
    return Step(status=status, phases=first, then=_then(observed.after(status), settings, now))


def _then(named: Observed, settings: JobSettings, now: datetime) -> tuple[tuple[Action, ...], ...]:
    """What a job with its names does at once, unless it is to come to another state; a selected cluster is looked for
    by the next pass."""
    if named.has_selector:
        return ()
    found = initializing.step(named, settings, now)
    return found.phases if found.status == named.status else ()


def _job_id(observed: Observed) -> str:
    if observed.status.job_id or observed.spec.submission_mode == INTERACTIVE_MODE:
        return observed.status.job_id
    return observed.spec.job_id or names.suffixed(observed.job.metadata.name, "job", *_attempt(observed))


def _cluster_name(observed: Observed) -> str:
    selected = observed.spec.cluster_selector.get(labels.CLUSTER, "")
    generated = names.suffixed(observed.job.metadata.name, "cluster", *_attempt(observed))
    return observed.status.ray_cluster_name or selected or generated


def _attempt(observed: Observed) -> tuple[str, str, str]:
    """What tells one attempt from all others: a retry has more failures behind it, a resumption another start."""
    status = observed.status
    before = status.start_time.isoformat() if status.start_time else ""
    return observed.job.metadata.uid, str(status.failed or 0), before
