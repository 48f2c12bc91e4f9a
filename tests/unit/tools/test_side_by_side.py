"""The pure parts of the comparison: medians, tables, the picture, the page, and who asked for what."""

import json
import pathlib
import xml.etree.ElementTree as ET

import pytest

from tests.bench import side_by_side, side_page, side_scale, side_table
from tests.bench.side_fit import Fit, fit
from tests.bench.side_machine import processor
from tests.bench.side_plane import counted
from tests.bench.side_plot import plot
from tests.bench.side_results import KUBERAY, MANTA, RAW, SIDES, TUNED, Machine, Results, Spread, load, save, spread
from tests.bench.side_rows import ROWS
from tests.bench.side_table import Line, number, told
from tests.bench.side_world import requested

SVG = "{http://www.w3.org/2000/svg}"


def results() -> Results:
    """Three rounds of a row, one of which KubeRay's defaults could not do."""
    found = Results(machine=Machine(cores=2, processor="some"), versions={"KubeRay": "1.6.2"})
    for seconds, side in ((4, RAW), (10, KUBERAY), (8, TUNED), (6, MANTA)):
        for more in (0, 1, 2):
            numbers = {"seconds": seconds + more, "cpu_seconds": 1.0 + more, "verb create": 5.0, "writes": 5.0}
            found.note("clusters-100", side, numbers, fresh=False)
    found.note("hung-100", KUBERAY, {"seconds": 600, "over": 1}, fresh=False)
    found.note("hung-100", MANTA, {"seconds": 7}, fresh=False)
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], None, id="nothing of nothing"),
        pytest.param([3], Spread(3, 3, 3, 1), id="one round is its own middle"),
        pytest.param([3, 1, 9], Spread(3, 1, 9, 3), id="the middle, not the mean"),
        pytest.param([4, 1, 2, 3], Spread(2.5, 1, 4, 4), id="between the two in the middle"),
    ],
)
def test_spread(values: list[float], expected: Spread | None) -> None:
    assert spread(values) == expected


@pytest.mark.parametrize(
    ("found", "over", "text"),
    [
        pytest.param(None, False, side_table.NOTHING, id="not measured"),
        pytest.param(Spread(0.53, 0.53, 0.53, 1), False, "0.53", id="one round has no spread"),
        pytest.param(Spread(11.26, 9, 134.4, 3), False, "11.3 (9 to 134)", id="several have"),
        pytest.param(Spread(600, 600, 600, 1), True, "> 600", id="given up"),
        pytest.param(Spread(12345.6, 1, 1, 1), False, "12,346", id="large"),
    ],
)
def test_cells(found: Spread | None, over: bool, text: str) -> None:
    assert told(found, over=over) == text


def test_times_name_every_side_and_the_better_peer() -> None:
    head, _, clusters, hung = side_table.times(results()).splitlines()
    assert all(side in head for side in SIDES)
    cells = "5 (4 to 6) | 11 (10 to 12) | 9 (8 to 10) | 7 (6 to 8) | 78%"
    assert clusters == f"| 100 clusters of 4 pods ready | {cells} |"
    assert hung == "| one job beside 100 hung dashboards | – | > 600 | – | 7 | 1% |"  # noqa: RUF001


def test_costs_and_verbs_leave_out_what_was_not_measured() -> None:
    found = results()
    assert side_table.costs(found).splitlines()[2:] == [
        "| 100 clusters: CPU seconds of the operator | 2 (1 to 3) | 2 (1 to 3) | 2 (1 to 3) | 100% |",
        "| 100 clusters: requests that write | 5 (5 to 5) | 5 (5 to 5) | 5 (5 to 5) | 100% |",
    ]
    assert side_table.verbs(found).splitlines()[2:] == [
        f"| 100 clusters | {side} | create 5 |" for side in (KUBERAY, TUNED, MANTA)
    ]


def test_every_line_is_of_a_row_that_can_be_measured() -> None:
    assert {line.row for line in side_table.TIMES} | set(side_table.WORK) <= set(ROWS)
    assert set(side_table.REPLICATED) == set(ROWS["replicas"].sides)


def test_the_picture_has_a_bar_for_each_side_and_its_spread() -> None:
    lines = [Line("A < B & C", "clusters-100"), Line("hung", "hung-100"), Line("not measured", "jobs-50")]
    root = ET.fromstring(plot(results(), lines))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert "A < B & C" in texts
    assert "not measured" not in texts
    assert {"5 s", "11 s", "9 s", "7 s", "> 600 s"} <= set(texts)
    bars = [each for each in root.iter(f"{SVG}rect") if each.get("height") == "14"]
    assert len(bars) == 6
    widths = [float(each.get("width", "")) for each in bars[:4]]
    assert sorted(widths, reverse=True) == [widths[1], widths[2], widths[3], widths[0]]
    assert len([each for each in root.iter(f"{SVG}path") if "H" in each.get("d", "")]) == 4
    assert root.get("viewBox", "").split()[2:] == [root.get("width"), root.get("height")]


def test_nothing_is_drawn_outside_the_picture() -> None:
    root = ET.fromstring(plot(results(), side_table.TIMES))
    height, width = float(root.get("height", "")), float(root.get("width", ""))
    for each in root.iter(f"{SVG}rect"):
        assert float(each.get("x", "")) + float(each.get("width", "")) <= width
        assert float(each.get("y", "")) + float(each.get("height", "")) <= height


