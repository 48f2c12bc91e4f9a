"""What was measured side by side, kept in one file so that its parts can be measured in runs of their own."""

import pathlib
import statistics
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

RAW, KUBERAY, TUNED, MANTA = "raw", "KubeRay", "KubeRay tuned", "Manta"
SIDES = (RAW, KUBERAY, TUNED, MANTA)
Numbers = dict[str, float]  # what one round of one side measured, by metric


class Machine(msgspec.Struct, frozen=True):
    """What it was measured on: facts without names."""

    cores: int = 0
    memory_gib: float = 0
    processor: str = ""
    kernel: str = ""
    python: str = ""


class Results(msgspec.Struct):
    """Every measurement, by row and side, oldest round first; and what it was measured on and with."""

    machine: Machine = Machine()
    versions: dict[str, str] = {}
    rows: dict[str, dict[str, list[Numbers]]] = {}

    def of(self, row: str, side: str) -> list[Numbers]:
        """The rounds of one side of a row."""
        return self.rows.get(row, {}).get(side, [])

    def values(self, row: str, side: str, metric: str) -> list[float]:
        """One metric of all rounds."""
        return [numbers[metric] for numbers in self.of(row, side) if metric in numbers]

    def spread(self, row: str, side: str, metric: str) -> "Spread | None":
        """The middle and the ends of a metric, if it was measured."""
        return spread(self.values(row, side, metric))

    def note(self, row: str, side: str, numbers: Numbers, *, fresh: bool) -> None:
        """Keep a round; a fresh one takes the place of all that were there."""
        rounds = self.rows.setdefault(row, {}).setdefault(side, [])
        if fresh:
            rounds.clear()
        rounds.append({name: round(value, 5) for name, value in numbers.items()})


class Spread(NamedTuple):
    """The middle and the ends of some measurements."""

    median: float
    least: float
    most: float
    rounds: int


def spread(values: Iterable[float]) -> Spread | None:
    """The middle and the ends; nothing of nothing."""
    found = sorted(values)
    return Spread(statistics.median(found), found[0], found[-1], len(found)) if found else None


def load(file: pathlib.Path) -> Results:
    """What was measured so far; nothing when there is no such file."""
    return msgspec.json.decode(file.read_bytes(), type=Results) if file.exists() else Results()


def save(results: Results, file: pathlib.Path) -> None:
    """Keep it, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(results), indent=1)
    beside = file.with_suffix(".new")
    beside.write_bytes(text + b"\n")
    beside.replace(file)
