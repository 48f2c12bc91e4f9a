"""Quantities are read, added and written as Kubernetes does it."""

import pytest

from manta_embedded.store.schema.quantities import NotAQuantity, parsed, total


@pytest.mark.parametrize(
    ("given", "written"),
    [
        pytest.param("0.5", "500m", id="halves become thousandths"),
        pytest.param("1000m", "1", id="a thousand thousandths are one"),
        pytest.param("1500m", "1500m", id="one and a half stays in thousandths"),
        pytest.param(2, "2", id="a number"),
        pytest.param("2000", "2k", id="thousands have a letter"),
        pytest.param("1024Ki", "1Mi", id="the largest binary unit that fits"),
        pytest.param("1536Mi", "1536Mi", id="not a whole number of the next unit"),
        pytest.param("1.5Gi", "1536Mi", id="a fraction of a binary unit"),
        pytest.param("1000Ki", "1000Ki", id="decimal thousands of a binary unit"),
        pytest.param("512", "512", id="a small number without a unit"),
        pytest.param("1e3", "1e3", id="an exponent stays one"),
        pytest.param("0", "0", id="zero"),
        pytest.param("-1", "-1", id="below zero"),
        pytest.param("100u", "100u", id="millionths"),
    ],
)
def test_a_quantity_is_written_in_its_shortest_form(given: str | int, written: str) -> None:
    assert str(parsed(given)) == written


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "Gi", "1.2.3", "--1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(NotAQuantity, match="quantities must match the regular expression"):
        parsed(text)


def test_a_sum_has_the_form_of_its_first_part() -> None:
    assert str(total([parsed("0"), parsed("512Mi"), parsed("512Mi")])) == "1Gi"
    assert str(total([parsed("600m"), parsed("0.4")])) == "1"


def test_what_is_finer_than_a_billionth_is_rounded_up() -> None:
    assert str(parsed("0.0000000001")) == "1n"
