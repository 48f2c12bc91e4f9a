"""Jobs run their pods to the end, count them, and say how it went."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import JOB, POD
from manta_embedded.store.builtin import RESOURCEQUOTA
from manta_embedded.store.controllers.job_facts import TRACKING
from tests.unit.manta_embedded.store.controllers.small_world import SPACE, SmallWorld, conditions, job

STARTED = "2026-01-01T00:00:00Z"


@pytest.fixture
def world() -> SmallWorld:
    return SmallWorld()


def only_pod(world: SmallWorld) -> str:
    (pod,) = [pod for pod in world.pods() if pod["status"]["phase"] == "Pending"]
    name: str = pod["metadata"]["name"]
    return name


def test_a_pod_is_the_jobs_own(world: SmallWorld) -> None:
    made = world.create(JOB, job())
    (pod,) = world.pods()
    meta, uid = pod["metadata"], made["metadata"]["uid"]
    assert meta["generateName"] == "work-"
    assert meta["finalizers"] == [TRACKING]
    assert meta["labels"]["batch.kubernetes.io/controller-uid"] == meta["labels"]["controller-uid"] == uid
    assert meta["labels"]["batch.kubernetes.io/job-name"] == meta["labels"]["job-name"] == "work"
    (owner,) = meta["ownerReferences"]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "work",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_a_job_is_complete_when_its_pod_has_succeeded(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.end_pod(only_pod(world), "Succeeded")
    (pod,) = world.pods()
    assert "finalizers" not in pod["metadata"]
    status = world.get(JOB, "work")["status"]
    assert {name: value for name, value in status.items() if name != "conditions"} == {
        "startTime": STARTED,
        "completionTime": STARTED,
        "succeeded": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    assert conditions(world) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]


def test_a_running_pod_is_counted_as_active_and_ready(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.run_pod(only_pod(world))
    status = world.get(JOB, "work")["status"]
    assert (status["active"], status["ready"], status["terminating"]) == (1, 1, 0)


def test_no_more_pods_run_than_are_wanted_and_no_more_than_are_left(world: SmallWorld) -> None:
    world.create(JOB, job(completions=3, parallelism=2))
    assert len(world.pods()) == 2
    world.end_pod(world.pods()[0]["metadata"]["name"], "Succeeded")
    assert len(world.pods()) == 3
    for pod in world.pods():
        if pod["status"]["phase"] == "Pending":
            world.end_pod(pod["metadata"]["name"], "Succeeded")
    assert len(world.pods()) == 3
    assert world.get(JOB, "work")["status"]["succeeded"] == 3
    assert conditions(world)[-1] == ("Complete", "True", "CompletionsReached")


def test_without_completions_the_first_success_stops_new_pods(world: SmallWorld) -> None:
    world.create(JOB, job(parallelism=2))
    one, two = (pod["metadata"]["name"] for pod in world.pods())
    world.end_pod(one, "Succeeded")
    assert len(world.pods()) == 2
    assert conditions(world) == []
    world.end_pod(two, "Failed")
    assert conditions(world)[-1] == ("Complete", "True", "CompletionsReached")


def test_after_a_failure_the_next_pod_comes_later_and_later(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.end_pod(only_pod(world), "Failed")
    world.pass_time(9)
    assert len(world.pods()) == 1
    world.pass_time(1)
    assert len(world.pods()) == 2
    world.end_pod(only_pod(world), "Failed")
    world.pass_time(19)
    assert len(world.pods()) == 2
    world.pass_time(1)
    assert len(world.pods()) == 3
    assert world.get(JOB, "work")["status"]["failed"] == 2


def test_one_failure_too_many_fails_the_job(world: SmallWorld) -> None:
    world.create(JOB, job(backoffLimit=1))
    world.end_pod(only_pod(world), "Failed")
    world.pass_time(10)
    world.end_pod(only_pod(world), "Failed")
    assert conditions(world) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    status = world.get(JOB, "work")["status"]
    assert status["failed"] == 2
    assert status["conditions"][1]["message"] == "Job has reached the specified backoff limit"
    assert "completionTime" not in status


def test_restarts_of_a_container_count_where_pods_restart_on_failure(world: SmallWorld) -> None:
    world.create(JOB, job(restart="OnFailure", backoffLimit=2))
    name = only_pod(world)
    world.run_pod(name)
    world.merge(POD, name, "status", status={"containerStatuses": [{"name": "main", "restartCount": 1}]})
    assert conditions(world) == []
    world.merge(POD, name, "status", status={"containerStatuses": [{"name": "main", "restartCount": 2}]})
    assert conditions(world) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    world.delete(POD, name, grace_seconds=0)
    assert conditions(world)[-1] == ("Failed", "True", "BackoffLimitExceeded")


def test_a_job_that_takes_too_long_fails_once_its_pods_are_gone(world: SmallWorld) -> None:
    world.create(JOB, job(activeDeadlineSeconds=60))
    name = only_pod(world)
    world.run_pod(name)
    world.pass_time(59)
    assert conditions(world) == []
    world.pass_time(1)
    assert conditions(world) == [("FailureTarget", "True", "DeadlineExceeded")]
    assert world.get(JOB, "work")["status"]["terminating"] == 1
    world.delete(POD, name, grace_seconds=0)
    assert conditions(world)[-1] == ("Failed", "True", "DeadlineExceeded")
    status = world.get(JOB, "work")["status"]
    assert (status["failed"], status["terminating"]) == (1, 0)


def test_a_suspended_job_has_no_pods_until_it_is_resumed(world: SmallWorld) -> None:
    world.create(JOB, job(suspend=True))
    assert world.pods() == []
    assert conditions(world) == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in world.get(JOB, "work")["status"]
    world.pass_time(5)
    world.merge(JOB, "work", spec={"suspend": False})
    assert len(world.pods()) == 1
    assert conditions(world) == [("Suspended", "False", "JobResumed")]
    assert world.get(JOB, "work")["status"]["startTime"] == "2026-01-01T00:00:05Z"


def test_a_job_that_is_suspended_loses_its_pods_and_counts_no_failure(world: SmallWorld) -> None:
    world.create(JOB, job(activeDeadlineSeconds=60))
    world.merge(JOB, "work", spec={"suspend": True})
    assert world.pods() == []
    world.pass_time(600)
    assert conditions(world) == [("Suspended", "True", "JobSuspended")]
    assert "failed" not in world.get(JOB, "work")["status"]


def test_a_finished_job_is_deleted_with_its_pods_when_its_time_is_over(world: SmallWorld) -> None:
    world.create(JOB, job(ttlSecondsAfterFinished=30))
    world.end_pod(only_pod(world), "Succeeded")
    world.pass_time(29)
    assert world.names(JOB) == ["work"]
    world.pass_time(1)
    assert world.names(JOB) == []
    assert world.pods() == []


def test_a_time_to_live_that_is_raised_counts_from_the_end(world: SmallWorld) -> None:
    world.create(JOB, job(ttlSecondsAfterFinished=30))
    world.end_pod(only_pod(world), "Succeeded")
    world.pass_time(20)
    world.merge(JOB, "work", spec={"ttlSecondsAfterFinished": 60})
    world.pass_time(39)
    assert world.names(JOB) == ["work"]
    world.pass_time(1)
    assert world.names(JOB) == []


def test_a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.delete(POD, only_pod(world))
    assert world.get(JOB, "work")["status"]["failed"] == 1
    world.pass_time(10)
    assert len(world.pods()) == 1


def test_the_pods_of_a_deleted_job_are_let_go(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.delete(JOB, "work")
    assert world.pods() == []
    assert world.names(JOB) == []


def test_a_job_that_is_deleted_without_a_word_leaves_its_pods(world: SmallWorld) -> None:
    world.create(JOB, job())
    world.delete(JOB, "work", propagation="")
    (pod,) = world.pods()
    assert "ownerReferences" not in pod["metadata"]
    assert "finalizers" not in pod["metadata"]


def test_fewer_wanted_pods_end_those_that_are_least_far(world: SmallWorld) -> None:
    world.create(JOB, job(completions=3, parallelism=3))
    running = world.pods()[1]["metadata"]["name"]
    world.run_pod(running)
    world.merge(JOB, "work", spec={"parallelism": 1})
    assert [pod["metadata"]["name"] for pod in world.pods()] == [running]


def test_a_job_of_another_controller_is_left_to_it(world: SmallWorld) -> None:
    world.create(JOB, job(managedBy="example.com/other"))
    assert world.pods() == []
    assert world.get(JOB, "work")["status"] == {}


def test_a_job_tries_again_later_and_later_when_its_pod_is_refused(world: SmallWorld) -> None:
    world.create(RESOURCEQUOTA, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    world.create(JOB, job())
    pauses = []
    for _ in range(8):
        due = world.controllers.due()
        assert due is not None
        pauses.append((due - world.store.now()).total_seconds())
        world.pass_time(pauses[-1])
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60
    world.store.delete(RESOURCEQUOTA, Key(SPACE, "none"))
    world.pass_time(60)
    assert len(world.pods()) == 1
