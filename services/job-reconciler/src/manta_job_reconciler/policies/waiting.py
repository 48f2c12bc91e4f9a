"""InteractiveMode: until a person says which Ray job it is."""

from datetime import datetime

from manta_job_reconciler import reasons
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.policies import deadlines
from manta_job_reconciler.step import Step, said


def step(observed: Observed, now: datetime) -> Step:
    """Wait for `spec.jobId`, within the deadline."""
    over = deadlines.passed_pre_running(observed, now)
    if over:
        return over
    if not observed.spec.job_id:
        due = deadlines.pre_running(observed)
        return Step(status=observed.status, due=(due,) if due else ())
    return Step(status=said(observed.status, job_id=observed.spec.job_id, job_deployment_status=reasons.RUNNING))
