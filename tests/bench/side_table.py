"""What was measured, as tables for a document; pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.bench.side_results import KUBERAY, MANTA, SIDES, TUNED, Results, Spread

OVER = "over"
NOTHING = "–"  # noqa: RUF001  a dash, as in any table
OPERATORS = (KUBERAY, TUNED, MANTA)
REPLICATED = tuple(f"{MANTA} x{number}" for number in (1, 2, 3))


class Line(NamedTuple):
    """One line of a table, or one group of bars: a metric of a row."""

    title: str
    row: str
    metric: str = "seconds"


TIMES = (
    Line("500 pods of one cluster created, nodes paused", "creates-500"),
    Line("100 clusters of 4 pods ready", "clusters-100"),
    Line("1,000 clusters of 4 pods ready", "clusters-1000"),
    Line("one cluster of 500 workers ready", "large-500"),
    Line("10 pods of another cluster meanwhile: created", "large-500", "bystander_created"),
    Line("10 pods of another cluster meanwhile: running", "large-500", "bystander_running"),
    Line("one cluster of 2,000 workers ready", "large-2000"),
    Line("10 pods of another cluster meanwhile: created", "large-2000", "bystander_created"),
    Line("10 pods of another cluster meanwhile: running", "large-2000", "bystander_running"),
    Line("50 jobs of 4 s complete", "jobs-50"),
    Line("500 jobs of 4 s complete", "jobs-500"),
    Line("100 RayServices serve", "services-100"),
    Line("one job of 4 s alone", "hung-20", "alone"),
    Line("one job beside 20 hung dashboards", "hung-20"),
    Line("one job beside 100 hung dashboards", "hung-100"),
    Line("started anew, with 10 of 100 clusters to change", "rest-100", "restart"),
)
WORK = {
    "clusters-100": "100 clusters",
    "clusters-1000": "1,000 clusters",
    "jobs-50": "50 jobs",
    "jobs-500": "500 jobs",
    "services-100": "100 RayServices",
}
COSTS = {
    "cpu_seconds": "CPU seconds of the operator",
    "api_cpu_seconds": "CPU seconds of the API server",
    "peak_mib": "most memory, MiB",
    "writes": "requests that write",
    "reads": "requests that read",
}
IDLE = {"idle cpu_seconds": "CPU seconds in 60 s at rest", "idle requests": "requests in 60 s at rest"}


def times(results: Results) -> str:
    """Seconds of all sides, and how Manta stands to the better KubeRay."""
    lines = [
        (line.title, *(_cell(results, line, side) for side in SIDES), _share(results, line))
        for line in TIMES
        if _is_measured(results, line, SIDES)
    ]
    return table(("seconds until", *SIDES, "Manta / better KubeRay"), lines)


def costs(results: Results) -> str:
    """What the same work costs."""
    of = [Line(f"{work}: {name}", row, metric) for row, work in WORK.items() for metric, name in COSTS.items()]
    of += [Line(f"100 clusters: {name}", "rest-100", metric) for metric, name in IDLE.items()]
    lines = [
        (line.title, *(_cell(results, line, side) for side in OPERATORS), _share(results, line))
        for line in of
        if _is_measured(results, line, OPERATORS)
    ]
    return table(("", *OPERATORS, "Manta / better KubeRay"), lines)


def verbs(results: Results) -> str:
    """The requests of each operator by verb."""
    lines = []
    for row, work in WORK.items():
        for side in OPERATORS:
            rounds = results.of(row, side)
            names = sorted({name for numbers in rounds for name in numbers if name.startswith("verb ")})
            found = {name.removeprefix("verb "): results.spread(row, side, name) for name in names}
            said = ", ".join(f"{verb} {number(each.median)}" for verb, each in found.items() if each)
            lines += [(work, side, said)] if said else []
    return table(("work", "operator", "requests by verb"), lines)


def replicas(results: Results) -> str:
    """The same work by more of Manta's cluster-reconcilers."""
    of = (
        Line("100 clusters of 4 pods ready, seconds", "replicas"),
        Line("CPU seconds of all services", "replicas", "cpu_seconds"),
        Line("most memory, MiB", "replicas", "peak_mib"),
    )
    lines = [(line.title, *(_cell(results, line, side) for side in REPLICATED)) for line in of]
    return table(("cluster-reconcilers", "1", "2", "3"), lines)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    return "\n".join([rows[0], f"|{'---|' * len(head)}", *rows[1:]])


def number(value: float) -> str:
    """A number as short as it can be read: three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def told(found: Spread | None, *, over: bool = False) -> str:
    """The middle, and the ends when there were several rounds."""
    if found is None:
        return NOTHING
    middle = f"> {number(found.median)}" if over else number(found.median)
    return f"{middle} ({number(found.least)} to {number(found.most)})" if found.rounds > 1 else middle


def is_over(results: Results, line: Line, side: str) -> bool:
    """Whether half of the rounds or more were given up."""
    given_up = [numbers for numbers in results.of(line.row, side) if numbers.get(OVER)]
    return line.metric == "seconds" and 2 * len(given_up) >= max(1, len(results.of(line.row, side)))


def _cell(results: Results, line: Line, side: str) -> str:
    return told(results.spread(line.row, side, line.metric), over=is_over(results, line, side))


def _share(results: Results, line: Line) -> str:
    """Manta's part of what the better of the peers takes."""
    ours = results.spread(line.row, MANTA, line.metric)
    peers = [results.spread(line.row, side, line.metric) for side in (KUBERAY, TUNED)]
    best = min((peer.median for peer in peers if peer), default=0)
    return f"{ours.median / best:.0%}" if ours and best else NOTHING


def _is_measured(results: Results, line: Line, sides: Sequence[str]) -> bool:
    return any(results.values(line.row, side, line.metric) for side in sides)
