"""How a namespace goes, and what it says meanwhile."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, SECRET
from tests.contract.api.api import Api
from tests.contract.api.objects import WIDGET, configmap, widget
from tests.contract.api.steps import find, merge, refusal, wait_for, wait_until_gone

Obj = dict[str, Any]
HOLD = "contract.manta.example/hold"


@pytest.fixture
def doomed(api: Api, space: str) -> Key:
    """A namespace that a test may delete itself."""
    name = f"{space}-doomed"
    api.create(NAMESPACE, "", {"metadata": {"name": name}})
    return Key("", name)


def hold(api: Api, doomed: Key) -> Key:
    body = configmap("held")
    body["metadata"]["finalizers"] = [HOLD]
    api.create(CONFIGMAP, doomed.name, body)
    return Key(doomed.name, "held")


def let_go(api: Api, doomed: Key, held: Key) -> None:
    merge(api, CONFIGMAP, held, {"metadata": {"finalizers": None}})
    wait_until_gone(api, NAMESPACE, doomed)


def condition(namespace: Obj, name: str) -> tuple[str, str, str]:
    found = {one["type"]: one for one in namespace["status"].get("conditions", [])}
    one = found.get(name, {})
    return one.get("status", ""), one.get("reason", ""), one.get("message", "")


def test_a_new_namespace_is_active_and_held_by_kubernetes(api: Api, doomed: Key) -> None:
    found = api.get(NAMESPACE, doomed)
    assert found["status"] == {"phase": "Active"}
    assert found["spec"] == {"finalizers": ["kubernetes"]}
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": doomed.name}
    api.delete(NAMESPACE, doomed)


def test_a_namespace_takes_along_what_is_in_it(api: Api, doomed: Key) -> None:
    api.create(SECRET, doomed.name, {"metadata": {"name": "one"}})
    api.create(WIDGET, doomed.name, widget("two"))
    api.delete(NAMESPACE, doomed)
    wait_until_gone(api, NAMESPACE, doomed)
    assert find(api, SECRET, Key(doomed.name, "one")) is None
    assert find(api, WIDGET, Key(doomed.name, "two")) is None


def test_a_name_is_free_again_once_the_namespace_is_gone(api: Api, doomed: Key) -> None:
    api.delete(NAMESPACE, doomed)
    wait_until_gone(api, NAMESPACE, doomed)
    api.create(NAMESPACE, "", {"metadata": {"name": doomed.name}})
    api.delete(NAMESPACE, doomed)


def test_nothing_new_comes_into_a_namespace_that_goes(api: Api, doomed: Key) -> None:
    held = hold(api, doomed)
    api.delete(NAMESPACE, doomed)
    assert api.get(NAMESPACE, doomed)["status"]["phase"] == "Terminating"
    status = refusal(lambda: api.create(CONFIGMAP, doomed.name, configmap("late")))
    assert status["code"] == 403
    assert status["reason"] == "Forbidden"
    assert status["message"] == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {doomed.name} '
        "because it is being terminated"
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {doomed.name} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    let_go(api, doomed, held)


def test_what_is_there_may_still_be_changed_while_the_namespace_goes(api: Api, doomed: Key) -> None:
    held = hold(api, doomed)
    api.delete(NAMESPACE, doomed)
    assert merge(api, CONFIGMAP, held, {"data": {"a": "b"}})["data"] == {"a": "b"}
    let_go(api, doomed, held)


def test_a_held_object_holds_its_namespace_which_says_so(api: Api, doomed: Key) -> None:
    held = hold(api, doomed)
    api.delete(NAMESPACE, doomed)
    found = wait_for(
        api,
        NAMESPACE,
        doomed,
        "it tells of finalizers",
        lambda obj: condition(obj, "NamespaceFinalizersRemaining")[0] == "True",
    )
    assert condition(found, "NamespaceFinalizersRemaining")[1:] == (
        "SomeFinalizersRemain",
        f"Some content in the namespace has finalizers remaining: {HOLD} in 1 resource instances",
    )
    assert condition(found, "NamespaceContentRemaining") == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert condition(found, "NamespaceDeletionContentFailure") == (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    )
    assert condition(found, "NamespaceDeletionDiscoveryFailure")[:2] == ("False", "ResourcesDiscovered")
    let_go(api, doomed, held)


def test_a_finalizer_of_its_own_holds_an_empty_namespace(api: Api, doomed: Key) -> None:
    merge(api, NAMESPACE, doomed, {"metadata": {"finalizers": [HOLD]}})
    api.delete(NAMESPACE, doomed)
    found = wait_for(api, NAMESPACE, doomed, "it is empty", lambda obj: not obj["spec"].get("finalizers"))
    assert found["status"]["phase"] == "Terminating"
    merge(api, NAMESPACE, doomed, {"metadata": {"finalizers": None}})
    wait_until_gone(api, NAMESPACE, doomed)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_the_namespaces_of_the_cluster_itself_stay(api: Api, name: str) -> None:
    status = refusal(lambda: api.delete(NAMESPACE, Key("", name)))
    assert (status["code"], status["message"]) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


def test_there_is_no_place_in_a_namespace_that_is_not_there(api: Api) -> None:
    status = refusal(lambda: api.create(CONFIGMAP, "never-was", configmap("one")))
    assert (status["code"], status["message"]) == (404, 'namespaces "never-was" not found')