def test_the_page_keeps_what_is_around_the_marks(tmp_path: pathlib.Path) -> None:
    page = tmp_path / side_page.PAGE
    page.write_text(f"before\n{side_page.BEGIN}\nold\n{side_page.END}\nafter\n")
    side_page.write(results(), tmp_path)
    first = page.read_text()
    side_page.write(results(), tmp_path)
    assert page.read_text() == first
    assert first.startswith("before\n")
    assert first.endswith("\nafter\n")
    assert "old" not in first
    assert "100 clusters of 4 pods ready" in first
    assert (tmp_path / side_page.PICTURE).exists()


def test_a_page_without_marks_is_left_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / side_page.PAGE).write_text("mine\n")
    with pytest.raises(side_page.NoMarks, match="begin"):
        side_page.write(results(), tmp_path)
    assert (tmp_path / side_page.PAGE).read_text() == "mine\n"


def test_results_are_the_same_after_they_were_kept(tmp_path: pathlib.Path) -> None:
    file = tmp_path / side_page.RESULTS
    assert load(file) == Results()
    save(results(), file)
    assert load(file) == results()
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_the_first_round_of_a_run_takes_the_place_of_earlier_runs(tmp_path: pathlib.Path) -> None:
    for add, expected in ((False, [1.0, 2.0]), (False, [1.0, 2.0]), (True, [1.0, 2.0, 1.0, 2.0])):
        book = side_by_side.Book(tmp_path, add=add)
        book.note("jobs-50", MANTA, {"seconds": 1})
        book.note("jobs-50", MANTA, {"seconds": 2})
        assert load(tmp_path / side_page.RESULTS).values("jobs-50", MANTA, "seconds") == expected


def test_each_round_begins_with_another_side() -> None:
    turns = list(side_by_side.turns(("a", "b", "c"), 2))
    assert turns == [(1, "a"), (1, "b"), (1, "c"), (2, "b"), (2, "c"), (2, "a")]


def test_a_request_that_begins_and_ends_counts_once_and_half_a_line_not_at_all() -> None:
    events = [("1", "watch"), ("1", "watch"), ("2", "create"), ("3", "create")]
    lines = [json.dumps({"auditID": name, "verb": verb}).encode() + b"\n" for name, verb in events]
    assert counted([*lines, b'{"auditID": "4", "ver']) == {"watch": 1, "create": 2}


def test_requests_are_reads_or_writes() -> None:
    assert requested({}) == {"requests": 0, "reads": 0, "writes": 0}
    assert requested({"get": 2, "create": 3, "patch": 1}) == {
        "requests": 6,
        "reads": 2,
        "writes": 4,
        "verb get": 2,
        "verb create": 3,
        "verb patch": 1,
    }


def test_unknown_rows_and_sides_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--only", "--sides"):
        with pytest.raises(SystemExit):
            side_by_side.main([option, "clusters-7"])
        assert "there is no 'clusters-7'; there are " in capsys.readouterr().err


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0, 0.345, 9.99, 10, 99.94, 100, 1234.5)] == [
        *("0", "0.34", "9.99", "10", "99.9", "100", "1,234")
    ]


def test_the_processor_is_named() -> None:
    assert processor("processor : 0\nmodel name\t: Fast 9\n") == "Fast 9"
    assert processor("")


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([(5, 1), (5, 2)], None, id="one size alone"),
        pytest.param([(0, 10), (100, 30)], Fit(10, 0.2), id="two points are on their line"),
        pytest.param([(0, 1), (1, 3), (2, 2)], Fit(1.5, 0.5), id="the line lies between"),
    ],
)
def test_fit(points: list[tuple[float, float]], expected: Fit | None) -> None:
    assert fit(points) == (pytest.approx(expected) if expected else None)


def test_growth_tells_what_one_more_costs() -> None:
    numbers = {"0 rss watcher": 50.0, "0 rest watcher": 0.004}
    for size in (1000, 2000):
        grown = size / 1000
        numbers |= {f"{size} rss watcher": 50 + 10 * grown, f"{size} grow cpu watcher": 2.0}
        numbers |= {
            f"{size} rest watcher": 0.004 + 0.001 * grown,
            f"{size} seconds": 9.0,
            f"{size} grow cpu_seconds": 7.0,
        }
    found = Results()
    found.note(side_scale.CLUSTERS, MANTA, numbers, fresh=True)
    text = side_scale.body(found)
    assert "| KiB for each pod | off at 2,000 |" in text
    assert "| watcher | 50 | 10.24 | +0% | 1,050 | 2.00 | 0.10 |" in text
    assert "| watcher | 97,000 | 1,000,000 | `services.watcher.resources`" in text
    assert side_scale.body(Results()) == ""


def test_the_page_about_scale_is_filled_where_it_is(tmp_path: pathlib.Path) -> None:
    (tmp_path / "explanation").mkdir()
    scale = tmp_path / side_page.SCALE
    scale.write_text(f"{side_page.BEGIN}\nold\n{side_page.END}\n")
    (tmp_path / "reference").mkdir()
    side_page.write(results(), tmp_path / "reference")
    assert "old" not in scale.read_text()


def test_who_is_full_first_stands_first_and_who_does_not_grow_never_is() -> None:
    numbers = {f"{size} rss {name}": 50 + size * each for size in (0, 10) for name, each in (("a", 0.0), ("b", 1.0))}
    lines = side_scale.ends(numbers, "job").splitlines()[2:]
    assert lines == [
        f"| b | 970 | {side_table.NOTHING} | {side_scale.REPLICAS} |",
        f"| a | {side_table.NOTHING} | {side_table.NOTHING} | {side_scale.REPLICAS} |",
    ]


def test_the_line_is_checked_at_the_largest_size() -> None:
    assert side_scale.checked([(0, 10), (10, 20), (100, 100)]) == "+10%"
    assert side_scale.checked([(0, 10), (10, 20)]) == side_table.NOTHING
