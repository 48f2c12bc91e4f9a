"""Sets of fields: there and back, what an object has, and what a change did."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manta_embedded.store.fieldsets import decoded, difference, encoded, fields_of, shown
from manta_embedded.store.merging import merged, without
from manta_embedded.store.shapes import ANYTHING, Shape

TEXT = {"type": "string"}
SHAPE = Shape(
    {
        "properties": {
            "name": TEXT,
            "items": {
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"properties": {"port": {}, "protocol": {"default": "TCP"}, "x": {}}},
            },
            "tags": {"x-kubernetes-list-type": "set", "items": TEXT},
            "whole": {"x-kubernetes-map-type": "atomic", "properties": {"a": {}}},
        }
    },
    {},
)
PATHS = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":"x"}', 'v:"y"']), min_size=1, max_size=3).map(tuple), max_size=6
)


@settings(deadline=None)
@given(PATHS)
def test_a_set_comes_back_from_its_tree(paths: frozenset[tuple[str, ...]]) -> None:
    assert decoded(encoded(paths)) == paths


def test_a_tree_marks_fields_that_have_others_below() -> None:
    assert encoded(frozenset([("f:a",), ("f:a", "f:b"), ("f:c", "f:d")])) == {
        "f:a": {".": {}, "f:b": {}},
        "f:c": {"f:d": {}},
    }


def test_the_fields_of_an_object() -> None:
    value = {"name": "n", "items": [{"port": 1, "x": 2}], "tags": ["t"], "whole": {"a": 1}, "free": {"m": [1]}}
    item = 'k:{"port":1,"protocol":"TCP"}'
    assert fields_of(value, SHAPE) == {
        ("f:name",),
        ("f:items", item),
        ("f:items", item, "f:port"),
        ("f:items", item, "f:x"),
        ("f:tags", 'v:"t"'),
        ("f:whole",),
        ("f:free",),
        ("f:free", "f:m"),
    }


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param({"name": "a"}, {"name": "b"}, set(), {".name"}, set(), id="a value"),
        pytest.param({}, {"free": {"a": 1}}, {".free", ".free.a"}, set(), set(), id="a map that comes"),
        pytest.param({"free": {"a": 1}}, {}, set(), set(), {".free", ".free.a"}, id="a map that goes"),
        pytest.param({"whole": {"a": 1}}, {"whole": {"a": 2}}, set(), {".whole"}, set(), id="an atomic map"),
        pytest.param({"tags": ["a"]}, {"tags": ["b"]}, {'.tags[="b"]'}, set(), {'.tags[="a"]'}, id="a set"),
        pytest.param({"free": [1]}, {"free": [1, 2]}, set(), {".free"}, set(), id="a list without a type"),
        pytest.param({"free": {"a": 1}}, {"free": "x"}, set(), {".free"}, set(), id="another type"),
        pytest.param(
            {"items": [{"port": 1, "x": 1}]},
            {"items": [{"port": 1, "protocol": "TCP", "x": 2}]},
            {'.items[port=1,protocol="TCP"].protocol'},
            {'.items[port=1,protocol="TCP"].x'},
            set(),
            id="an item whose key has a default",
        ),
    ],
)
def test_a_difference(old: Any, new: Any, added: set[str], modified: set[str], removed: set[str]) -> None:
    found = difference(old, new, SHAPE)
    assert [{shown(path) for path in paths} for paths in (found.added, found.modified, found.removed)] == [
        added,
        modified,
        removed,
    ]


MAPS = st.dictionaries(st.sampled_from("abc"), st.integers() | st.dictionaries(st.sampled_from("xy"), st.integers()))


@settings(deadline=None)
@given(MAPS, MAPS)
def test_a_merge_has_all_that_was_applied(live: dict[str, Any], applied: dict[str, Any]) -> None:
    found = merged(live, applied, ANYTHING)
    assert fields_of(applied, ANYTHING) <= fields_of(found, ANYTHING)
    assert merged(found, applied, ANYTHING) == found


def test_what_is_emptied_becomes_null() -> None:
    assert without({"a": {"b": 1}, "c": 2}, frozenset([("f:a", "f:b")]), ANYTHING) == {"a": None, "c": 2}


@pytest.mark.parametrize(
    ("live", "applied", "order"),
    [
        pytest.param("abc", "b", "abc", id="nothing new"),
        pytest.param("abc", "cb", "acb", id="the applied order counts"),
        pytest.param("abc", "xcya", "bxcya", id="what is left out stays before what it stood before"),
        pytest.param("", "ab", "ab", id="all new"),
        pytest.param("ab", "cd", "abcd", id="nothing in common"),
    ],
)
def test_items_are_merged_in_order(live: str, applied: str, order: str) -> None:
    shape = Shape({"x-kubernetes-list-type": "set"}, {})
    assert "".join(merged(list(live), list(applied), shape)) == order
