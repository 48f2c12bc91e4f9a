"""The table of known differences: fields and cases that may differ, and nothing else."""

import pathlib
from typing import Any

import pytest
import yaml

from tests.tools.differences import Known, known, unexplained, without

ROOT = pathlib.Path(__file__).parents[3]
DOCUMENT = """# Title `not-this`

| what `nor-this` | why | where | cases |
|---|---|---|---|
| a | b | `RayJob status.conditions` | |
| c | d `e` | | `one.a`, `two.b` |
"""
WANT = {"end": {"RayJob": {"j": {"status": {"message": "ok"}}}, "Event": ["Normal Created RayJob j"]}}
HERE = {
    "end": {
        "RayJob": {"j": {"status": {"message": "ok", "conditions": [{"type": "A"}, {"type": "B"}]}}},
        "Event": ["Normal Created RayJob j", "Normal More RayJob j"],
    }
}


def test_the_table_names_places_and_cases() -> None:
    assert known(DOCUMENT) == Known(("RayJob status.conditions",), frozenset({"one.a", "two.b"}))


@pytest.mark.parametrize(
    ("places", "left"),
    [
        pytest.param((), {"conditions", "More"}, id="nothing is known"),
        pytest.param(("RayJob status.conditions",), {"More"}, id="a field"),
        pytest.param(("Event Normal More *",), {"conditions"}, id="an event"),
        pytest.param(("RayCluster status.conditions",), {"conditions", "More"}, id="a field of another kind"),
        pytest.param(("RayJob status.conditions", "Event Normal More *"), set(), id="all of it"),
    ],
)
def test_what_is_known_is_left_out(places: tuple[str, ...], left: set[str]) -> None:
    lines = "\n".join(unexplained(yaml.safe_dump(WANT), yaml.safe_dump(HERE), places))
    assert {word for word in ("conditions", "More") if word in lines} == left
    assert bool(lines) == bool(left)


def test_one_entry_of_a_list_is_left_out() -> None:
    found = without(yaml.safe_load(yaml.safe_dump(HERE)), ("RayJob status.conditions[type=A]",))
    assert found["end"]["RayJob"]["j"]["status"]["conditions"] == [{"type": "B"}]


def test_one_field_of_an_entry_is_left_out() -> None:
    told = {"end": {"RayJob": {"j": {"status": {"conditions": [{"type": "A", "note": 1}, {"type": "B", "note": 2}]}}}}}
    found = without(told, ("RayJob status.conditions[type=A].note",))
    assert found["end"]["RayJob"]["j"]["status"]["conditions"] == [{"type": "A"}, {"type": "B", "note": 2}]


def test_what_a_text_may_go_on_with_is_left_out() -> None:
    told = {
        "end": {"RayJob": {name: {"status": {"message": text}} for name, text in (("a", "No. Cause: x"), ("b", "No"))}}
    }
    found = without(told, ("RayJob status.message~. Cause: ",))
    assert {name: job["status"]["message"] for name, job in found["end"]["RayJob"].items()} == {"a": "No", "b": "No"}


def test_a_field_that_is_not_there_has_nothing_to_go_on_with() -> None:
    told: dict[str, Any] = {"end": {"RayJob": {"a": {"status": {}}, "b": {}}}}
    assert without(told, ("RayJob status.message~. Cause: ",)) == {"end": {"RayJob": {"a": {"status": {}}, "b": {}}}}


def test_what_is_no_place_is_told() -> None:
    with pytest.raises(ValueError, match="write a kind and a path"):
        without({}, ("conditions",))


def test_our_own_table_can_be_read() -> None:
    found = known((ROOT / "docs/reference/known-differences.md").read_text())
    assert found.places
    without({}, found.places)
