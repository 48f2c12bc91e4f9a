"""Logs of containers, written and read."""

import pathlib
from datetime import UTC, datetime

import pytest

from manta_embedded.api.machine import LogQuery
from manta_embedded.node.logs import shown
from manta_embedded.node.pid1.lines import LONGEST_LINE, Log, Splitter


def test_lines_are_cut_where_they_end() -> None:
    splitter = Splitter()
    assert splitter.feed(b"one\ntw") == [(b"one", True)]
    assert splitter.feed(b"o\n\nrest") == [(b"two", True), (b"", True)]
    assert splitter.end() == [(b"rest", False)]
    assert splitter.end() == []


def test_a_long_line_comes_in_parts() -> None:
    splitter = Splitter()
    assert splitter.feed(b"x" * (LONGEST_LINE + 1)) == [(b"x" * LONGEST_LINE, False)]
    assert splitter.feed(b"y\n") == [(b"xy", True)]
    whole = splitter.feed(b"z" * LONGEST_LINE + b"z\n")
    assert [(len(text), ended) for text, ended in whole] == [(LONGEST_LINE, False), (1, True)]


def test_a_full_log_begins_anew(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "0.log"
    log = Log(str(path), full_bytes=100)
    log.write("stdout", [(b"a" * 100, True)])
    log.write("stderr", [(b"b", False)])
    log.close()
    assert path.with_name("0.log.1").read_text().endswith(" stdout F " + "a" * 100 + "\n")
    assert path.read_text().endswith("Z stderr P b\n")


LINE = b"2026-01-02T03:04:05.678900000Z stdout F a line\n"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (LogQuery(container="c"), b"a line\n"),
        (LogQuery(container="c", timestamps=True), b"2026-01-02T03:04:05.678900000Z a line\n"),
        (LogQuery(container="c", since=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), b"a line\n"),
        (LogQuery(container="c", since=datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)), None),
    ],
)
def test_what_is_shown(query: LogQuery, wanted: bytes | None) -> None:
    assert shown(LINE, query) == wanted


def test_a_part_has_no_end_of_line() -> None:
    assert shown(LINE.replace(b" F ", b" P "), LogQuery(container="c")) == b"a line"
