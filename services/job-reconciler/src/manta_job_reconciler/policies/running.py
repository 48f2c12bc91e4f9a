"""While the Ray job runs: what Ray says, how the submitter does, and what is overdue."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from manta_common.api.rayjob import RayJobStatus, RayJobStatusInfo
from manta_common.dashboard.reports import FAILED, TERMINAL, JobReport
from manta_job_reconciler import reasons
from manta_job_reconciler.actions import Confirm, RequireNoHead
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import clusters, deadlines, services, submission, submitter
from manta_job_reconciler.policies.submitter import Verdict
from manta_job_reconciler.step import Step, failed, said

_LOST = "Submitter completed but Ray job not found in RayCluster."
_NO_SUBMITTER = "The submitter Job was deleted before the Ray job was submitted."


def step(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    """Follow the Ray job to its end."""
    if observed.spec.suspend:
        return Step(status=said(observed.status, job_deployment_status=reasons.SUSPENDING))
    over = (
        deadlines.passed_active(observed, now)
        or deadlines.passed_grace(observed, settings, now)
        or deadlines.passed_status_check(observed, settings, now)
    )
    if over:
        return over
    verdict = submitter.inspect(observed, restarts=settings.gates.sidecar_restart)
    if observed.cluster is None:
        found = Step(status=observed.status, phases=(clusters.when_missing(observed),))
    else:
        found = _followed(observed, verdict, now)
    due = tuple(_due(observed.after(found.status), verdict, settings))
    return _with_service(observed, Step(status=found.status, phases=found.phases, due=due))


def _followed(observed: Observed, verdict: Verdict, now: datetime) -> Step:
    report = observed.report
    has_answer = report is not None and report.trouble is None
    status = _heard(observed, report) if report and has_answer else observed.status
    if report and has_answer and _has_ended(report, observed, verdict):
        return Step(status=_ended(status, report))
    late = _late(observed, status, verdict, now)
    if late:
        return late
    if verdict.has_failed:
        lost = failed(status, verdict.reason, verdict.message)
        return msgspec.structs.replace(lost, phases=((RequireNoHead(),),)) if verdict.headless else lost
    return Step(status=status) if has_answer else _unanswered(observed, verdict, now)


def _heard(observed: Observed, report: JobReport) -> RayJobStatus:
    """The status with what Ray said."""
    before, cluster = observed.status.ray_job_info, observed.cluster
    return said(
        observed.status,
        job_status=report.status,
        reason="",
        message=report.message,
        job_status_check_failure_start_time=None,
        ray_cluster_status=cluster.status if cluster else observed.status.ray_cluster_status,
        ray_job_info=RayJobStatusInfo(
            start_time=report.started_at or before.start_time, end_time=report.ended_at or before.end_time
        ),
    )


def _has_ended(report: JobReport, observed: Observed, verdict: Verdict) -> bool:
    """Whether it is over: where there is a submitter, it must have finished too, or be gone, and not have failed."""
    is_left = observed.has_submitter and not verdict.missing
    return report.is_terminal and (not is_left or (verdict.finished_at is not None and not verdict.has_failed))


def _ended(status: RayJobStatus, report: JobReport) -> RayJobStatus:
    if report.status == FAILED:
        return said(status, job_deployment_status=reasons.FAILED, reason=reasons.APP_FAILED)
    return said(status, job_deployment_status=reasons.COMPLETE)


def _late(observed: Observed, status: RayJobStatus, verdict: Verdict, now: datetime) -> Step | None:
    """A submitter that finished long ago, without an end of the Ray job: Ray is asked once more before it counts.

    One that failed counts at once, unless the Ray job did too and tells why.
    """
    finished_at, telling = verdict.finished_at, {FAILED} if verdict.has_failed else TERMINAL
    if finished_at is None or now < finished_at + deadlines.SUBMITTER_PATIENCE or status.job_status in telling:
        return None
    at = finished_at.replace(tzinfo=None).isoformat(" ", "seconds")
    message = f"The RayJob submitter finished at {at} but the ray job did not reach terminal state within 30s"
    lost = failed(said(status, job_status=FAILED), reasons.GRACE_PERIOD_EXCEEDED, message)
    ask = Confirm(_since(observed.status, now))
    return lost if verdict.has_failed else Step(status=lost.status, phases=((ask,),))


def _unanswered(observed: Observed, verdict: Verdict, now: datetime) -> Step:
    """Ray has said nothing yet, does not know the job, or cannot be asked."""
    status, report = observed.status, observed.report
    if report is None or report.trouble is None:
        return Step(status=status)
    if report.trouble.kind != "not_found":
        return Step(status=_since(status, report.trouble.since))
    if observed.spec.submission_mode == reasons.HTTP_MODE:
        return _not_found_over_http(observed, report.trouble.since, now)
    if verdict.finished_at is not None:
        return _if_absent(failed(status, reasons.APP_FAILED, _LOST), status, now)
    if verdict.missing:
        return _if_absent(failed(status, reasons.SUBMISSION_FAILED, _NO_SUBMITTER), status, now)
    return Step(status=status)


def _if_absent(lost: Step, status: RayJobStatus, now: datetime) -> Step:
    """The report may be older than the submission, if nobody could ask Ray since: it is asked before that counts."""
    return Step(status=lost.status, phases=((Confirm(_since(status, now), absent=True),),))


def _not_found_over_http(observed: Observed, since: datetime, now: datetime) -> Step:
    """Submit; a head that had the job and lost it is waited for until the status check gives up."""
    if submission.is_submitted(observed):
        return Step(status=_since(observed.status, since))
    return submission.submit(observed, observed.status, now)


def _since(status: RayJobStatus, since: datetime) -> RayJobStatus:
    started = status.job_status_check_failure_start_time or since.replace(microsecond=0)
    return said(status, job_status_check_failure_start_time=started)


def _with_service(observed: Observed, step: Step) -> Step:
    """The job's own Service, before anything else: also when the job has ended in this very pass, the last to look."""
    actions = services.actions(observed) if observed.cluster else ()
    if not actions:
        return step
    return Step(status=step.status, phases=(actions, *step.phases), due=step.due)


def _due(observed: Observed, verdict: Verdict, settings: JobSettings) -> Iterator[datetime]:
    finished_at = verdict.finished_at
    late_at = finished_at + deadlines.SUBMITTER_PATIENCE if finished_at else None
    own = deadlines.active(observed), deadlines.grace(observed, settings), deadlines.status_check(observed, settings)
    yield from (at for at in (*own, late_at) if at)
