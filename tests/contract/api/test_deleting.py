"""What a deletion does at once, later, or not at all."""

from datetime import datetime, timedelta

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, POD
from manta_common.kube.protocol import JsonPatch, MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import WIDGET, Obj, configmap, pod, widget

KEEP = "api.contract.manta.example/keep"


def with_finalizers(body: Obj, *finalizers: str) -> Obj:
    body["metadata"]["finalizers"] = list(finalizers)
    return body


def on_a_node(api: Api, space: str, **spec: object) -> Key:
    """A pod on a node that is not there, so that nobody ends it."""
    api.create(POD, space, pod("one", nodeName="no-such-node", **spec))
    return Key(space, "one")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_another_uid_is_a_conflict_that_names_both(api: Api, space: str) -> None:
    uid = api.create(WIDGET, space, widget("one"))["metadata"]["uid"]
    message = (
        'Operation cannot be fulfilled on Widget.api.contract.manta.example "one": the UID in the precondition'
        f" (another) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
    )
    with refused(409, "Conflict", message=message):
        api.delete(WIDGET, Key(space, "one"), preconditions={"uid": "another"})


def test_another_version_is_a_conflict_that_names_both(api: Api, space: str) -> None:
    version = api.create(CONFIGMAP, space, configmap("one"))["metadata"]["resourceVersion"]
    message = (
        'Operation cannot be fulfilled on ConfigMap "one": the ResourceVersion in the precondition (1) does not match'
        f" the ResourceVersion in record ({version}). The object might have been modified"
    )
    with refused(409, "Conflict", message=message):
        api.delete(CONFIGMAP, Key(space, "one"), preconditions={"resourceVersion": "1"})
    api.delete(CONFIGMAP, Key(space, "one"), preconditions={"resourceVersion": version})


def test_what_is_not_there_is_not_found(api: Api, space: str) -> None:
    with refused(404, "NotFound", message='widgets.api.contract.manta.example "none" not found') as status:
        api.delete(WIDGET, Key(space, "none"))
    assert status["details"] == {"name": "none", "group": "api.contract.manta.example", "kind": "widgets"}


def test_a_finalizer_keeps_an_object_that_knows_of_its_end(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    meta = api.get(WIDGET, Key(space, "one"))["metadata"]
    assert "deletionTimestamp" in meta
    assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (0, 2)


def test_a_second_deletion_of_a_kept_object_changes_nothing(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    before = api.get(WIDGET, Key(space, "one"))
    api.delete(WIDGET, Key(space, "one"))
    assert api.get(WIDGET, Key(space, "one")) == before


def test_the_last_finalizer_takes_the_object_with_it(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP, f"{KEEP}-too"))
    api.delete(WIDGET, Key(space, "one"))
    first = JsonPatch(({"op": "remove", "path": "/metadata/finalizers/0"},))
    assert api.patch(WIDGET, Key(space, "one"), first)["metadata"]["finalizers"] == [f"{KEEP}-too"]
    api.patch(WIDGET, Key(space, "one"), first)
    with refused(404, "NotFound"):
        api.get(WIDGET, Key(space, "one"))


def test_finalizers_that_go_before_the_deletion_keep_nothing(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"finalizers": None}}))
    assert api.get(WIDGET, Key(space, "one"))["metadata"].get("finalizers") is None
    api.delete(WIDGET, Key(space, "one"))
    with refused(404, "NotFound"):
        api.get(WIDGET, Key(space, "one"))


def test_an_object_that_goes_takes_no_new_finalizers(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    message = (
        'Widget.api.contract.manta.example "one" is invalid: metadata.finalizers: Forbidden: no new finalizers can be'
        f' added if the object is being deleted, found new finalizers []string{{"{KEEP}-too"}}'
    )
    with refused(422, "Invalid", message=message):
        api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"finalizers": [KEEP, f"{KEEP}-too"]}}))


def test_an_object_that_goes_can_still_be_changed(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one", size=1), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    after = api.patch(WIDGET, Key(space, "one"), MergePatch({"spec": {"size": 2}}))
    assert (after["spec"], after["metadata"]["generation"]) == ({"size": 2}, 3)
    after = api.patch(WIDGET, Key(space, "one"), MergePatch({"status": {"state": "going"}}), "status")
    assert after["status"] == {"state": "going"}


def test_the_name_of_an_object_that_goes_is_taken(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    with refused(409, "AlreadyExists", match='"one" already exists'):
        api.create(WIDGET, space, widget("one"))


def test_a_deletion_cannot_be_taken_back(api: Api, space: str) -> None:
    api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"))
    before = api.get(WIDGET, Key(space, "one"))["metadata"]["deletionTimestamp"]
    after = api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"deletionTimestamp": None}}))
    assert after["metadata"]["deletionTimestamp"] == before


