"""What merge and JSON patches do beyond setting a field."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD
from manta_common.kube.protocol import JsonPatch, MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import WIDGET, Obj, configmap, pod, widget

FAILED = "the server rejected our request due to an error in our request"


def steps(*operations: Obj) -> JsonPatch:
    return JsonPatch(operations)


@pytest.fixture
def key(api: Api, space: str) -> Key:
    """A widget with a map, a list and a text."""
    api.create(WIDGET, space, widget("one", map={"a": 1, "b": {"c": 2}}, list=[1, 2, 3], text="x"))
    return Key(space, "one")


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        pytest.param({"list": [4]}, {"list": [4]}, id="a list is replaced whole"),
        pytest.param({"map": {"b": {"d": 3}}}, {"map": {"a": 1, "b": {"c": 2, "d": 3}}}, id="maps are merged deeply"),
        pytest.param({"map": {"b": None}}, {"map": {"a": 1}}, id="null removes"),
        pytest.param({"map": {"z": None}}, {}, id="null of what is not there does nothing"),
        pytest.param({"map": "text"}, {"map": "text"}, id="a text replaces a map"),
        pytest.param({"text": {"a": 1}}, {"text": {"a": 1}}, id="a map replaces a text"),
        pytest.param({"new": {"a": None, "b": 1}}, {"new": {"b": 1}}, id="null in a new map is left out"),
        pytest.param({"list": []}, {"list": []}, id="an empty list stays"),
        pytest.param({"map": {}}, {}, id="an empty map changes nothing"),
    ],
)
def test_a_merge(api: Api, key: Key, patch: Obj, spec: Obj) -> None:
    whole = {"map": {"a": 1, "b": {"c": 2}}, "list": [1, 2, 3], "text": "x"}
    assert api.patch(WIDGET, key, MergePatch({"spec": patch}))["spec"] == {**whole, **spec}


@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        pytest.param({"op": "add", "path": "/spec/list/-", "value": 4}, {"list": [1, 2, 3, 4]}, id="add at the end"),
        pytest.param({"op": "add", "path": "/spec/list/0", "value": 0}, {"list": [0, 1, 2, 3]}, id="add in front"),
        pytest.param({"op": "add", "path": "/spec/text", "value": "y"}, {"text": "y"}, id="add over what is there"),
        pytest.param({"op": "remove", "path": "/spec/list/1"}, {"list": [1, 3]}, id="remove from a list"),
        pytest.param({"op": "remove", "path": "/spec/map/b"}, {"map": {"a": 1}}, id="remove from a map"),
        pytest.param({"op": "replace", "path": "/spec/list/2", "value": 9}, {"list": [1, 2, 9]}, id="replace an item"),
        pytest.param(
            {"op": "copy", "from": "/spec/map/a", "path": "/spec/map/z"},
            {"map": {"a": 1, "b": {"c": 2}, "z": 1}},
            id="copy",
        ),
        pytest.param(
            {"op": "move", "from": "/spec/map/a", "path": "/spec/map/z"}, {"map": {"b": {"c": 2}, "z": 1}}, id="move"
        ),
        pytest.param({"op": "replace", "path": "/spec/new", "value": 1}, {"new": 1}, id="replace what is not there"),
        pytest.param({"op": "copy", "from": "/spec/none", "path": "/spec/z"}, {"z": None}, id="copy what is not there"),
        pytest.param({"op": "add", "path": "/spec/list/-1", "value": 4}, {"list": [1, 2, 3, 4]}, id="add at -1"),
        pytest.param({"op": "remove", "path": "/spec/list/-1"}, {"list": [1, 2]}, id="remove at -1"),
        pytest.param({"op": "test", "path": "/spec/map", "value": {"b": {"c": 2}, "a": 1}}, {}, id="test of a map"),
        pytest.param({"op": "test", "path": "/spec/none", "value": None}, {}, id="test that something is not there"),
    ],
)
def test_a_json_patch(api: Api, key: Key, operation: Obj, spec: Obj) -> None:
    whole = {"map": {"a": 1, "b": {"c": 2}}, "list": [1, 2, 3], "text": "x"}
    assert api.patch(WIDGET, key, steps(operation))["spec"] == {**whole, **spec}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "add", "path": "/spec/none/deep", "value": 1}, id="add below what is not there"),
        pytest.param({"op": "remove", "path": "/spec/none"}, id="remove what is not there"),
        pytest.param({"op": "replace", "path": "/spec/list/9", "value": 1}, id="replace beyond a list"),
        pytest.param({"op": "add", "path": "/spec/list/9", "value": 1}, id="add beyond a list"),
        pytest.param({"op": "test", "path": "/spec/text", "value": "y"}, id="a failed test"),
        pytest.param({"op": "move", "from": "/spec/none", "path": "/spec/z"}, id="move what is not there"),
        pytest.param({"op": "increment", "path": "/spec/map/a"}, id="an unknown step"),
        pytest.param({"op": "add", "path": "spec", "value": 1}, id="a path that is none"),
    ],
)
def test_a_json_patch_that_cannot_be_done_says_so(api: Api, key: Key, operation: Obj) -> None:
    with refused(422, "Invalid", message=FAILED):
        api.patch(WIDGET, key, steps(operation))


def test_slashes_and_tildes_in_names_are_escaped(api: Api, space: str) -> None:
    body = configmap("one")
    body["metadata"]["annotations"] = {"example.com/a": "1"}
    api.create(CONFIGMAP, space, body)
    path = "/metadata/annotations/example.com~1a"
    after = api.patch(CONFIGMAP, Key(space, "one"), steps({"op": "replace", "path": path, "value": "2"}))
    assert after["metadata"]["annotations"] == {"example.com/a": "2"}


def test_a_step_sees_what_the_steps_before_it_did(api: Api, key: Key) -> None:
    after = api.patch(
        WIDGET,
        key,
        steps(
            {"op": "add", "path": "/spec/new", "value": {}},
            {"op": "add", "path": "/spec/new/a", "value": 1},
            {"op": "test", "path": "/spec/new/a", "value": 1},
            {"op": "move", "from": "/spec/new/a", "path": "/spec/new/b"},
        ),
    )
    assert after["spec"]["new"] == {"b": 1}


def test_a_merge_that_takes_the_metadata_away_keeps_the_identity(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one", a="1"))
    after = api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"labels": None}}))
    assert after["metadata"]["uid"] == made["metadata"]["uid"]
    assert "labels" not in after["metadata"]


def test_the_uid_can_be_tested(api: Api, space: str) -> None:
    made = api.create(POD, space, pod("one"))
    label: Any = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
    with refused(422, "Invalid", message=FAILED):
        api.patch(POD, Key(space, "one"), steps({"op": "test", "path": "/metadata/uid", "value": "another"}, label))
    uid = {"op": "test", "path": "/metadata/uid", "value": made["metadata"]["uid"]}
    assert api.patch(POD, Key(space, "one"), steps(uid, label))["metadata"]["labels"] == {"a": "b"}
