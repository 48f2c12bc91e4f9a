"""Block style reads back as what was written."""

import string
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from manta_common.crd.block import document

TEXT = st.text(string.printable + "ü€", max_size=6)
SCALARS: st.SearchStrategy[Any] = (
    st.booleans() | st.integers() | TEXT | st.sampled_from(["no", "1", ".5", ".NaN", "x: y", "- a"])
)
LEAVES: st.SearchStrategy[Any] = SCALARS | st.just({}) | st.just([])
OBJECTS = st.recursive(
    st.dictionaries(TEXT, LEAVES, min_size=1, max_size=3),
    lambda inner: st.dictionaries(
        TEXT, inner | st.lists(inner | SCALARS, min_size=1, max_size=3), min_size=1, max_size=3
    ),
    max_leaves=10,
)


@settings(max_examples=50, deadline=None)
@given(OBJECTS)
def test_what_is_written_reads_the_same(value: dict[str, Any]) -> None:
    assert yaml.safe_load(document(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": "x"}, "a: x\nb: 1\n", id="sorted"),
        pytest.param({"a": [{"c": "d", "b": []}, "e f"]}, "a:\n- b: []\n  c: d\n- e f\n", id="items under their key"),
        pytest.param({"a": {}, "b": "None", "c": "true"}, 'a: {}\nb: None\nc: "true"\n', id="words stay words"),
        pytest.param({".NAN": ".inf", "b": ".5"}, '".NAN": ".inf"\nb: ".5"\n', id="numbers stay text"),
    ],
)
def test_it_looks_as_people_write_it(value: dict[str, Any], text: str) -> None:
    assert document(value) == text
