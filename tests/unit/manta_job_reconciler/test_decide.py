"""What a step comes to: accounts, retries, conditions, and whether the status is written."""

from typing import Any

import msgspec
import pytest

from manta_common.api.rayjob import RayJobStatus
from manta_common.deeds import Recheck, Tell
from manta_job_reconciler.actions import Action, CreateCluster, DeleteCluster, Submit, WriteStatus
from manta_job_reconciler.decide import decide
from manta_job_reconciler.observed import JobSettings, Observed
from tests.unit.manta_job_reconciler.made import NOW, ago, cluster, job, observed, report, running, settled, status


def acts(about: Observed, settings: JobSettings | None = None) -> list[Action]:
    return [action for phase in decide(about, settings or JobSettings(), NOW) for action in phase]


def written(about: Observed, settings: JobSettings | None = None) -> RayJobStatus:
    (found,) = [action.status for action in acts(about, settings) if isinstance(action, WriteStatus)]
    return found


def holds(said: RayJobStatus) -> set[str]:
    return {condition.type for condition in said.conditions if condition.status == "True"}


def test_somebody_elses_job_is_left_alone() -> None:
    assert acts(observed(job(managedBy="kueue.x-k8s.io/multikueue"))) == []


def order(about: Observed) -> list[str]:
    return [type(action).__name__ for action in acts(about)]


def test_the_finalizer_comes_first_and_the_names_before_the_cluster_that_bears_them() -> None:
    new = observed(job(meta={"finalizers": []}))
    assert order(new) == ["AddFinalizer", "WriteStatus", "CreateCluster"]
    assert acts(new)[-1] == CreateCluster(written(new).ray_cluster_name)


@pytest.mark.parametrize(
    "about",
    [
        pytest.param(observed(job(suspend=True, shutdownAfterJobFinishes=True)), id="is suspended"),
        pytest.param(observed(job(clusterSelector={"ray.io/cluster": "other"})), id="uses another's cluster"),
    ],
)
def test_a_job_gets_no_cluster_at_once_that(about: Observed) -> None:
    assert order(about) == ["WriteStatus"]


def test_a_job_that_was_handed_over_gets_its_service_once_that_is_written() -> None:
    handed = settled(job(), status("Initializing"), own_service=None)
    assert order(handed) == ["Submit", "WriteStatus", "CreateService"]


@pytest.mark.parametrize(
    ("about", "counts"),
    [
        pytest.param(settled(job(), running(), report=report("SUCCEEDED")), ("Complete", 1, 0), id="succeeded"),
        pytest.param(settled(job(), running(), report=report("STOPPED")), ("Complete", 0, 0), id="stopped"),
        pytest.param(settled(job(), running(), report=report("FAILED")), ("Failed", 0, 1), id="failed"),
        pytest.param(
            settled(job(backoffLimit=1), running(), report=report("FAILED")), ("Retrying", 0, 1), id="tried again"
        ),
        pytest.param(
            settled(job(backoffLimit=1), running(failed=1), report=report("FAILED")),
            ("Failed", 0, 2),
            id="no more tries",
        ),
        pytest.param(
            settled(job(backoffLimit=1, activeDeadlineSeconds=1), running()), ("Failed", 0, 1), id="no time for a try"
        ),
    ],
)
def test_accounts(about: Observed, counts: tuple[str, int, int]) -> None:
    said = written(about)
    assert (said.job_deployment_status, said.succeeded, said.failed) == counts


@pytest.mark.parametrize(
    ("about", "ended"),
    [
        pytest.param(settled(job(), running(), report=report("SUCCEEDED")), NOW, id="at the end"),
        pytest.param(settled(job(), running(), report=report("RUNNING")), None, id="not before"),
        pytest.param(
            settled(job(backoffLimit=1), running(), report=report("FAILED")), None, id="not between two tries"
        ),
    ],
)
def test_the_end_is_timed(about: Observed, ended: Any) -> None:
    assert written(about).end_time == ended


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        pytest.param(observed(job()), set(), id="new"),
        pytest.param(settled(job(), status("Initializing")), {"Initialized", "Submitted"}, id="handed over"),
        pytest.param(
            settled(job(), running(), report=report("RUNNING")), {"Initialized", "Submitted", "Running"}, id="it runs"
        ),
        pytest.param(
            settled(job(), running(), report=report("SUCCEEDED")), {"Initialized", "Submitted", "Complete"}, id="done"
        ),
        pytest.param(
            settled(job(), running(), report=report("FAILED")), {"Initialized", "Submitted", "Failed"}, id="failed"
        ),
        pytest.param(observed(job(backoffLimit=-1)), {"Failed"}, id="refused"),
    ],
)
def test_conditions(about: Observed, expected: set[str]) -> None:
    said = written(about)
    assert holds(said) == expected
    assert len(said.conditions) == 6
    assert all(condition.observed_generation == 1 for condition in said.conditions)


