"""Bugs that are planted into the services, each where something guards against it.

Each is found by the very cases that the campaign plays in `make test`.
"""

import itertools
from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob, RayJobStatus
from manta_common.dashboard import calls
from manta_common.fence import Fence
from manta_common.ownership.members import Membership
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.store import Store
from manta_job_reconciler import manifests
from manta_job_reconciler.observed import Observed
from manta_job_reconciler.policies import beginning, submission
from manta_job_reconciler.step import Step, said
from tests.model.campaign.runs import sample, trouble

Plant = Callable[[pytest.MonkeyPatch], None]


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits until the view shows what was written."""
    for name in ("wrote", "deleted"):
        patch.setattr(Fence, name, lambda *_, **__: None)


def no_uid(patch: pytest.MonkeyPatch) -> None:
    """Whatever has the name is deleted."""
    delete = Store.delete

    def by_name(self: Store, kind: object, key: object, options: Deletion) -> object:
        return delete(self, kind, key, msgspec.structs.replace(options, uid="", version=""))  # type: ignore[arg-type]

    patch.setattr(Store, "delete", by_name)


def no_lease(patch: pytest.MonkeyPatch) -> None:
    """A replica acts on although its lease is over."""
    patch.setattr(Membership, "fresh", property(lambda _: True))


def late_id(patch: pytest.MonkeyPatch) -> None:
    """The id of a Ray job is drawn when it is submitted, and written down afterwards."""
    drawn: dict[str, str] = {}
    numbers, submit, submitted = itertools.count(), submission.submit, manifests.http_submission

    def submit_first(observed: Observed, status: RayJobStatus, now: datetime) -> Step:
        if not observed.status.job_id:
            drawn[observed.job.metadata.uid] = f"drawn-{next(numbers)}"
        return submit(observed, said(status, job_id=status.job_id or drawn[observed.job.metadata.uid]), now)

    def with_drawn(job: RayJob, cluster: RayCluster) -> calls.Submission:
        found = submitted(job, cluster)
        return msgspec.structs.replace(found, job_id=found.job_id or drawn[job.metadata.uid])

    patch.setattr(beginning, "_job_id", lambda observed: observed.status.job_id)
    patch.setattr(submission, "submit", submit_first)
    patch.setattr(manifests, "http_submission", with_drawn)


@pytest.mark.parametrize(
    ("plant", "play", "fault", "words"),
    [
        pytest.param(no_fence, "scale", "stale-view", "create pod", id="fence removed"),
        pytest.param(no_uid, "same-name", "late-write", "a is Complete", id="uid precondition removed"),
        pytest.param(no_lease, "job-over-http", "lost-lease", "without a lease", id="expired lease ignored"),
        pytest.param(late_id, "job-over-http", "crash-before-write", "drawn-", id="job id written after submission"),
    ],
)
def test_a_planted_bug_is_found(plant: Plant, play: str, fault: str, words: str) -> None:
    places = [str(case) for case in sample(play, fault)]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        found = next(filter(None, map(trouble, places)), "")
    assert words in found.partition("\n")[0], found or f"nothing was found in {len(places)} cases"
