"""What a ResourceQuota counts, and what it refuses in which words."""

from typing import Any

from manta_common.keys import Key
from manta_common.kinds import JOB, POD, PVC, ROLE, SECRET, SERVICE
from manta_embedded.store.builtin import RESOURCEQUOTA
from tests.contract.api.api import Api
from tests.contract.api.objects import GROUP, WIDGET, job, pod, service, widget
from tests.contract.api.steps import merge, refusal, wait_for
from tests.parts.cluster import ApiError

Obj = dict[str, Any]
MARK = "count/roles.rbac.authorization.k8s.io"


def limit(api: Api, space: str, hard: dict[str, str], **spec: Any) -> None:
    """Make a quota and wait until it is in force: what admits objects learns of it later than whoever reads it."""
    mark = {} if spec else {MARK: "0"}  # a quota with a scope takes no other kinds
    api.create(RESOURCEQUOTA, space, {"metadata": {"name": "quota"}, "spec": {"hard": hard | mark, **spec}})
    wait_for_use(api, space, dict.fromkeys(hard, "0"))
    if mark:
        api.eventually("the quota is in force", lambda: is_marked(api, space))


def is_marked(api: Api, space: str) -> bool | None:
    """True once something is refused that the quota has no room for."""
    try:
        api.create(ROLE, space, {"metadata": {"name": "mark"}})
    except ApiError:
        return True
    api.delete(ROLE, Key(space, "mark"))
    return None


def of_interest(amounts: dict[str, str]) -> dict[str, str]:
    """What a test asked to be limited."""
    return {name: amount for name, amount in amounts.items() if name != MARK}


def wait_for_use(api: Api, space: str, used: dict[str, str]) -> Obj:
    place = Key(space, "quota")
    return wait_for(
        api,
        RESOURCEQUOTA,
        place,
        f"{used} is used",
        lambda obj: of_interest(obj.get("status", {}).get("used", {})) == used,
    )


def asking(name: str, **resources: Obj) -> Obj:
    return pod(name, containers=[{"name": "main", "image": "example/none:1", "resources": resources}])


def test_a_quota_says_what_is_limited_and_what_is_used(api: Api, space: str) -> None:
    limit(api, space, {"pods": "2", "requests.cpu": "1500m"})
    api.create(POD, space, asking("one", requests={"cpu": "0.5"}))
    found = wait_for_use(api, space, {"pods": "1", "requests.cpu": "500m"})
    assert of_interest(found["status"]["hard"]) == {"pods": "2", "requests.cpu": "1500m"}


def test_a_pod_too_many_is_refused_with_the_numbers(api: Api, space: str) -> None:
    limit(api, space, {"pods": "1"})
    api.create(POD, space, pod("one"))
    status = refusal(lambda: api.create(POD, space, pod("two")))
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"] == (
        'pods "two" is forbidden: exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1'
    )
    assert status["details"] == {"name": "two", "kind": "pods"}


def test_amounts_are_added_and_those_exceeded_are_told(api: Api, space: str) -> None:
    limit(api, space, {"requests.cpu": "1", "requests.memory": "1Gi", "limits.memory": "4Gi"})
    api.create(POD, space, asking("one", requests={"cpu": "600m", "memory": "512Mi"}, limits={"memory": "1Gi"}))
    more = asking("two", requests={"cpu": "0.5", "memory": "768Mi"}, limits={"memory": "1Gi"})
    status = refusal(lambda: api.create(POD, space, more))
    assert status["message"] == (
        'pods "two" is forbidden: exceeded quota: quota, requested: requests.cpu=500m,requests.memory=768Mi, '
        "used: requests.cpu=600m,requests.memory=512Mi, limited: requests.cpu=1,requests.memory=1Gi"
    )


def test_a_pod_must_say_how_much_it_wants_of_what_is_limited(api: Api, space: str) -> None:
    limit(api, space, {"limits.cpu": "1", "requests.memory": "1Gi", "pods": "5"})
    status = refusal(lambda: api.create(POD, space, pod("one")))
    assert status["message"] == (
        'pods "one" is forbidden: failed quota: quota: must specify limits.cpu for: main; requests.memory for: main'
    )


