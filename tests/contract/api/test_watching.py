"""What a watch tells, from when on, and to whom."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD
from manta_common.kube.protocol import MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import GADGET, OLD_GADGET, WIDGET, Obj, configmap, gadget, pod, widget


def told(lines: object) -> list[tuple[str, str]]:
    return [(line["type"], line["object"]["metadata"]["name"]) for line in lines]  # type: ignore[attr-defined]


def version(obj: Obj) -> str:
    found: str = obj["metadata"]["resourceVersion"]
    return found


def test_a_deletion_shows_the_last_state_under_a_new_version(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one", size=1))
    api.delete(WIDGET, Key(space, "one"))
    (line,) = api.watch(WIDGET, space, version(made), 1)
    assert line["type"] == "DELETED"
    assert line["object"]["spec"] == {"size": 1}
    assert int(version(line["object"])) > int(version(made))


def test_an_object_that_waits_for_its_end_is_modified_and_then_deleted(api: Api, space: str) -> None:
    body = widget("one")
    body["metadata"]["finalizers"] = ["api.contract.manta.example/keep"]
    made = api.create(WIDGET, space, body)
    api.delete(WIDGET, Key(space, "one"))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"finalizers": None}}))
    lines = api.watch(WIDGET, space, version(made), 2)
    assert told(lines) == [("MODIFIED", "one"), ("DELETED", "one")]
    assert "deletionTimestamp" in lines[1]["object"]["metadata"]


def test_who_takes_the_last_finalizer_is_answered_with_the_version_before_the_end(api: Api, space: str) -> None:
    body = widget("one")
    body["metadata"]["finalizers"] = ["api.contract.manta.example/keep"]
    api.create(WIDGET, space, body)
    api.delete(WIDGET, Key(space, "one"))
    held = api.get(WIDGET, Key(space, "one"))
    answer = api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"finalizers": None}}))
    assert version(answer) == version(held)
    assert "finalizers" not in answer["metadata"]
    (line,) = api.watch(WIDGET, space, version(held), 1)
    assert int(version(line["object"])) > int(version(held))


def test_a_watch_from_any_version_begins_with_what_is_there(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one"))
    api.create(WIDGET, space, widget("two"))
    lines = api.watch(WIDGET, space, "0", 2)
    assert told(lines) == [("ADDED", "one"), ("ADDED", "two")]


def test_a_change_of_nothing_is_not_told(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one", size=1))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"spec": {"size": 1}}))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"spec": {"size": 2}}))
    (line,) = api.watch(WIDGET, space, version(made), 1)
    assert line["object"]["spec"] == {"size": 2}


def test_the_status_is_told_like_anything_else(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one"))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"status": {"state": "new"}}), "status")
    (line,) = api.watch(WIDGET, space, version(made), 1)
    assert (line["type"], line["object"]["status"]) == ("MODIFIED", {"state": "new"})


@pytest.mark.parametrize(
    ("labels", "lines"),
    [
        pytest.param("tier=front", [("ADDED", "one"), ("DELETED", "one")], id="who sees it come and go"),
        pytest.param("tier=back", [("ADDED", "one"), ("MODIFIED", "one")], id="who sees it come later"),
        pytest.param(
            "suite=api", [("ADDED", "one"), ("MODIFIED", "one"), ("MODIFIED", "one")], id="who sees it always"
        ),
    ],
)
def test_a_watch_by_labels_tells_what_comes_into_sight(
    api: Api, space: str, labels: str, lines: list[tuple[str, str]]
) -> None:
    since = version(api.create(CONFIGMAP, space, configmap("zero")))
    api.create(CONFIGMAP, space, configmap("one", {"tier": "front"}))
    api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"labels": {"tier": "back"}}}))
    api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"data": {"a": "1"}}))
    assert told(api.watch(CONFIGMAP, space, since, len(lines), labelSelector=labels)) == lines


def test_what_went_out_of_sight_is_shown_as_it_was_seen_last(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one", {"tier": "front"}, a="1"))
    change = {"metadata": {"labels": {"tier": "back"}}, "data": {"a": "2"}}
    after = api.patch(CONFIGMAP, Key(space, "one"), MergePatch(change))
    (line,) = api.watch(CONFIGMAP, space, version(made), 1, labelSelector="tier=front")
    assert (line["type"], line["object"]["data"]) == ("DELETED", {"a": "1"})
    assert line["object"]["metadata"]["labels"]["tier"] == "front"
    assert version(line["object"]) == version(after)


def test_a_watch_by_a_field_that_changes(api: Api, space: str) -> None:
    made = api.create(POD, space, pod("one"))
    api.patch(POD, Key(space, "one"), MergePatch({"status": {"phase": "Running"}}), "status")
    api.patch(POD, Key(space, "one"), MergePatch({"status": {"phase": "Failed"}}), "status")
    lines = api.watch(POD, space, version(made), 2, fieldSelector="status.phase=Running")
    assert told(lines) == [("ADDED", "one"), ("DELETED", "one")]


def test_a_watch_of_one_object_by_its_name(api: Api, space: str) -> None:
    since = version(api.create(WIDGET, space, widget("zero")))
    api.create(WIDGET, space, widget("other"))
    api.create(WIDGET, space, widget("one"))
    (line,) = api.watch(WIDGET, space, since, 1, fieldSelector="metadata.name=one")
    assert told([line]) == [("ADDED", "one")]


def test_a_watch_shows_the_version_of_the_kind_that_was_asked_for(api: Api, space: str) -> None:
    made = api.create(GADGET, space, gadget("one", colour="red"))
    api.patch(GADGET, Key(space, "one"), MergePatch({"spec": {"colour": "blue"}}))
    (line,) = api.watch(OLD_GADGET, space, version(made), 1)
    assert line["object"]["apiVersion"] == OLD_GADGET.api_version


def test_a_selector_that_is_none_is_refused_by_a_watch_too(api: Api, space: str) -> None:
    with refused(400, "BadRequest", match="unable to parse requirement"):
        api.watch(WIDGET, space, "0", 1, labelSelector="a b")


def test_an_expired_version_is_an_error_in_the_stream_or_before_it(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one"))
    try:
        (line,) = api.watch(WIDGET, space, "1", 1)
        status = line["object"]
    except Exception as error:  # noqa: BLE001  the store says so before the stream begins
        status = error.status  # type: ignore[attr-defined]
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
