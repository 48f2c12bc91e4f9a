"""What one more pod or job costs each of Manta's services, fitted to how they grew; pure."""

import math
import re
from collections.abc import Sequence

from tests.bench.side_fit import Fit, fit
from tests.bench.side_results import MANTA, Numbers, Results
from tests.bench.side_table import NOTHING, number, table

CLUSTERS, JOBS = "growth-clusters", "growth-jobs"
SIZES = {CLUSTERS: ("pod", 100_000), JOBS: ("job", 10_000)}  # what is counted, and how many are asked for
KIB_OF_MIB, MS_OF_S = 1024, 1000
MEMORY_MIB = 1024  # the limit of each container in the chart
REPLICAS = "`services.<name>.replicas`: each holds its part of the partitions"
KNOBS = {
    "nats": "`nats.resources`; one server holds all",
    "watcher": "`services.watcher.resources`; one sees all; `MANTA_WATCH_NAMESPACES` divides",
    "dashboard-gateway": "`MANTA_DASHBOARD_GATEWAY_POLL_INTERVAL`, `services.dashboard-gateway.replicas`",
}


def body(results: Results) -> str:
    """All tables of what was measured."""
    parts = []
    for row, (what, many) in SIZES.items():
        numbers = results.of(row, MANTA)
        if numbers:
            parts += [f"### One more {what}", costs(numbers[-1], what, many)]
            parts += [f"### What {what}s come to an end by", ends(numbers[-1], what)]
    return "\n\n".join(parts)


def costs(numbers: Numbers, what: str, many: int) -> str:
    """Of each service: memory without any, for each, and for many; work to learn of each; work at rest with many."""
    largest = max(size for size, _ in points(numbers, "seconds"))
    head = [
        *("service", "MiB without any", f"KiB for each {what}", f"off at {largest:,.0f}", f"MiB for {many:,}"),
        *(f"CPU ms to learn of each {what}", f"cores at rest with {many:,}"),
    ]
    return table(head, [_line(numbers, name, many) for name in services(numbers)])


def ends(numbers: Numbers, what: str) -> str:
    """How many fit before a service, alone, has its container's memory or a core full; the first to be full first."""
    found = sorted((min(_full(numbers, name)), name) for name in services(numbers))
    head = ("service", f"{what}s until {MEMORY_MIB:,} MiB", f"{what}s until one core at rest", "what moves it")
    return table(head, [(name, *map(_many, _full(numbers, name)), knob(name)) for _, name in found])


def knob(name: str) -> str:
    """What makes room in a service."""
    return KNOBS.get(re.sub(r"-\d+$", "", name), REPLICAS)


def services(numbers: Numbers) -> list[str]:
    """Whose memory was measured."""
    return list(dict.fromkeys(found[1] for name in numbers if (found := re.fullmatch(r"\d+ rss (.+)", name))))


def points(numbers: Numbers, metric: str) -> list[tuple[float, float]]:
    """A metric by size."""
    found = [(name.partition(" "), value) for name, value in numbers.items()]
    return sorted((float(size), value) for (size, _, rest), value in found if rest == metric and size.isdigit())


def checked(found: Sequence[tuple[float, float]]) -> str:
    """How far the line through all sizes but the largest is off there."""
    line, (size, value) = fit(found[:-1]), found[-1]
    return f"{line.at(size) / value - 1:+.0%}" if line else NOTHING


def learnt(numbers: Numbers, name: str) -> Fit | None:
    """CPU seconds that it took to come to each size, from the beginning on."""
    steps, whole, sums = points(numbers, f"grow cpu {name}"), 0.0, [(0.0, 0.0)]
    for size, seconds in steps:
        whole += seconds
        sums.append((size, whole))
    return fit(sums)


def _full(numbers: Numbers, name: str) -> tuple[float, float]:
    """At which sizes memory and a core are full; never, where nothing grows."""
    memory, rest = fit(points(numbers, f"rss {name}")), fit(points(numbers, f"rest {name}"))
    at_memory = (MEMORY_MIB - memory.base) / memory.each if memory and memory.each > 0 else math.inf
    at_core = (1 - rest.base) / rest.each if rest and rest.each > 0 else math.inf
    return at_memory, at_core


def _many(size: float) -> str:
    """A size to two digits: more would be a promise."""
    return NOTHING if math.isinf(size) else f"{float(f'{size:.2g}'):,.0f}"


def _line(numbers: Numbers, name: str, many: int) -> Sequence[str]:
    memory, rest = fit(points(numbers, f"rss {name}")), fit(points(numbers, f"rest {name}"))
    work = learnt(numbers, name)
    if not memory or not rest or not work:
        return (name, *[NOTHING] * 6)
    return (
        name,
        number(round(memory.base)),
        f"{max(0, memory.each) * KIB_OF_MIB:.2f}",
        checked(points(numbers, f"rss {name}")),
        number(round(memory.at(many))),
        f"{work.each * MS_OF_S:.2f}",
        f"{max(0, rest.at(many)):.2f}",
    )
