"""Text as Go reads and writes it; the expectations were taken from Go itself."""

import pytest

from manta_common.gotext import GoError, parse_duration, parse_int, quote

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("plain é", '"plain é"', id="printable"),
        pytest.param('a"b\\c', r'"a\"b\\c"', id="quotes and backslashes"),
        pytest.param("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"', id="control characters with a letter"),
        pytest.param("\x00\x7f", r'"\x00\x7f"', id="control characters without one"),
        pytest.param("\u200b\U000e0001", r'"\u200b\U000e0001"', id="invisible characters"),
        pytest.param("$HOME `x`", '"$HOME `x`"', id="what a shell would expand is left"),
    ],
)
def test_text_is_quoted_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-5", -5),
        ("+7", 7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_a_number_is_read(text: str, number: int) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", 'strconv.Atoi: parsing "": invalid syntax', id="nothing"),
        pytest.param("1_000", 'strconv.Atoi: parsing "1_000": invalid syntax', id="an underscore"),
        pytest.param("٣", 'strconv.Atoi: parsing "٣": invalid syntax', id="a digit of another script"),
        pytest.param("1\n", r'strconv.Atoi: parsing "1\n": invalid syntax', id="a line end"),
        pytest.param(
            "9223372036854775808", 'strconv.Atoi: parsing "9223372036854775808": value out of range', id="too large"
        ),
    ],
)
def test_what_is_no_number_is_refused_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(GoError) as caught:
        parse_int(text)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param("0", 0, id="zero without a unit"),
        pytest.param("-0", 0, id="minus zero"),
        pytest.param("1h30m", 5400 * SECOND, id="two parts"),
        pytest.param("1.5s", 3 * SECOND // 2, id="a fraction"),
        pytest.param(".5s", SECOND // 2, id="a fraction alone"),
        pytest.param("5.s", 5 * SECOND, id="a point alone"),
        pytest.param("-2ms", -2 * 10**6, id="negative"),
        pytest.param("+1us1µs1μs1ns", 3001, id="three ways to write a microsecond"),
        pytest.param("0.9999999999ns", 0, id="less than a nanosecond"),
    ],
)
def test_a_duration_is_read(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", 'time: invalid duration ""', id="nothing"),
        pytest.param("+", 'time: invalid duration "+"', id="a sign alone"),
        pytest.param("abc", 'time: invalid duration "abc"', id="no number"),
        pytest.param(".s", 'time: invalid duration ".s"', id="no digit"),
        pytest.param("5", 'time: missing unit in duration "5"', id="no unit"),
        pytest.param("1d", 'time: unknown unit "d" in duration "1d"', id="a unit Go does not know"),
        pytest.param("5 m", 'time: unknown unit " m" in duration "5 m"', id="a space"),
        pytest.param("1é", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"', id="quoted byte by byte"),
        pytest.param("9999999h", 'time: invalid duration "9999999h"', id="longer than 292 years"),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(GoError) as caught:
        parse_duration(text)
    assert str(caught.value) == complaint
