"""Metrics count, exist from the start where they can, and are written as Prometheus reads them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.telemetry.definitions import Label, counter, foreign, gauge, histogram
from manta_common.telemetry.exposition import exposition, number
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.names import all_metrics
from tests.unit.manta_common.telemetry.parse import Sample, samples

COLOURED = counter("m_total", "Things.", Label("colour", ("red", "blue")), Label("size", ("s", "l")))
OPEN = counter("o_total", "Things.", Label("kind"), Label("colour", ("red", "blue")))
LEVEL = gauge("g", "Level.")
NAMED = gauge("n", "Named.", Label("name"))
SPREAD = histogram("h", "Spread.", Label("colour", ("red",)), bounds=(0.1, 1, 10))


def place(name: str, /, **labels: str) -> Sample:
    return name, tuple(sorted(labels.items()))


def test_a_series_whose_labels_are_known_is_zero_from_the_start() -> None:
    registry = Registry()
    registry.numbers(COLOURED)
    assert samples(exposition([registry])) == {
        place("m_total", colour=colour, size=size): 0 for colour in ("red", "blue") for size in ("s", "l")
    }


def test_open_labels_are_zero_from_when_they_are_expected() -> None:
    registry = Registry()
    family = registry.numbers(OPEN)
    assert samples(exposition([registry])) == {}
    family.expect(kind=["pod"])
    assert samples(exposition([registry])) == {place("o_total", kind="pod", colour=c): 0 for c in ("red", "blue")}


def test_counters_and_gauges_hold_what_they_are_told() -> None:
    registry = Registry()
    counted, level = registry.numbers(OPEN).at("pod", "red"), registry.numbers(LEVEL).at()
    counted.add()
    counted.add(2.5)
    level.set(7)
    level.add(-1)
    assert samples(exposition([registry])) == {place("o_total", kind="pod", colour="red"): 3.5, place("g"): 6}


def test_a_histogram_counts_up_to_each_bound() -> None:
    registry = Registry("x")
    spread = registry.distributions(SPREAD).at("red")
    for value in (0.05, 0.1, 0.5, 100):
        spread.observe(value)
    found = samples(exposition([registry]))
    buckets = [found[place("h_bucket", le=le, colour="red", component="x")] for le in ("0.1", "1", "10", "+Inf")]
    assert buckets == [2, 3, 3, 4]
    assert found[place("h_count", colour="red", component="x")] == 4
    assert found[place("h_sum", colour="red", component="x")] == pytest.approx(100.65)


def test_numbers_can_be_read_when_they_are_asked_for() -> None:
    registry, there = Registry(), ["a", "b"]
    registry.numbers(LEVEL).read(lambda: len(there))
    registry.numbers(NAMED).read_all(lambda: [((name,), 1) for name in there])
    assert samples(exposition([registry])) == {place("g"): 2, place("n", name="a"): 1, place("n", name="b"): 1}
    there.remove("b")
    assert samples(exposition([registry])) == {place("g"): 1, place("n", name="a"): 1}


def test_a_series_is_forgotten_with_what_it_spoke_of() -> None:
    registry = Registry()
    family = registry.numbers(NAMED)
    family.at("a").set(1)
    family.forget("a")
    family.forget("never there")
    assert samples(exposition([registry])) == {}


def test_a_metric_asked_for_twice_is_the_same() -> None:
    registry = Registry()
    registry.numbers(LEVEL).at().add()
    registry.numbers(LEVEL).at().add()
    assert samples(exposition([registry])) == {place("g"): 2}


def test_components_stand_beside_each_other_in_one_piece() -> None:
    one, two = Registry("watcher"), Registry("janitor")
    for registry in (one, two):
        registry.numbers(LEVEL).at().set(1)
        registry.numbers(COLOURED)
    found = samples(exposition([one, two]))
    assert found[place("g", component="watcher")] == found[place("g", component="janitor")] == 1


def test_a_foreign_metric_has_its_own_labels_only() -> None:
    registry = Registry("watcher")
    registry.numbers(foreign(NAMED)).at("a").set(1)
    assert samples(exposition([registry])) == {place("n", name="a"): 1}


def test_a_wrong_number_of_labels_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        Registry().numbers(NAMED).at("a", "b")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_label_value_survives(value: str) -> None:
    registry = Registry()
    registry.numbers(NAMED).at(value).set(1)
    text = exposition([registry])
    unescaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    assert f'n{{name="{unescaped}"}} 1\n' in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(3, "3", id="whole"),
        pytest.param(3.0, "3", id="whole by chance"),
        pytest.param(0.1, "0.1", id="fraction"),
        pytest.param(1e300, "1e+300", id="huge"),
        pytest.param(math.inf, "+Inf", id="infinite"),
        pytest.param(-math.inf, "-Inf", id="less than everything"),
        pytest.param(math.nan, "NaN", id="no number"),
        pytest.param(True, "1", id="a flag"),
    ],
)
def test_a_number_is_written(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("metric", all_metrics(), ids=lambda metric: metric.name)
def test_every_name_follows_prometheus_customs(metric: object) -> None:
    declared = next(found for found in all_metrics() if found is metric)
    assert declared.name.startswith(("process_", "kuberay_") if declared.foreign else "manta_")
    assert declared.name.endswith("_total") == (declared.type == "counter")
    assert bool(declared.bounds) == (declared.type == "histogram")
    assert declared.meaning.endswith(".")
    assert list(declared.bounds) == sorted(declared.bounds)
