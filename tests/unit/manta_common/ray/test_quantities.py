"""Quantities as Go's resource.Quantity reads and writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.ray.quantities import Quantity, QuantityError, amount, canonical, multiplied, total


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        pytest.param("0", "0", id="nothing"),
        pytest.param(2, "2", id="a bare number"),
        pytest.param("1000m", "1", id="a thousand thousandths are one"),
        pytest.param("1.5", "1500m", id="no fractions are written"),
        pytest.param("0.0001", "100u", id="millionths"),
        pytest.param("1234567n", "1234567n", id="billionths"),
        pytest.param("0.0000000001", "1n", id="what is smaller is rounded up"),
        pytest.param("-1.5", "-1500m", id="a negative amount"),
        pytest.param("1000", "1k", id="a thousand"),
        pytest.param("1200000", "1200k", id="only whole thousands"),
        pytest.param("840G", "840G", id="billions"),
        pytest.param("1E", "1E", id="the largest suffix"),
        pytest.param("1024Mi", "1Gi", id="binary amounts in their largest unit"),
        pytest.param("1.5Gi", "1536Mi", id="a binary fraction"),
        pytest.param("1023Ki", "1023Ki", id="binary below the next unit"),
        pytest.param("0.5Ki", "512", id="binary below 1024 is written plainly"),
        pytest.param("0.1Ki", "102400m", id="a small binary fraction is written in thousandths"),
        pytest.param("1.0001Ki", "1025", id="larger binary amounts are rounded up to whole bytes"),
        pytest.param("1Ei", "1Ei", id="the largest binary unit"),
        pytest.param("2e3", "2e3", id="an exponent stays an exponent"),
        pytest.param("2500e-3", "2500e-3", id="a negative exponent"),
        pytest.param("5e0", "5", id="no exponent of zero"),
        pytest.param("100E", "9223372036854775807", id="there is a most"),
        pytest.param("1e999999999", "9223372036854775807", id="an exponent beyond all measure"),
        pytest.param("1e-999999999", "1e-9", id="one the other way"),
        pytest.param("+.5", "500m", id="no digit before the point"),
        pytest.param("1.", "1", id="no digit after the point"),
    ],
)
def test_canonical(given_text: str | int, canonical: str) -> None:
    assert str(Quantity.parse(given_text)) == canonical


@pytest.mark.parametrize("text", ["", "abc", "1 ", "1Kb", "1.2.3", "--1", "5GB", "1K", "1" * 65])
def test_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="quantities must match"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("texts", "added"),
    [
        pytest.param(["500m", "1"], "1500m", id="decimal amounts"),
        pytest.param(["200Mi", "2Gi"], "2248Mi", id="binary amounts"),
        pytest.param(["1G", "1Gi"], "2073741824", id="the first notation is kept, decimal"),
        pytest.param(["1Gi", "1G"], "2073741824", id="the first notation is kept, binary"),
        pytest.param(["0", "1Gi"], "1Gi", id="a zero has no say in the notation"),
        pytest.param(["1Gi", "0"], "1Gi", id="a zero at the end neither"),
    ],
)
def test_sums(texts: list[str], added: str) -> None:
    found = total({"memory": Quantity.parse(text)} for text in texts)
    assert str(found["memory"]) == added


@pytest.mark.parametrize(
    ("text", "whole"), [("500m", 1), ("2", 2), ("1Gi", 2**30), ("1001m", 2), ("0", 0), ("-1500m", -2)]
)
def test_whole_units_are_rounded_away_from_zero(text: str, whole: int) -> None:
    assert Quantity.parse(text).value == whole


def test_what_is_no_amount_counts_as_nothing_and_is_left_as_it_stands() -> None:
    assert (amount("1e1.5"), amount("2")) == (Quantity(), Quantity.parse("2"))
    assert (canonical("1e1.5"), canonical("1000m"), canonical(5)) == ("1e1.5", "1", "5")


def test_lists_are_added_name_by_name() -> None:
    one = {"cpu": Quantity.parse("1"), "memory": Quantity.parse("1Gi")}
    other = {"cpu": Quantity.parse("500m"), "gpu": Quantity.parse("2")}
    assert {name: str(found) for name, found in total([one, multiplied(other, 3)]).items()} == {
        "cpu": "2500m",
        "memory": "1Gi",
        "gpu": "6",
    }


@given(st.integers(-(10**15), 10**15), st.sampled_from(["", "m", "k", "Ki", "Mi", "G", "e3"]))
def test_what_was_written_is_read_as_the_same_amount(number: int, suffix: str) -> None:
    quantity = Quantity.parse(f"{number}{suffix}")
    assert Quantity.parse(str(quantity)).nanos == quantity.nanos