def test_a_pod_without_a_node_goes_at_once(api: Api, space: str) -> None:
    api.create(POD, space, pod("one"))
    api.delete(POD, Key(space, "one"))
    with refused(404, "NotFound"):
        api.get(POD, Key(space, "one"))


@pytest.mark.parametrize(
    ("spec", "options", "seconds"),
    [
        pytest.param({}, {}, 30, id="half a minute by default"),
        pytest.param({"terminationGracePeriodSeconds": 7}, {}, 7, id="what the pod wants"),
        pytest.param({"terminationGracePeriodSeconds": -1}, {}, 1, id="less than nothing"),
        pytest.param({"terminationGracePeriodSeconds": 7}, {"gracePeriodSeconds": 90}, 90, id="what the caller wants"),
    ],
)
def test_a_pod_on_a_node_has_a_time_of_grace(api: Api, space: str, spec: Obj, options: Obj, seconds: int) -> None:
    key = on_a_node(api, space, **spec)
    api.delete(POD, key, **options)
    meta = api.get(POD, key)["metadata"]
    assert meta["deletionGracePeriodSeconds"] == seconds
    left = moment(meta["deletionTimestamp"]) - moment(meta["creationTimestamp"])
    assert timedelta(seconds=seconds) <= left <= timedelta(seconds=seconds + 20)
    assert meta["generation"] == 2


def test_a_time_of_grace_can_be_cut_and_not_stretched(api: Api, space: str) -> None:
    key = on_a_node(api, space)
    api.delete(POD, key)
    first = api.get(POD, key)["metadata"]
    api.delete(POD, key, gracePeriodSeconds=90)
    api.delete(POD, key)
    assert api.get(POD, key)["metadata"]["deletionGracePeriodSeconds"] == 30
    api.delete(POD, key, gracePeriodSeconds=10)
    second = api.get(POD, key)["metadata"]
    assert second["deletionGracePeriodSeconds"] == 10
    assert moment(first["deletionTimestamp"]) - moment(second["deletionTimestamp"]) == timedelta(seconds=20)
    api.delete(POD, key, gracePeriodSeconds=0)
    with refused(404, "NotFound"):
        api.get(POD, key)


def test_a_pod_that_has_ended_goes_at_once(api: Api, space: str) -> None:
    key = on_a_node(api, space)
    api.patch(POD, key, MergePatch({"status": {"phase": "Succeeded"}}), "status")
    api.delete(POD, key)
    with refused(404, "NotFound"):
        api.get(POD, key)


def test_a_pod_with_a_finalizer_stays_beyond_its_time_of_grace(api: Api, space: str) -> None:
    key = on_a_node(api, space)
    api.patch(POD, key, MergePatch({"metadata": {"finalizers": [KEEP]}}))
    api.delete(POD, key)
    api.delete(POD, key, gracePeriodSeconds=0)
    assert api.get(POD, key)["metadata"]["deletionGracePeriodSeconds"] == 0
    api.patch(POD, key, MergePatch({"metadata": {"finalizers": None}}))
    with refused(404, "NotFound"):
        api.get(POD, key)


def test_a_pod_that_lost_its_finalizer_still_has_its_time_of_grace(api: Api, space: str) -> None:
    key = on_a_node(api, space)
    api.patch(POD, key, MergePatch({"metadata": {"finalizers": [KEEP]}}))
    api.delete(POD, key)
    api.patch(POD, key, MergePatch({"metadata": {"finalizers": None}}))
    assert api.get(POD, key)["metadata"]["deletionGracePeriodSeconds"] == 30


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_the_namespaces_of_the_system_stay(api: Api, name: str) -> None:
    with refused(403, "Forbidden", message=f'namespaces "{name}" is forbidden: this namespace may not be deleted'):
        api.delete(NAMESPACE, Key("", name))


@pytest.mark.parametrize(("policy", "mark"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_foreground_and_orphan_leave_a_mark_for_the_collector(api: Api, space: str, policy: str, mark: str) -> None:
    made = api.create(WIDGET, space, with_finalizers(widget("one"), KEEP))
    api.delete(WIDGET, Key(space, "one"), propagationPolicy=policy)
    events = api.watch(WIDGET, space, made["metadata"]["resourceVersion"], 1)
    assert (events[0]["type"], events[0]["object"]["metadata"]["finalizers"]) == ("MODIFIED", [KEEP, mark])