def test_a_pod_that_has_ended_counts_only_as_an_object(api: Api, space: str) -> None:
    limit(api, space, {"pods": "1", "count/pods": "2"})
    api.create(POD, space, pod("one"))
    merge(api, POD, Key(space, "one"), {"status": {"phase": "Succeeded"}}, "status")
    wait_for_use(api, space, {"pods": "0", "count/pods": "1"})
    api.create(POD, space, pod("two"))
    status = refusal(lambda: api.create(POD, space, pod("three")))
    assert (
        "requested: count/pods=1,pods=1, used: count/pods=2,pods=1, limited: count/pods=2,pods=1" in status["message"]
    )


def test_what_is_deleted_is_free_again(api: Api, space: str) -> None:
    limit(api, space, {"secrets": "1"})
    api.create(SECRET, space, {"metadata": {"name": "one"}})
    status = refusal(lambda: api.create(SECRET, space, {"metadata": {"name": "two"}}))
    assert status["message"] == (
        'secrets "two" is forbidden: exceeded quota: quota, requested: secrets=1, used: secrets=1, limited: secrets=1'
    )
    api.delete(SECRET, Key(space, "one"))
    wait_for_use(api, space, {"secrets": "0"})
    api.create(SECRET, space, {"metadata": {"name": "two"}})


def test_services_count_by_their_type(api: Api, space: str) -> None:
    limit(api, space, {"services": "5", "services.nodeports": "1"})
    api.create(SERVICE, space, service("one"))
    wait_for_use(api, space, {"services": "1", "services.nodeports": "0"})
    merge(api, SERVICE, Key(space, "one"), {"spec": {"type": "NodePort"}})
    wait_for_use(api, space, {"services": "1", "services.nodeports": "1"})
    status = refusal(lambda: api.create(SERVICE, space, service("two", type="NodePort")))
    assert status["message"].endswith(
        "exceeded quota: quota, requested: services.nodeports=1, used: services.nodeports=1, "
        "limited: services.nodeports=1"
    )


def test_claims_count_by_the_storage_they_ask_for(api: Api, space: str) -> None:
    limit(api, space, {"requests.storage": "2Gi", "persistentvolumeclaims": "5"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1536Mi"}}}
    api.create(PVC, space, {"metadata": {"name": "one"}, "spec": spec})
    wait_for_use(api, space, {"requests.storage": "1536Mi", "persistentvolumeclaims": "1"})
    status = refusal(lambda: api.create(PVC, space, {"metadata": {"name": "two"}, "spec": spec}))
    assert (
        "requested: requests.storage=1536Mi, used: requests.storage=1536Mi, limited: requests.storage=2Gi"
        in (status["message"])
    )


def test_custom_resources_can_be_counted(api: Api, space: str) -> None:
    limit(api, space, {f"count/widgets.{GROUP}": "1"})
    api.create(WIDGET, space, widget("one"))
    status = refusal(lambda: api.create(WIDGET, space, widget("two")))
    assert status["message"] == (
        f'widgets.{GROUP} "two" is forbidden: exceeded quota: quota, requested: count/widgets.{GROUP}=1, '
        f"used: count/widgets.{GROUP}=1, limited: count/widgets.{GROUP}=1"
    )


def test_a_quota_with_a_scope_is_for_the_pods_in_it(api: Api, space: str) -> None:
    limit(api, space, {"pods": "0"}, scopes=["Terminating"])
    api.create(POD, space, pod("long"))
    status = refusal(lambda: api.create(POD, space, pod("short", activeDeadlineSeconds=60)))
    assert status["message"].endswith("exceeded quota: quota, requested: pods=1, used: pods=0, limited: pods=0")


def test_a_job_whose_pods_are_refused_tries_again(api: Api, space: str) -> None:
    limit(api, space, {"pods": "0"})
    api.create(JOB, space, job("work"))
    wait_for(api, JOB, Key(space, "work"), "it was looked at", lambda obj: "ready" in obj["status"])
    api.delete(RESOURCEQUOTA, Key(space, "quota"))
    wait_for(api, JOB, Key(space, "work"), "it has a pod", lambda obj: obj["status"].get("active") == 1)
