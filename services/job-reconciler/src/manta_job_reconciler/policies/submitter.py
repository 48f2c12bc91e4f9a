"""How the process that submits is doing: the Kubernetes Job, or the container beside the head."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from manta_common.api.containers import JOB_SUBMITTER
from manta_common.api.core import ContainerStatus, Pod
from manta_common.dashboard.reports import FAILED as RAY_FAILED
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.reasons import APP_FAILED, K8S_JOB_MODE, SIDECAR_MODE, SUBMISSION_FAILED

RESTARTS: Final = 2
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)  # a kubelet that has lost a container tells no time of its end
_FINISHED: Final = frozenset({"Complete", "Failed"})


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why the submitter failed, if it did, and when it finished, if it has; `missing` when there is none any more.

    `headless` when it is gone with the head that it stood beside, as far as can be seen.
    """

    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None
    missing: bool = False
    headless: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether the job has failed by it."""
        return bool(self.reason)


def inspect(observed: Observed, *, restarts: bool) -> Verdict:
    """Return how the submitter is doing; `restarts` when the one beside the head may be started again."""
    match observed.spec.submission_mode:
        case mode if mode == K8S_JOB_MODE:
            return _job(observed)
        case mode if mode == SIDECAR_MODE:
            return _sidecar(observed, restarts=restarts)
        case _:
            return Verdict()


def _job(observed: Observed) -> Verdict:
    if observed.submitter is None:
        return Verdict(missing=True)
    conditions = [condition for condition in observed.submitter.status.conditions if condition.status == "True"]
    finished_at = next((each.last_transition_time for each in conditions if each.type in _FINISHED), None)
    failure = next((each for each in conditions if each.type == "Failed"), None)
    if failure is None:
        return Verdict(finished_at=finished_at)
    message = f"Job submission has failed. Reason: {failure.reason}. Message: {failure.message}"
    return _failed(observed, message, finished_at)


def _sidecar(observed: Observed, *, restarts: bool) -> Verdict:
    head = next((pod for pod in observed.head_pods if pod.metadata.deletion_timestamp is None), None)
    if head is None:
        return Verdict(reason=APP_FAILED, message="Ray head pod not found.", headless=True)
    container = _container(head)
    if container is None:
        return Verdict()
    ended = container.state.terminated
    finished_at = (ended.finished_at or LONG_AGO) if ended else None
    message = _sidecar_failure(container, restarts=restarts)
    return _failed(observed, message, finished_at) if message else Verdict(finished_at=finished_at)


def _container(head: Pod) -> ContainerStatus | None:
    return next((each for each in head.status.container_statuses if each.name == JOB_SUBMITTER), None)


def _sidecar_failure(container: ContainerStatus, *, restarts: bool) -> str:
    ended = container.state.terminated
    if restarts:
        has_succeeded = ended is not None and ended.exit_code == 0
        is_over = container.last_state.terminated and not has_succeeded and container.restart_count >= RESTARTS
        over = "terminated after exceeding the maximum restart count"
        return f"Ray head pod submitter container {JOB_SUBMITTER} {over}" if is_over else ""
    if ended is None or ended.exit_code == 0:
        return ""
    return f"Ray head pod container {JOB_SUBMITTER} terminated with exit code {ended.exit_code}: {ended.reason}"


def _failed(observed: Observed, message: str, finished_at: datetime | None) -> Verdict:
    """When the Ray job itself failed, that is the reason, and Ray's message stays."""
    report = observed.report
    ray_status = report.status if report and report.status else observed.status.job_status
    if ray_status == RAY_FAILED:
        kept = report.message if report and report.status else observed.status.message
        return Verdict(reason=APP_FAILED, message=kept, finished_at=finished_at)
    return Verdict(reason=SUBMISSION_FAILED, message=message, finished_at=finished_at)
