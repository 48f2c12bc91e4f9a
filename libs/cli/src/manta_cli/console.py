"""Where a command writes: tables, colours on a terminal only, JSON and YAML for programs."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

import msgspec
import yaml

GREEN, YELLOW, RED, DIM, BOLD = "32", "33", "31", "2", "1"
GAP: Final = "   "
_GOOD: Final = frozenset({"ready", "Running", "Complete", "SUCCEEDED", "Healthy", "True", "ok", "Bound", "Active"})
_BAD: Final = frozenset({"failed", "Failed", "FAILED", "ValidationFailed", "unhealthy", "Error", "fail"})
_BUSY: Final = frozenset(
    {"Initializing", "Waiting", "Retrying", "Suspending", "PENDING", "RUNNING", "Pending", "warn", "suspended"}
)
Row = Sequence[str]


class Console:
    """Standard output and error; colours when output is a terminal and NO_COLOR is not set."""

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, environment: Mapping[str, str] = os.environ
    ):
        self.out, self.err = out or sys.stdout, err or sys.stderr
        self.is_terminal = self.out.isatty()
        self._colours = self.is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"

    def say(self, text: str = "") -> None:
        """A line of the answer."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def tell(self, text: str) -> None:
        """A line about what goes on, which is no part of the answer."""
        self.err.write(f"{text}\n")
        self.err.flush()

    def write(self, text: bytes) -> None:
        """A part of the answer as it comes."""
        self.out.write(text.decode(errors="replace"))
        self.out.flush()

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour, where there are colours."""
        return f"\033[{colour}m{text}\033[0m" if self._colours and text else text

    def painted(self, word: str) -> str:
        """A state in the colour that it deserves."""
        colours = ((_GOOD, GREEN), (_BAD, RED), (_BUSY, YELLOW))
        colour = next((colour for words, colour in colours if word.strip() in words), "")
        return self.paint(word, colour) if colour else word

    def table(self, header: Row, rows: Sequence[Row]) -> None:
        """Columns as wide as they must be."""
        for line in self.lines(header, rows):
            self.say(line)

    def lines(self, header: Row, rows: Sequence[Row]) -> list[str]:
        """The same as lines."""
        widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
        shown = [
            GAP.join(self.painted(cell.ljust(width)) for cell, width in zip(row, widths, strict=True)) for row in rows
        ]
        head = GAP.join(name.ljust(width) for name, width in zip(header, widths, strict=True))
        return [self.paint(head.rstrip(), BOLD), *(line.rstrip() for line in shown)]

    def document(self, value: Any, form: str) -> None:
        """A value as JSON or YAML."""
        if form == "json":
            self.say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
        else:
            self.out.write(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))
            self.out.flush()
