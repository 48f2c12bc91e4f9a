"""What is wrong with jobs, worked out anew only when the metadata or the spec of one is not what it was."""

from collections.abc import Callable

from manta_common.api.gates import Gates
from manta_common.api.rayjob import RayJob
from manta_common.plane import Item
from manta_job_reconciler.policies.validity import Wrong, lasting_problem, passing_problem


class Judge:
    """Remembers its last verdict on each job. All of it can be lost."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._verdicts: dict[Item, tuple[RayJob, Wrong | None]] = {}

    def problem(self, item: Item, job: RayJob) -> Wrong | None:
        """The event's reason and KubeRay's message of the first thing that is wrong."""
        before, wrong = self._verdicts.get(item, (None, None))
        if before is None or not _is_alike(before, job):
            wrong = lasting_problem(job, self._gates)
        self._verdicts[item] = job, wrong  # of two that are alike only the one that the view has is kept
        return wrong or passing_problem(job)

    def forget(self, item: Item) -> None:
        """The job is gone."""
        self._verdicts.pop(item, None)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these jobs from now on; what comes of them is not heard here."""
        for item in [item for item in self._verdicts if belongs(item)]:
            self.forget(item)


def _is_alike(before: RayJob, job: RayJob) -> bool:
    """Whether all that the lasting rules look at is the same; it is compared itself, not a version of it."""
    if before is job:
        return True
    old, new = before.metadata, job.metadata
    marks = (old.name, old.labels, old.annotations) == (new.name, new.labels, new.annotations)
    return marks and before.spec == job.spec
