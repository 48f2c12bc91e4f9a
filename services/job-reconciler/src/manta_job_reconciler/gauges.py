"""KubeRay's metrics of jobs: which there are, how far they have come, and how long an attempt took."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from manta_common.api.rayjob import RayJob, RayJobStatus
from manta_common.plane import Item
from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry
from manta_job_reconciler.reasons import ENDED, RETRYING

Labels = tuple[str, str, str]  # name, namespace, uid


class Shown(msgspec.Struct, frozen=True):
    """What is shown of one job."""

    labels: Labels
    state: str


class Gauges:
    """The jobs that this replica looks after."""

    def __init__(self, registry: Registry, is_ours: Callable[[Item], bool]) -> None:
        self._shown: dict[Item, Shown] = {}
        self._timed: dict[Labels, set[tuple[str, str]]] = {}  # state and count of each duration that is shown
        self._is_ours = is_ours
        self._durations = registry.numbers(names.JOB_EXECUTION_SECONDS)
        registry.numbers(names.JOB_INFO).read_all(lambda: ((shown.labels, 1.0) for shown in self._ours()))
        registry.numbers(names.JOB_DEPLOYMENT_STATUS).read_all(self._states)

    def saw(self, item: Item, job: RayJob) -> None:
        """A job as it is now."""
        self._shown[item] = Shown(_labels(job), job.status.job_deployment_status)

    def wrote(self, before: RayJob, after: RayJobStatus, now: datetime) -> None:
        """A status was written; how long the attempt took is told if it has ended by it."""
        state, was = after.job_deployment_status, before.status.job_deployment_status
        if state == was or was in ENDED or state not in {*ENDED, RETRYING} or after.start_time is None:
            return
        series = state, str(before.status.failed or 0)
        self._timed.setdefault(_labels(before), set()).add(series)
        self._durations.at(*_labels(before), *series).set((now - after.start_time).total_seconds())

    def gone(self, item: Item) -> None:
        """There is no such job any more."""
        shown = self._shown.pop(item, None)
        if shown:
            for series in self._timed.pop(shown.labels, ()):
                self._durations.forget(*shown.labels, *series)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these jobs from now on; what comes of them is not heard here."""
        for item in [item for item in self._shown if belongs(item)]:
            self.gone(item)

    def _states(self) -> Iterable[tuple[tuple[str, ...], float]]:
        return (((*shown.labels, shown.state), 1.0) for shown in self._ours())

    def _ours(self) -> Iterator[Shown]:
        return (shown for item, shown in self._shown.items() if self._is_ours(item))


def _labels(job: RayJob) -> Labels:
    return job.metadata.name, job.metadata.namespace, job.metadata.uid
