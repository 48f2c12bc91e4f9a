"""From a job's names to a cluster that can take it."""

from datetime import datetime

from manta_common.api import names
from manta_common.api.containers import DASHBOARD_PORT_NAME
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJobStatus
from manta_job_reconciler import reasons
from manta_job_reconciler.actions import Action, CreateSubmitter
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies import clusters, deadlines, gangs, services, submission, submitter
from manta_job_reconciler.step import Step, failed, said


def step(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    """Wait for the cluster, within the deadlines, and submit when it is ready."""
    if observed.spec.suspend:
        return Step(status=said(observed.status, job_deployment_status=reasons.SUSPENDING))
    over = deadlines.passed_active(observed, now) or deadlines.passed_pre_running(observed, now)
    if over:
        return over
    due = tuple(at for at in (deadlines.active(observed), deadlines.pre_running(observed)) if at)
    found = _wait(observed, settings, now)
    return Step(status=found.status, phases=found.phases, then=_then(observed, found), due=due)


def _then(observed: Observed, found: Step) -> tuple[tuple[Action, ...], ...]:
    """A job that runs now has a Service of its own."""
    runs = found.status.job_deployment_status == reasons.RUNNING and observed.cluster is not None
    return (services.actions(observed),) if runs else ()


def _wait(observed: Observed, settings: JobSettings, now: datetime) -> Step:
    cluster = observed.cluster
    if gangs.refusal(observed, settings):
        return Step(status=observed.status)
    if cluster is None:
        made = gangs.beginning(observed, settings), clusters.when_missing(observed)
        return Step(status=observed.status, phases=made)
    beside = _beside_head(observed, settings)
    if beside.reason == reasons.SUBMISSION_FAILED:  # nobody would ever submit
        return failed(observed.status, beside.reason, beside.message)
    if not observed.status.dashboard_url and not clusters.is_ready(cluster) and beside.finished_at is None:
        return Step(status=said(observed.status, ray_cluster_status=cluster.status))
    url = observed.status.dashboard_url or _dashboard_url(observed, cluster, settings)
    return _begin(observed, said(observed.status, dashboard_url=url), now) if url else Step(status=observed.status)


def _beside_head(observed: Observed, settings: JobSettings) -> submitter.Verdict:
    """How a submitter beside the head does: its job may end before anybody has seen the head ready.

    After that the head never is: a pod is not, once a container of it has ended.
    """
    if observed.spec.submission_mode != reasons.SIDECAR_MODE or not observed.head_pods:
        return submitter.Verdict()
    return submitter.inspect(observed, restarts=settings.gates.sidecar_restart)


def _dashboard_url(observed: Observed, cluster: RayCluster, settings: JobSettings) -> str:
    """Return where the dashboard is; nothing until the head's Service is seen with a port of that name."""
    service = observed.cluster_service
    if service is None:
        return ""
    port = next((each.port for each in service.spec.ports if each.name == DASHBOARD_PORT_NAME), None)
    host = names.service_address(service.metadata.name, cluster.metadata.namespace, settings.ray.cluster_domain)
    return f"{host}:{port}" if port is not None else ""


def _begin(observed: Observed, status: RayJobStatus, now: datetime) -> Step:
    """The cluster is ready: who submits, begins."""
    mode = observed.spec.submission_mode
    if mode == reasons.INTERACTIVE_MODE:
        return Step(status=said(status, job_deployment_status=reasons.WAITING))
    running = said(status, job_deployment_status=reasons.RUNNING)
    if mode == reasons.K8S_JOB_MODE and observed.submitter is None:
        return Step(status=running, phases=((CreateSubmitter(status.dashboard_url),),))
    return submission.submit(observed, running, now) if mode == reasons.HTTP_MODE else Step(status=running)
