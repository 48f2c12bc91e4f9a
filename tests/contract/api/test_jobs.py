"""What the Job controller does. The pods are taken by no node: a test ends them itself."""

from typing import Any

from manta_common.keys import Key
from manta_common.kinds import JOB, POD
from tests.contract.api.api import Api
from tests.contract.api.objects import job, pod
from tests.contract.api.steps import find, merge, wait_for, wait_until_gone

Obj = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"


def key(space: str) -> Key:
    return Key(space, "work")


def start(api: Api, space: str, **spec: Any) -> Obj:
    return api.create(JOB, space, job("work", **spec))


def pods(api: Api, space: str) -> list[Obj]:
    found: list[Obj] = api.list(POD, space, labelSelector="job-name=work")["items"]
    return found


def wait_for_pods(api: Api, space: str, count: int) -> list[Obj]:
    """The pods that have not ended, once there are so many."""

    def look() -> list[Obj] | None:
        living = [pod for pod in pods(api, space) if pod["status"]["phase"] == "Pending"]
        living = [pod for pod in living if "deletionTimestamp" not in pod["metadata"]]
        return living if len(living) == count else None

    return api.eventually(f"the job has {count} pods", look)


def wait_for_the_collector(api: Api, space: str) -> None:
    """Return once the garbage collector knows of the pods of now: it hears of jobs and pods one by one."""
    nobody = {"apiVersion": "batch/v1", "kind": "Job", "name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}
    sentinel = pod("sentinel")
    sentinel["metadata"]["ownerReferences"] = [nobody]
    api.create(POD, space, sentinel)
    wait_until_gone(api, POD, Key(space, "sentinel"))


def end(api: Api, pod: Obj, phase: str) -> None:
    place = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
    merge(api, POD, place, {"status": {"phase": phase}}, "status")


def conditions(obj: Obj) -> list[tuple[str, str, str, str]]:
    found = obj["status"].get("conditions", [])
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in found]


def wait_for_condition(api: Api, space: str, name: str, status: str = "True") -> Obj:
    return wait_for(
        api,
        JOB,
        key(space),
        f"{name} is {status}",
        lambda obj: any((one[0], one[1]) == (name, status) for one in conditions(obj)),
    )


def numbers(obj: Obj) -> dict[str, int]:
    names = ("active", "ready", "succeeded", "failed", "terminating")
    return {name: obj["status"][name] for name in names if name in obj["status"]}


def test_a_job_has_defaults_and_selects_its_pods_by_its_uid(api: Api, space: str) -> None:
    made = start(api, space)
    spec, uid = made["spec"], made["metadata"]["uid"]
    wanted = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        "suspend": False,
    }
    assert {name: value for name, value in spec.items() if name != "template"} == wanted
    assert spec["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "work",
        "controller-uid": uid,
        "job-name": "work",
    }


