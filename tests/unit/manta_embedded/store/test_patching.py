"""Patches share with the original what they leave alone, and never change it."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manta_embedded.store.errors import StatusError
from manta_embedded.store.patching import apply_operations, merge

DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, {"c": 3}]}, "d": {"e": 4}}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


def test_a_merge_leaves_the_original_and_shares_the_rest() -> None:
    before = copy.deepcopy(DOCUMENT)
    found = merge(DOCUMENT, {"a": {"x": 1}})
    assert before == DOCUMENT
    assert found["d"] is DOCUMENT["d"]
    assert found["a"]["b"] is DOCUMENT["a"]["b"]


def test_an_operation_leaves_the_original_and_shares_the_rest() -> None:
    before = copy.deepcopy(DOCUMENT)
    found = apply_operations(DOCUMENT, [{"op": "replace", "path": "/a/b/2/c", "value": 9}])
    assert found["a"]["b"][2] == {"c": 9}
    assert before == DOCUMENT
    assert found["d"] is DOCUMENT["d"]


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=2), VALUES, max_size=3), st.dictionaries(st.text(max_size=2), VALUES, max_size=3)
)
def test_a_merge_twice_is_a_merge_once(original: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge(original, patch)
    assert merge(once, patch) == once


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=2), VALUES, max_size=3))
def test_the_whole_document_can_be_replaced(value: dict[str, Any]) -> None:
    assert apply_operations(DOCUMENT, [{"op": "replace", "path": "", "value": value}]) == value


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "remove", "path": "/a/none"}, id="remove what is not there"),
        pytest.param({"op": "add", "path": "/a/b/9", "value": 1}, id="beyond a list"),
        pytest.param({"op": "add", "path": "/a/b/x", "value": 1}, id="a word in a list"),
        pytest.param({"op": "add", "path": "/d/e/f", "value": 1}, id="below a number"),
        pytest.param({"op": "test", "path": "/d/e", "value": True}, id="a truth is no number"),
        pytest.param({"op": "add"}, id="no path"),
    ],
)
def test_an_operation_that_cannot_be_done(operation: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as refusal:
        apply_operations(DOCUMENT, [operation])
    assert refusal.value.code == 422
