"""Cron schedules as robfig/cron reads them; the expectations were taken from it."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.cron.grammar import Calendar, CronError, Every, Field, parse

ALL_WEEKDAYS = Field(frozenset(range(7)), is_open=True)


def calendar(text: str) -> Calendar:
    found = parse(text)
    assert isinstance(found, Calendar)
    return found


@pytest.mark.parametrize(
    ("text", "values", "is_open"),
    [
        pytest.param("5", {5}, False, id="one value"),
        pytest.param("1,3,5", {1, 3, 5}, False, id="a list"),
        pytest.param("1,,3", {1, 3}, False, id="a list with a gap"),
        pytest.param(",", set(), False, id="an empty list never matches"),
        pytest.param("10-12", {10, 11, 12}, False, id="a range"),
        pytest.param("*/20", {0, 20, 40}, False, id="a step is not open"),
        pytest.param("*/1", set(range(60)), True, id="a step of one is open"),
        pytest.param("?", set(range(60)), True, id="a question mark is a star"),
        pytest.param("50/3", {50, 53, 56, 59}, False, id="a step from a value goes to the end"),
        pytest.param("1-9/4", {1, 5, 9}, False, id="a step within a range"),
        pytest.param("7,*", set(range(60)), True, id="a star in a list is open"),
        pytest.param("*-5", set(range(60)), True, id="what follows a star and a hyphen does not matter"),
        pytest.param("+4", {4}, False, id="a sign"),
    ],
)
def test_a_field_is_read(text: str, values: set[int], is_open: bool) -> None:
    assert calendar(f"{text} * * * *").minutes == Field(frozenset(values), is_open=is_open)


def test_names_of_months_and_weekdays_are_read() -> None:
    found = calendar("0 0 * Jan-MAR,dec sun,6")
    assert found.months.values == {1, 2, 3, 12}
    assert found.weekdays.values == {0, 6}


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ],
)
def test_a_word_stands_for_fields(word: str, fields: str) -> None:
    assert parse(word) == parse(fields)
    assert (calendar(word).weekdays == ALL_WEEKDAYS) == (word != "@weekly")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("@every 1h30m", 5400, id="hours and minutes"),
        pytest.param("@every 1.9s", 1, id="fractions are dropped"),
        pytest.param("@every 10ms", 1, id="not below a second"),
        pytest.param("@every -1h", 1, id="not backwards"),
    ],
)
def test_a_distance_is_read(text: str, seconds: int) -> None:
    assert parse(text) == Every(seconds)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", "empty spec string", id="nothing"),
        pytest.param("  ", "expected exactly 5 fields, found 0: []", id="spaces"),
        pytest.param("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]", id="six fields"),
        pytest.param("60 * * * *", "end of range (60) above maximum (59): 60", id="minute 60"),
        pytest.param("* 24 * * *", "end of range (24) above maximum (23): 24", id="hour 24"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="day 0"),
        pytest.param("* * * 13 *", "end of range (13) above maximum (12): 13", id="month 13"),
        pytest.param("* * * * 7", "end of range (7) above maximum (6): 7", id="weekday 7"),
        pytest.param("9-3 * * * *", "beginning of range (9) beyond end of range (3): 9-3", id="backwards"),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="no step"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="two hyphens"),
        pytest.param("1/2/3 * * * *", "too many slashes: 1/2/3", id="two slashes"),
        pytest.param(
            "-5 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax', id="a hyphen first"
        ),
        pytest.param(
            "x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax', id="not a number"
        ),
        pytest.param("*/-1 * * * *", "negative number (-1) not allowed: -1", id="a negative step"),
        pytest.param(
            "jan * * * *", 'failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax', id="jan"
        ),
        pytest.param("@reboot", "unrecognized descriptor: @reboot", id="an unknown word"),
        pytest.param("@Hourly", "unrecognized descriptor: @Hourly", id="a word in capitals"),
        pytest.param("@every", "unrecognized descriptor: @every", id="every what"),
        pytest.param(
            "@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"', id="every five what"
        ),
    ],
)
def test_a_wrong_schedule_is_refused_in_robfigs_words(text: str, complaint: str) -> None:
    with pytest.raises(CronError) as caught:
        parse(text)
    assert str(caught.value) == complaint


@given(st.lists(st.integers(0, 59), min_size=1).map(lambda numbers: ",".join(map(str, numbers))))
def test_a_list_matches_what_it_lists(minutes: str) -> None:
    assert calendar(f"{minutes} * * * *").minutes.values == {int(minute) for minute in minutes.split(",")}


@given(st.text(alphabet="0123456789*/-,? @everyhmsjanTZ", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(CronError):
        assert isinstance(parse(text), Calendar | Every)