def test_a_pod_of_a_job_carries_its_labels_its_owner_and_its_finalizer(api: Api, space: str) -> None:
    made = start(api, space)
    (pod,) = wait_for_pods(api, space, 1)
    meta = pod["metadata"]
    assert meta["generateName"] == "work-"
    assert meta["name"].startswith("work-")
    assert meta["finalizers"] == [TRACKING]
    assert meta["labels"] == made["spec"]["template"]["metadata"]["labels"]
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "work",
            "uid": made["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_a_job_counts_its_active_pods(api: Api, space: str) -> None:
    start(api, space, completions=3, parallelism=2)
    found = wait_for(api, JOB, key(space), "two pods", lambda obj: obj["status"].get("active") == 2)
    assert numbers(found) == {"active": 2, "ready": 0, "terminating": 0}
    assert found["status"]["startTime"]
    assert found["status"]["uncountedTerminatedPods"] == {}


def test_a_job_is_complete_when_its_pod_has_succeeded(api: Api, space: str) -> None:
    start(api, space)
    (pod,) = wait_for_pods(api, space, 1)
    end(api, pod, "Succeeded")
    found = wait_for_condition(api, space, "Complete")
    why = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
    assert conditions(found) == [("SuccessCriteriaMet", *why), ("Complete", *why)]
    assert numbers(found) == {"ready": 0, "succeeded": 1, "terminating": 0}
    assert found["status"]["completionTime"] == found["status"]["conditions"][1]["lastTransitionTime"]
    assert found["status"]["uncountedTerminatedPods"] == {}
    (pod,) = pods(api, space)
    assert "finalizers" not in pod["metadata"]


def test_the_next_pod_comes_when_one_has_succeeded(api: Api, space: str) -> None:
    start(api, space, completions=2, parallelism=1)
    (first,) = wait_for_pods(api, space, 1)
    end(api, first, "Succeeded")
    wait_for(api, JOB, key(space), "one success", lambda obj: obj["status"].get("succeeded") == 1)
    (second,) = wait_for_pods(api, space, 1)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    end(api, second, "Succeeded")
    assert numbers(wait_for_condition(api, space, "Complete"))["succeeded"] == 2


def test_a_failure_more_than_allowed_fails_the_job(api: Api, space: str) -> None:
    start(api, space, backoffLimit=0)
    (pod,) = wait_for_pods(api, space, 1)
    end(api, pod, "Failed")
    found = wait_for_condition(api, space, "Failed")
    why = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert conditions(found) == [("FailureTarget", *why), ("Failed", *why)]
    assert numbers(found) == {"failed": 1, "ready": 0, "terminating": 0}
    assert "completionTime" not in found["status"]


def test_a_failed_job_ends_the_pods_that_still_run(api: Api, space: str) -> None:
    start(api, space, backoffLimit=0, completions=2, parallelism=2)
    one, _ = wait_for_pods(api, space, 2)
    end(api, one, "Failed")
    found = wait_for_condition(api, space, "Failed")
    assert numbers(found) == {"failed": 2, "ready": 0, "terminating": 0}
    assert [pod["metadata"]["name"] for pod in pods(api, space)] == [one["metadata"]["name"]]


def test_a_pod_that_somebody_deletes_counts_as_a_failure(api: Api, space: str) -> None:
    start(api, space, backoffLimit=0)
    (pod,) = wait_for_pods(api, space, 1)
    api.delete(POD, Key(space, pod["metadata"]["name"]))
    found = wait_for_condition(api, space, "Failed")
    assert numbers(found)["failed"] == 1
    assert pods(api, space) == []


def test_a_job_that_takes_too_long_fails(api: Api, space: str) -> None:
    start(api, space, activeDeadlineSeconds=1)
    wait_for_pods(api, space, 1)
    found = wait_for_condition(api, space, "Failed")
    why = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
    assert conditions(found) == [("FailureTarget", *why), ("Failed", *why)]
    assert numbers(found) == {"failed": 1, "ready": 0, "terminating": 0}
    assert pods(api, space) == []


def test_a_suspended_job_has_no_pods_until_it_is_resumed(api: Api, space: str) -> None:
    start(api, space, suspend=True)
    found = wait_for_condition(api, space, "Suspended")
    assert conditions(found) == [("Suspended", "True", "JobSuspended", "Job suspended")]
    assert "startTime" not in found["status"]
    assert pods(api, space) == []
    merge(api, JOB, key(space), {"spec": {"suspend": False}})
    wait_for_pods(api, space, 1)
    found = wait_for_condition(api, space, "Suspended", "False")
    assert conditions(found) == [("Suspended", "False", "JobResumed", "Job resumed")]
    assert found["status"]["startTime"]


def test_a_job_that_is_suspended_loses_its_pods_without_a_failure(api: Api, space: str) -> None:
    start(api, space)
    wait_for_pods(api, space, 1)
    merge(api, JOB, key(space), {"spec": {"suspend": True}})
    wait_for_condition(api, space, "Suspended")
    found = wait_for(api, JOB, key(space), "none ends", lambda obj: obj["status"].get("terminating") == 0)
    assert numbers(found) == {"ready": 0, "terminating": 0}
    assert "startTime" not in found["status"]
    assert pods(api, space) == []


def test_a_finished_job_goes_with_its_pods_when_its_time_is_over(api: Api, space: str) -> None:
    start(api, space, ttlSecondsAfterFinished=1)
    (pod,) = wait_for_pods(api, space, 1)
    end(api, pod, "Succeeded")
    wait_until_gone(api, JOB, key(space))
    assert pods(api, space) == []


def test_a_job_that_is_deleted_in_the_background_takes_its_pods_along(api: Api, space: str) -> None:
    start(api, space)
    (pod,) = wait_for_pods(api, space, 1)
    api.delete(JOB, key(space), propagationPolicy="Background")
    assert find(api, JOB, key(space)) is None
    wait_until_gone(api, POD, Key(space, pod["metadata"]["name"]))


def test_a_job_that_is_deleted_in_the_foreground_goes_after_its_pods(api: Api, space: str) -> None:
    start(api, space)
    (pod,) = wait_for_pods(api, space, 1)
    wait_for_the_collector(api, space)
    place = Key(space, pod["metadata"]["name"])
    merge(api, POD, place, {"metadata": {"finalizers": [TRACKING, "contract.manta.example/hold"]}})
    api.delete(JOB, key(space), propagationPolicy="Foreground")
    wait_for(api, POD, place, "it goes", lambda obj: "deletionTimestamp" in obj["metadata"])
    wait_for(api, POD, place, "only we hold it", lambda obj: TRACKING not in obj["metadata"]["finalizers"])
    assert find(api, JOB, key(space)) is not None
    merge(api, POD, place, {"metadata": {"finalizers": None}})
    wait_until_gone(api, JOB, key(space))


def test_a_job_that_is_deleted_without_a_word_leaves_its_pods(api: Api, space: str) -> None:
    start(api, space)
    (pod,) = wait_for_pods(api, space, 1)
    wait_for_the_collector(api, space)
    api.delete(JOB, key(space))
    wait_until_gone(api, JOB, key(space))
    place = Key(space, pod["metadata"]["name"])
    found = wait_for(api, POD, place, "nobody holds it", lambda obj: not obj["metadata"].get("finalizers"))
    assert "ownerReferences" not in found["metadata"]


def test_fewer_pods_at_once_end_those_that_are_too_many(api: Api, space: str) -> None:
    start(api, space, completions=3, parallelism=3)
    wait_for_pods(api, space, 3)
    merge(api, JOB, key(space), {"spec": {"parallelism": 1}})
    wait_for_pods(api, space, 1)
    found = wait_for(
        api, JOB, key(space), "one pod", lambda obj: numbers(obj) == {"active": 1, "ready": 0, "terminating": 0}
    )
    assert "failed" not in found["status"]


def test_without_completions_one_success_is_enough(api: Api, space: str) -> None:
    start(api, space, parallelism=2)
    one, two = wait_for_pods(api, space, 2)
    end(api, one, "Succeeded")
    wait_for(api, JOB, key(space), "one success", lambda obj: obj["status"].get("succeeded") == 1)
    end(api, two, "Failed")
    found = wait_for_condition(api, space, "Complete")
    assert numbers(found) == {"failed": 1, "ready": 0, "succeeded": 1, "terminating": 0}


def test_a_job_of_another_controller_is_left_to_it(api: Api, space: str) -> None:
    start(api, space, managedBy="contract.manta.example/other")
    other = job("mine")
    api.create(JOB, space, other)
    wait_for(api, JOB, Key(space, "mine"), "it has a pod", lambda obj: obj["status"].get("active"))
    assert api.get(JOB, key(space))["status"] == {}
    assert pods(api, space) == []