def test_a_condition_keeps_its_time_and_those_of_others_stay() -> None:
    first = written(settled(job(), running(), report=report("RUNNING")))
    foreign = msgspec.structs.replace(first.conditions[0], type="CleanupScheduled")
    aged = tuple(msgspec.structs.replace(each, last_transition_time=ago(60)) for each in (*first.conditions, foreign))
    second = written(settled(job(), msgspec.structs.replace(first, conditions=aged), report=report("SUCCEEDED")))
    times = {condition.type: condition.last_transition_time for condition in second.conditions}
    assert times["Initialized"] == times["CleanupScheduled"] == ago(60)
    assert times["Running"] == times["Complete"] == NOW


def test_a_job_that_goes_on_as_before_costs_nothing() -> None:
    said = written(settled(job(), running(), report=report("RUNNING")))
    assert acts(settled(job(), said, report=report("RUNNING", message="still busy"))) == []


def test_a_change_of_the_cluster_is_written() -> None:
    said = written(settled(job(), running(), report=report("RUNNING")))
    changed = settled(job(), said, report=report("RUNNING"), cluster=cluster("suspended"))
    assert written(changed).ray_cluster_status.state == "suspended"


def test_what_ray_said_of_a_failure_is_looked_up_in_the_log() -> None:
    (found,) = [
        each for each in acts(settled(job(), running(), report=report("FAILED"))) if isinstance(each, WriteStatus)
    ]
    assert found.with_log


def test_a_refusal_is_told_after_it_is_written_and_once() -> None:
    first, told = acts(observed(job(backoffLimit=-1)))
    assert isinstance(first, WriteStatus)
    assert isinstance(told, Tell)
    assert acts(observed(job(backoffLimit=-1), first.status)) == []


def test_another_refusal_is_written_too() -> None:
    (first, _) = acts(observed(job(backoffLimit=-1)))
    assert isinstance(first, WriteStatus)
    assert "activeDeadlineSeconds" in written(observed(job(activeDeadlineSeconds=0), first.status)).message


@pytest.mark.parametrize("state", ["Complete", "Failed"])
def test_a_corrected_job_that_had_ended_is_not_counted_again(state: str) -> None:
    outcome = {"job_status": "SUCCEEDED", "succeeded": 1} if state == "Complete" else {"job_status": "", "failed": 1}
    ended = running(job_deployment_status="ValidationFailed", end_time=ago(60), **outcome)
    said = written(observed(job(backoffLimit=5), ended))
    assert (said.job_deployment_status, said.end_time) == (state, ago(60))
    assert (said.succeeded, said.failed) == (outcome.get("succeeded", 0), outcome.get("failed", 0))


@pytest.mark.parametrize("state", ["Suspending", "Retrying"])
def test_an_attempt_is_cleared_away_also_when_the_spec_is_wrong_by_then(state: str) -> None:
    about = observed(job(backoffLimit=-1), running(job_deployment_status=state), cluster=cluster())
    (deletion,) = [act for act in acts(about) if isinstance(act, DeleteCluster)]
    assert (deletion.name, deletion.uid) == ("demo-c", "cluster-uid")


def test_the_deadline_is_noted_before_anything_that_may_fail() -> None:
    first, *_ = acts(observed(job(activeDeadlineSeconds=60), status("Initializing")))
    assert first == Recheck(ago(-50))


def test_where_conditions_are_dropped_a_status_is_not_written_for_them() -> None:
    about = settled(job(), running(job_status="RUNNING"), report=report("RUNNING"))
    said = msgspec.structs.replace(written(about), conditions=())
    assert acts(settled(job(), said, report=report("RUNNING"))) == []


def test_a_submission_that_fails_leaves_a_whole_status() -> None:
    (submit,) = [act for act in acts(settled(job(), status("Initializing"))) if isinstance(act, Submit)]
    assert holds(submit.otherwise) == {"Initialized"}
    assert submit.otherwise.job_status_check_failure_start_time == NOW


@pytest.mark.parametrize(
    ("failed", "earliest", "latest"),
    [
        pytest.param(1, 10, 12, id="the first"),
        pytest.param(3, 40, 48, id="the third"),
        pytest.param(30, 360, 432, id="later"),
    ],
)
def test_retries_wait_longer_and_longer(failed: int, earliest: int, latest: int) -> None:
    over = settled(job(backoffLimit=99), running(failed=failed - 1), report=report("FAILED"))
    gone = observed(job(backoffLimit=99), written(over))
    (later,) = acts(gone)
    assert isinstance(later, Recheck)
    assert earliest <= (later.at - NOW).total_seconds() <= latest
    assert written(gone, JobSettings(delays_retries=False)).job_deployment_status == ""
