"""The document of the measurements: what stands between its marks is made from the results, the rest is kept."""

import pathlib

from tests.bench import side_scale, side_table
from tests.bench.side_plot import plot
from tests.bench.side_results import Results

PAGE, PICTURE, RESULTS = "benchmarks.md", "benchmarks.svg", "benchmarks.json"
SCALE = "explanation/scale.md"  # beside the folder; it is filled where it is there
BEGIN, END = "<!-- made by tests.bench.side_by_side: begin -->", "<!-- made by tests.bench.side_by_side: end -->"


class NoMarks(Exception):
    """A document has no place for the tables; the message says what to write."""


def write(results: Results, folder: pathlib.Path) -> None:
    """Put the tables and the picture into a folder; a page that is there already needs the marks."""
    page = folder / PAGE
    text = page.read_text() if page.exists() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    page.write_text(filled(text, body(results)))
    (folder / PICTURE).write_text(plot(results, side_table.TIMES))
    scale = folder.parent / SCALE
    if scale.exists():
        scale.write_text(filled(scale.read_text(), side_scale.body(results)))


def filled(text: str, inner: str) -> str:
    """A text with something else between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise NoMarks(f"the page needs a line {BEGIN!r} and after it a line {END!r}")
    return f"{before}{BEGIN}\n\n{inner}\n\n{END}{after}"


def body(results: Results) -> str:
    """Everything that is made."""
    parts = [
        _machine(results),
        f"![Seconds of each side]({PICTURE})",
        "## Times",
        side_table.times(results),
        "## Costs",
        side_table.costs(results),
        "## Requests by verb",
        side_table.verbs(results),
    ]
    if results.rows.get("replicas"):
        parts += ["## More cluster-reconcilers", side_table.replicas(results)]
    return "\n\n".join(parts)


def _machine(results: Results) -> str:
    machine = results.machine
    with_ = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    on = f"{machine.cores} cores ({machine.processor}), {machine.memory_gib:g} GiB, Linux {machine.kernel}"
    return f"Measured on {on}, Python {machine.python}; with {with_}."
