"""Manta, KubeRay and bare objects, one after the other on the same control plane: measures, and writes the tables.

`python -m tests.bench.side_by_side [--only ROW,...] [--sides SIDE,...] [--rounds N] [--add] [--out FOLDER]`. Every
measurement is kept as soon as it is there: Ctrl-C loses only the one that is under way.
"""

import argparse
import pathlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence

from tests.bench import side_machine, side_page, side_plane
from tests.bench.side_results import Numbers, Results, load, save
from tests.bench.side_rows import ROWS, Row
from tests.bench.side_table import number
from tests.bench.side_world import OVER, world
from tests.parts.process import PartFailed

LIMIT_SECONDS = 600
OUT = pathlib.Path(__file__).parents[2] / "docs" / "reference"
INTERRUPTED = 130


class Book:
    """The results and where they are kept."""

    def __init__(self, folder: pathlib.Path, *, add: bool) -> None:
        self._folder, self._add = folder, add
        self._results = load(folder / side_page.RESULTS)
        self._begun: set[tuple[str, str]] = set()  # of this run

    def note(self, row: str, side: str, numbers: Numbers) -> None:
        """Keep a measurement; the first of a run takes the place of those of earlier runs, unless they are added to."""
        fresh = not self._add and (row, side) not in self._begun
        self._begun.add((row, side))
        self._results.note(row, side, numbers, fresh=fresh)
        self._results.machine, self._results.versions = side_machine.machine(), side_machine.versions()
        self.write()

    def write(self) -> None:
        """Keep everything."""
        self._folder.mkdir(parents=True, exist_ok=True)
        save(self._results, self._folder / side_page.RESULTS)
        side_page.write(self._results, self._folder)

    @property
    def results(self) -> Results:
        """What is known."""
        return self._results


def main(arguments: Sequence[str]) -> int:
    """Measure what was asked for; the exit code."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    book = Book(options.out, add=options.add)
    try:
        failed = [name for name in options.only if not _measure(name, options, book)]
    except KeyboardInterrupt:
        print(f"\nstopped; what was measured is in {options.out / side_page.RESULTS}", flush=True)
        return INTERRUPTED
    book.write()
    print(f"{options.out / side_page.PAGE} is written" + (f"; not measured: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def turns(sides: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Every side in every round, each round with another one first: nobody is always the first or the last."""
    for turn in range(rounds):
        first = turn % max(1, len(sides))
        for side in (*sides[first:], *sides[:first]):
            yield turn + 1, side


def _measure(name: str, options: argparse.Namespace, book: Book) -> bool:
    """All rounds of a row; whether it could be measured."""
    row = ROWS[name]
    wanted = tuple(side for side in row.sides if not options.sides or side in options.sides)
    try:
        with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
            print(f"{name}: a fresh control plane", flush=True)
            with side_plane.fresh(pathlib.Path(folder)) as plane:
                todo = list(turns(wanted, options.rounds or row.rounds))
                for place, (turn, side) in enumerate(todo, 1):
                    began = time.monotonic()
                    numbers = _once(plane, row, side, limit_seconds=options.limit, last=place == len(todo))
                    book.note(name, side, numbers)
                    print(
                        f"{name}: round {turn}, {side}: {_said(numbers)} [{time.monotonic() - began:.0f} s]", flush=True
                    )
    except (PartFailed, TimeoutError) as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return False
    return True


def _once(plane: side_plane.SidePlane, row: Row, side: str, *, limit_seconds: float, last: bool) -> Numbers:
    with tempfile.TemporaryDirectory(prefix="side-") as name:
        folder, kind = pathlib.Path(name), row.dashboards
        with world(plane, side, folder, dashboards=kind, limit_seconds=limit_seconds, last=last) as at_work:
            return row.measure(at_work)


def _said(numbers: Numbers) -> str:
    told = {name: value for name, value in numbers.items() if " " not in name or name.startswith("idle cpu_")}
    given_up = " (given up)" if numbers.get(OVER) else ""
    said = ", ".join(f"{name} {number(value)}" for name, value in told.items() if name != OVER)
    return f"{said or f'{len(numbers)} numbers'}{given_up}"


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.side_by_side", description=__doc__)
    parser.add_argument("--only", type=_rows, default=list(ROWS), help=f"rows, of {', '.join(ROWS)}; all by default")
    parser.add_argument("--sides", type=_sides, default=[], help="sides of these rows; all by default")
    parser.add_argument("--rounds", type=int, default=0, help="how often each side is measured; 0: as the row says")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds after which a side is given up")
    parser.add_argument("--add", action="store_true", help="keep the rounds of earlier runs of the same rows")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="the folder of the page and the results")
    return parser.parse_args(arguments)


def _rows(text: str) -> list[str]:
    return _chosen(text, ROWS)


def _sides(text: str) -> list[str]:
    return _chosen(text, dict.fromkeys(side for row in ROWS.values() for side in row.sides))


def _chosen(text: str, known: Iterable[str]) -> list[str]:
    """Names separated by commas, each of which there is."""
    there, names = list(known), [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in there]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(map(repr, unknown))}; there are {', '.join(there)}")
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
